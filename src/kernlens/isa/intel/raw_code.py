"""Machine code without a decoder: its instructions' sizes and operations, and whether there may be calls."""

from __future__ import annotations

#: The first byte of a ``call`` and of a ``calla``, without its highest bit, on all devices; instructions begin at multiples
#: of 8 bytes.
_CALL, _CALLA = 0x2C, 0x2B
#: Where an instruction says, in its fourth byte, that it is compacted; its operation is in the low bits of the first.
_COMPACTED_AT, _COMPACTED, _OPCODE = 3, 0x20, 0x7F
#: The end of a thread since Xe-LP, from behind, in instructions of this size: the compiler's mark, ``nop``, and a ``send`` or
#: ``sendc`` whose fifth byte has this bit.
_SIZE, _MARK, _NOP, _SENDS, _END = 16, bytes((0x61,)) * 4, 0x60, (0x31, 0x32), 0x04


def may_call(code: memoryview) -> bool:
    """Return False for code without a ``call``."""
    return _may_hold(code, _CALL)


def may_call_by_address(code: memoryview) -> bool:
    """Return False for code without any call."""
    return _may_hold(code, _CALL) or _may_hold(code, _CALLA)


def _may_hold(code: memoryview, opcode: int) -> bool:
    first_bytes = bytes(code[::8])
    return opcode in first_bytes or opcode | 0x80 in first_bytes


def instruction_count(code: memoryview) -> int:
    """Return how many instructions there are in machine code, told by their sizes."""
    words = code[: len(code) // 4 * 4].cast("I")
    position = count = 0
    while position + 2 <= len(words):
        position += 2 if words[position] & _COMPACTED << 8 * _COMPACTED_AT else 4
        count += position <= len(words)
    return count


def operations(code: bytes) -> bytes:
    """Return a byte for each instruction, its opcode."""
    opcodes = bytearray()
    at, end = 0, len(code) - _COMPACTED_AT
    while at < end:
        opcodes.append(code[at] & _OPCODE)
        at += 8 if code[at + _COMPACTED_AT] & _COMPACTED else 16
    return bytes(opcodes)


def nops_at_end(code: memoryview) -> int | None:
    """Return how many ``nop`` stand behind the end of the thread that code for Xe-LP to Xe-HPC ends with; None if none ends."""
    at, number = len(code), 0
    if bytes(first & _OPCODE for first in code[max(0, at - len(_MARK) * _SIZE) : at : _SIZE]) == _MARK:
        at -= len(_MARK) * _SIZE
    while at >= _SIZE and code[at - _SIZE] & _OPCODE == _NOP:
        at, number = at - _SIZE, number + 1
    if at < _SIZE or code[at - _SIZE] & _OPCODE not in _SENDS or not code[at - _SIZE + 4] & _END:
        return None
    return number

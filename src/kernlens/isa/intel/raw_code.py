"""Machine code without a decoder: its instructions' sizes and operations, its trailer, and whether there may be calls."""

from __future__ import annotations

import re

from kernlens.model.hash_trailer import HashTrailer

#: The first byte of a ``call`` and of a ``calla``, without its highest bit, on all devices; instructions begin at multiples
#: of 8 bytes.
_CALL, _CALLA = 0x2C, 0x2B
#: Where an instruction says, in its fourth byte, that it is compacted; its operation is in the low bits of the first.
_COMPACTED_AT, _COMPACTED, _OPCODE = 3, 0x20, 0x7F
#: The end of a thread, in instructions of this size, since Xe-LP: a ``send`` or ``sendc``, since Xe3P a ``sendg`` or
#: ``sendgc``, whose fifth byte has this bit. A ``nop`` may follow.
_SIZE, _NOP = 16, 0x60
_ENDS = {0x31: 0x04, 0x32: 0x04, 0x33: 0x01, 0x34: 0x01}
#: ``(W) mov (16|M0) null<1>:ud 0x...:ud``, with the halves of a hash, the upper first, then with 0 and the kernel's number, as
#: ``insertHashMovs`` of IGC's ``visa/Optimizer.cpp`` puts them behind the first end of a thread. The encoding is of Xe-LP to
#: Xe-HPG or of Xe-HPC and later; the immediate stands in the last four bytes.
_TRAILER = re.compile(
    rb"(\x61\x00[\x04\x10]\x80\x20\x42\x01\x00\x00\x00\x00\x00)(.{4})\1(.{4})\1\x00{4}\1(.{4})", re.DOTALL
)


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
    """Return how many instructions there are in machine code, told by their sizes; those of a trailer are not counted."""
    trailer = trailer_of(code)
    words = code[: len(code) // 4 * 4].cast("I")
    position = count = 0
    while position + 2 <= len(words):
        position += 2 if words[position] & _COMPACTED << 8 * _COMPACTED_AT else 4
        count += position <= len(words)
    return count - (trailer.count if trailer else 0)


def trailer_of(code: memoryview) -> HashTrailer | None:
    """Return the hash that the compiler left behind the end of the thread; None if it left none."""
    for match in _TRAILER.finditer(code):
        at = match.start()
        if at >= _SIZE and code[at - _SIZE] & _OPCODE == _NOP:
            at -= _SIZE
        if at % 8 == 0 and _ends_thread(code, at):
            upper, lower, number = (int.from_bytes(match[group], "little") for group in (2, 3, 4))
            return HashTrailer(match.start(), upper << 32 | lower, number)
    return None


def _ends_thread(code: memoryview, end: int) -> bool:
    """Return whether the instruction of full size before ``end`` ends a thread."""
    at = end - _SIZE
    return at >= 0 and bool(code[at + 4] & _ENDS.get(code[at] & _OPCODE, 0))


def operations(code: memoryview) -> bytes:
    """Return a byte for each instruction, its opcode; none for a trailer."""
    if trailer := trailer_of(code):
        return _operations(bytes(code[: trailer.offset]) + bytes(code[trailer.end :]))
    return _operations(bytes(code))


def _operations(code: bytes) -> bytes:
    opcodes = bytearray()
    at, end = 0, len(code) - _COMPACTED_AT
    while at < end:
        opcodes.append(code[at] & _OPCODE)
        at += 8 if code[at + _COMPACTED_AT] & _COMPACTED else 16
    return bytes(opcodes)


def nops_at_end(code: memoryview) -> int | None:
    """Return how many ``nop`` stand behind the end of the thread that code for Xe-LP to Xe-HPC ends with; None if none ends."""
    trailer = trailer_of(code)
    at, number = trailer.offset if trailer and trailer.end == len(code) else len(code), 0
    while at >= _SIZE and code[at - _SIZE] & _OPCODE == _NOP:
        at, number = at - _SIZE, number + 1
    return number if _ends_thread(code, at) else None

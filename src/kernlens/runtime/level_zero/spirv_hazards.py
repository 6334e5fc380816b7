"""The signs of SPIR-V that crashes drivers: instructions beyond the end, exported functions that ask for their work-item.

Layout: the SPIR-V specification, sections "Physical Layout of a SPIR-V Module and Instruction" and "Binary Form".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernlens.formats.spirv.magic import LITTLE_ENDIAN
from kernlens.model.binary import c_text

_OP_ENTRY_POINT, _OP_FUNCTION, _OP_FUNCTION_END, _OP_FUNCTION_CALL, _OP_DECORATE = 15, 54, 56, 57, 71
# Instructions that read through a pointer or derive one. Its id is their third operand, as is a call's function.
_OP_LOAD, _OP_ACCESS_CHAIN, _OP_IN_BOUNDS_ACCESS_CHAIN, _OP_PTR_ACCESS_CHAIN, _OP_BITCAST = 61, 65, 66, 67, 124
_USES = (
    _OP_FUNCTION_CALL,
    _OP_LOAD,
    _OP_ACCESS_CHAIN,
    _OP_IN_BOUNDS_ACCESS_CHAIN,
    _OP_PTR_ACCESS_CHAIN,
    _OP_BITCAST,
)
_DECORATION_BUILTIN, _DECORATION_LINKAGE, _LINKAGE_EXPORT = 11, 41, 0
# WorkgroupId, SubgroupMaxSize and SubgroupLocalInvocationId need no hidden argument of the kernel.
_HARMLESS_BUILT_INS = (26, 37, 41)
_HEADER_WORDS = 5


def exports_using_work_items(spirv: bytes) -> tuple[str, ...]:
    """Return the exported functions that read a built-in variable (global id, local size, ...), directly or through calls.

    Returns none for malformed input, which the driver's checks handle.
    """
    built_ins: set[int] = set()
    exports: dict[int, str] = {}
    entry_points: set[str] = set()
    users: dict[int, set[int]] = {}
    function = None
    for opcode, operands in _instructions(spirv):
        if opcode == _OP_DECORATE and len(operands) > 2:
            if operands[1] == _DECORATION_BUILTIN and operands[2] not in _HARMLESS_BUILT_INS:
                built_ins.add(operands[0])
            elif operands[1] == _DECORATION_LINKAGE and operands[-1] == _LINKAGE_EXPORT:
                exports[operands[0]] = _string(operands[2:-1])
        elif opcode == _OP_ENTRY_POINT and len(operands) > 2:
            entry_points.add(_string(operands[2:]))
        elif opcode == _OP_FUNCTION and len(operands) > 1:
            function = operands[1]
        elif opcode == _OP_FUNCTION_END:
            function = None
        elif function is not None and opcode in _USES and len(operands) > 2:
            users.setdefault(operands[2], set()).add(function)
    reading: set[int] = set()
    waiting = list(built_ins)
    while waiting:
        new = users.get(waiting.pop(), set()) - reading
        reading |= new
        waiting.extend(new)
    # The translator writes a function of the same name for each kernel; the compiler exports the kernel alone.
    return tuple(name for function, name in exports.items() if function in reading and name not in entry_points)


def overrunning_instruction(spirv: bytes) -> int | None:
    """Return the byte offset of the first instruction that has no length or overruns ``spirv``; None if there is none."""
    order = "<" if spirv[:4] == LITTLE_ENDIAN else ">"
    words = struct.unpack(f"{order}{len(spirv) // 4}I", spirv[: len(spirv) & ~3])
    index, end = _HEADER_WORDS, len(words)
    while index < end:
        count = words[index] >> 16
        if count == 0 or index + count > end:
            return index * 4
        index += count
    return None


def _instructions(spirv: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    if len(spirv) % 4 or len(spirv) < 4 * _HEADER_WORDS:
        return
    order = "<" if spirv[:4] == LITTLE_ENDIAN else ">"
    words = struct.unpack(f"{order}{len(spirv) // 4}I", spirv)
    index = _HEADER_WORDS
    while index < len(words):
        count, opcode = words[index] >> 16, words[index] & 0xFFFF
        if count == 0 or index + count > len(words):
            return
        yield opcode, words[index + 1 : index + count]
        index += count


def _string(words: tuple[int, ...]) -> str:
    return c_text(struct.pack(f"<{len(words)}I", *words))

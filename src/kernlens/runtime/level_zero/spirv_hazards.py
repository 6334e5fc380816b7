"""SPIR-V that drivers crash on: instructions beyond the end, exported functions that ask for their work-item's place.

Layout: the SPIR-V specification, sections "Physical Layout of a SPIR-V Module and Instruction" and "Binary Form".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernlens.formats.spirv.magic import LITTLE_ENDIAN
from kernlens.model.binary import c_text

_OP_ENTRY_POINT, _OP_FUNCTION, _OP_FUNCTION_END, _OP_FUNCTION_CALL, _OP_DECORATE = 15, 54, 56, 57, 71
# Instructions that read through a pointer or derive one; its id is their third operand, as is a call's function.
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
    """The exported functions that read a built-in variable (global id, local size, ...), themselves or through calls.

    Empty for input that is not well-formed: the driver's own checks deal with that.
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
    askers: set[int] = set()
    found = list(built_ins)
    while found:
        new = users.get(found.pop(), set()) - askers
        askers |= new
        found.extend(new)
    # The translator gives each kernel a function of the kernel's own name; the compiler exports the kernel alone.
    return tuple(name for function, name in exports.items() if function in askers and name not in entry_points)


def overrunning_instruction(spirv: bytes) -> int | None:
    """The byte offset of the first instruction that has no length or ends beyond ``spirv``; None if all is well."""
    order = "<" if spirv[:4] == LITTLE_ENDIAN else ">"
    words = struct.unpack(f"{order}{len(spirv) // 4}I", spirv[: len(spirv) & ~3])
    at, end = _HEADER_WORDS, len(words)
    while at < end:
        count = words[at] >> 16
        if count == 0 or at + count > end:
            return at * 4
        at += count
    return None


def _instructions(spirv: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    if len(spirv) % 4 or len(spirv) < 4 * _HEADER_WORDS:
        return
    order = "<" if spirv[:4] == LITTLE_ENDIAN else ">"
    words = struct.unpack(f"{order}{len(spirv) // 4}I", spirv)
    at = _HEADER_WORDS
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        if count == 0 or at + count > len(words):
            return
        yield opcode, words[at + 1 : at + count]
        at += count


def _string(words: tuple[int, ...]) -> str:
    return c_text(struct.pack(f"<{len(words)}I", *words))

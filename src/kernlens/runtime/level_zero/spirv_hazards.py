"""The signs of SPIR-V that crashes drivers: instructions beyond the end, exported functions that ask for their work-item.

Layout: the SPIR-V specification, sections "Physical Layout of a SPIR-V Module and Instruction" and "Binary Form".
"""

from __future__ import annotations

from kernlens.errors import FormatError
from kernlens.formats.spirv import control_flow as flow
from kernlens.formats.spirv.words import HEADER_WORDS, read_words, text_of
from kernlens.model.reach import reached

_OP_ENTRY_POINT, _OP_DECORATE = 15, 71
# Instructions that read through a pointer or derive one, access chains and OpBitcast among them. Its id is their third
# operand, as is a call's function.
_USES = (flow.OP_CALL, flow.OP_LOAD, 65, 66, 67, 124)
_DECORATION_BUILTIN, _DECORATION_LINKAGE, _LINKAGE_EXPORT = 11, 41, 0
# WorkgroupId, SubgroupMaxSize and SubgroupLocalInvocationId need no hidden argument of the kernel.
_HARMLESS_BUILT_INS = (26, 37, 41)


def exports_using_work_items(spirv: bytes) -> tuple[str, ...]:
    """Return the exported functions that read a built-in variable (global id, local size, ...), directly or through
    calls. Returns none for malformed input, which the driver's checks handle."""
    built_ins: set[int] = set()
    exports: dict[int, str] = {}
    entry_points: set[str] = set()
    users: dict[int, set[int]] = {}
    function = None
    try:
        for opcode, operands in flow.instructions(read_words(memoryview(spirv))[0]):
            if opcode == _OP_DECORATE and len(operands) > 2:
                if operands[1] == _DECORATION_BUILTIN and operands[2] not in _HARMLESS_BUILT_INS:
                    built_ins.add(operands[0])
                elif operands[1] == _DECORATION_LINKAGE and operands[-1] == _LINKAGE_EXPORT:
                    exports[operands[0]] = text_of(operands, 2, len(operands) - 1)[0]
            elif opcode == _OP_ENTRY_POINT and len(operands) > 2:
                entry_points.add(text_of(operands, 2, len(operands))[0])
            elif opcode == flow.OP_FUNCTION:
                function = operands[1]
            elif opcode == flow.OP_FUNCTION_END:
                function = None
            elif function is not None and opcode in _USES and len(operands) > 2:
                users.setdefault(operands[2], set()).add(function)
    except FormatError:
        return ()
    reading = reached(built_ins, lambda id: users.get(id, ())).keys() - built_ins
    # The translator writes a function of the same name for each kernel; the compiler exports the kernel alone.
    return tuple(name for function, name in exports.items() if function in reading and name not in entry_points)


def overrunning_instruction(spirv: bytes) -> int | None:
    """Return the byte offset of the first instruction that has no length or overruns the module; None if there is none."""
    words, _ = read_words(memoryview(spirv))
    index, end = HEADER_WORDS, len(words)
    while index < end:
        count = words[index] >> 16
        if count == 0 or index + count > end:
            return index * 4
        index += count
    return None

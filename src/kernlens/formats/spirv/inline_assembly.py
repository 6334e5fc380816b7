"""The kernels of a SPIR-V module that hold vISA assembly of the program's own (``__asm__``).

Source: SPIR-V Specification, sections 2.3, 3.52; SPV_INTEL_inline_assembly for the instructions of its own.
"""

from __future__ import annotations

import re
from array import array

from kernlens.formats.spirv import control_flow as flow
from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.spirv.words import HEADER_WORDS, read_words, text_of
from kernlens.model.reach import reached

_OP_ENTRY_POINT, _OP_CAPABILITY, _OP_ASM, _OP_ASM_CALL = 15, 17, 5610, 5611
_ASM_CAPABILITY = 5606
#: The part of a module that holds the header and more capabilities than there are.
_HEAD_BYTES = 1 << 12
#: Text without an instruction: an empty one keeps the compiler from moving code.
_EMPTY = re.compile(r"[\s{}]*")


def kernels_with_assembly(data: memoryview) -> frozenset[str]:
    """Return the kernels that reach assembly which has an instruction, through whatever functions they name; none if this is
    no SPIR-V. Raises FormatError if it is damaged."""
    if not is_spirv(data):
        return frozenset()
    if not _has_capability(read_words(data[:_HEAD_BYTES])[0]):
        return frozenset()
    words, _ = read_words(data)
    entries: dict[str, int] = {}
    texts: set[int] = set()
    names: dict[int, set[int]] = {}
    own: set[int] = set()
    function = 0
    for opcode, operands in flow.instructions(words):
        if opcode == _OP_ENTRY_POINT and len(operands) > 2:
            entries[text_of(operands, 2, len(operands))[0]] = operands[1]
        elif opcode == _OP_ASM and len(operands) > 4 and not _EMPTY.fullmatch(text_of(operands, 4, len(operands))[0]):
            texts.add(operands[1])
        elif opcode == flow.OP_FUNCTION:
            function = operands[1]
            names[function] = set()
        elif function:
            names[function].update(operands)
            if opcode == _OP_ASM_CALL and len(operands) > 2 and operands[2] in texts:
                own.add(function)

    following = {function: named & names.keys() for function, named in names.items()}

    def reaches_assembly(entry: int) -> bool:
        functions = reached([entry], following.__getitem__)
        return not own.isdisjoint(functions)

    return frozenset(name for name, entry in entries.items() if entry in following and reaches_assembly(entry))


def _has_capability(words: array[int]) -> bool:
    """Return whether the module declares that it has assembly: capabilities come first of all."""
    position = HEADER_WORDS
    while position + 1 < len(words) and words[position] == 2 << 16 | _OP_CAPABILITY:
        if words[position + 1] == _ASM_CAPABILITY:
            return True
        position += 2
    return False

"""The instructions of a SPIR-V module's functions, for those who follow how control passes through them.

Source: SPIR-V Specification, section 3.42: control flow and memory instructions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from kernlens.dataclass import NamedTuple
from kernlens.formats.spirv.words import HEADER_WORDS

OP_FUNCTION, OP_PARAMETER, OP_FUNCTION_END, OP_CALL = 54, 55, 56, 57
OP_VARIABLE, OP_LOAD, OP_STORE = 59, 61, 62
OP_LABEL, OP_BRANCH, OP_BRANCH_CONDITIONAL, OP_SWITCH, OP_RETURN_VALUE = 248, 249, 250, 251, 254
#: OpLifetimeStart and OpLifetimeStop.
LIFETIME = (256, 257)
#: Words of a module that is looked at; a larger one would keep its readers busy.
MOST_WORDS = 1 << 20

#: OpLine and OpNoLine, whose numbers could pass for ids.
_LINES = (8, 317)
#: The operands that instructions are read for; shorter ones are damaged, and passed over. Of module scope: constants and
#: OpSpecConstantOp; of functions also OpPhi.
_SHORTEST = {
    41: 2, 42: 2, 43: 3, 46: 2, 52: 3, 245: 2,
    OP_FUNCTION: 4, OP_PARAMETER: 2, OP_CALL: 3, OP_VARIABLE: 3, OP_LOAD: 3, OP_STORE: 2,
    OP_LABEL: 1, OP_BRANCH: 1, OP_BRANCH_CONDITIONAL: 3, OP_SWITCH: 2, OP_RETURN_VALUE: 1,
}  # fmt: skip


class Instruction(NamedTuple):
    opcode: int
    operands: array[int]


def instructions(words: array[int]) -> Iterator[Instruction]:
    """Yield the instructions but for those about source lines, up to the first whose length cannot be."""
    position, end = HEADER_WORDS, len(words)
    while position < end:
        opcode, length = words[position] & 0xFFFF, words[position] >> 16
        if not length or position + length > end:
            return
        if length > _SHORTEST.get(opcode, 0) and opcode not in _LINES:
            yield Instruction(opcode, words[position + 1 : position + length])
        position += length


def targets(last: Instruction) -> array[int]:
    """Return the labels that a block which ends so leads to. Of a switch the cases' numbers are among them."""
    if last.opcode == OP_BRANCH:
        return last.operands[:1]
    if last.opcode == OP_BRANCH_CONDITIONAL:  # What is behind the two labels are weights.
        return last.operands[1:3]
    return last.operands[1:] if last.opcode == OP_SWITCH else array("I")

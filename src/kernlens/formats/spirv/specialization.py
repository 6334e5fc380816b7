"""The specialisation constants of a SPIR-V module: constants that are given a value when the module is built.

Source: SPIR-V Specification, sections 2.12 "Specialization" and 3.42.7 "Constant-Creation Instructions". Several constants may
have one number (SpecId): llvm-spirv writes one for each use in the source.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping

from kernlens.errors import FormatError
from kernlens.formats.spirv.words import HEADER_WORDS, read_words
from kernlens.model.spirv import SpecConstant

_OP_TYPE_BOOL, _OP_TYPE_INT, _OP_TYPE_FLOAT = 20, 21, 22
_OP_FUNCTION, _OP_DECORATE = 54, 71
_OP_SPEC_TRUE, _OP_SPEC_FALSE, _OP_SPEC = 48, 49, 50
_SPEC_ID = 1
#: The first words of such constants: 3 words for a truth value, 4 or 5 for a number.
_FIRST_WORDS = [
    array("I", [count << 16 | opcode]).tobytes()
    for opcode, count in ((_OP_SPEC_TRUE, 3), (_OP_SPEC_FALSE, 3), (_OP_SPEC, 4), (_OP_SPEC, 5))
]


def read_spec_constants(data: memoryview) -> dict[int, SpecConstant]:
    """Return the constants by number. Raises FormatError for data that is no SPIR-V module and for damaged word counts."""
    words, _ = read_words(data)
    content = words.tobytes()
    if not any(first in content for first in _FIRST_WORDS):  # Most modules have none, and need not be walked over.
        return {}
    types: dict[int, tuple[str, int]] = {}
    numbers: dict[int, int] = {}
    constants: dict[int, SpecConstant] = {}
    position, end = HEADER_WORDS, len(words)
    while position < end:
        opcode, count = words[position] & 0xFFFF, words[position] >> 16
        if count == 0 or position + count > end:
            raise FormatError(f"instruction {opcode} does not fit into the module", format="spirv", offset=4 * position)
        if opcode == _OP_FUNCTION:
            break
        operands = words[position + 1 : position + count]
        if opcode == _OP_DECORATE and count > 3 and operands[1] == _SPEC_ID:
            numbers[operands[0]] = operands[2]
        elif opcode == _OP_TYPE_BOOL and count > 1:
            types[operands[0]] = "bool", 1
        elif opcode in (_OP_TYPE_INT, _OP_TYPE_FLOAT) and count > 2:
            types[operands[0]] = "int" if opcode == _OP_TYPE_INT else "float", min(operands[1], 64) or 1
        elif opcode in (_OP_SPEC_TRUE, _OP_SPEC_FALSE, _OP_SPEC) and count > 2 and operands[1] in numbers:
            number, type = numbers[operands[1]], types.get(operands[0])
            if type is not None:
                before = constants[number].ids if number in constants else ()
                constants[number] = SpecConstant(number, *type, (*before, operands[1]))
        position += count
    return constants


def specialized(data: memoryview, values: Mapping[int, int]) -> bytes:
    """Return the module in which those of its constants that have these numbers have other values, given as their bits,
    where nobody gives them one when it is built. Raises FormatError as ``read_spec_constants`` does."""
    known = read_spec_constants(data)
    bits = {id: value for number, value in values.items() if number in known for id in known[number].ids}
    words, big_endian = read_words(data)
    position = HEADER_WORDS
    while bits and position < len(words):
        opcode, count = words[position] & 0xFFFF, words[position] >> 16
        is_spec = opcode in (_OP_SPEC_TRUE, _OP_SPEC_FALSE, _OP_SPEC) and count > 2
        value = bits.pop(words[position + 2], None) if is_spec else None
        if value is not None and opcode == _OP_SPEC:
            for place in range(position + 3, position + count):
                words[place], value = value & 0xFFFFFFFF, value >> 32
        elif value is not None:
            words[position] = count << 16 | (_OP_SPEC_TRUE if value else _OP_SPEC_FALSE)
        position += count
    if big_endian != (sys.byteorder == "big"):
        words.byteswap()
    return words.tobytes()

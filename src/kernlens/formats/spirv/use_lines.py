"""The source places at which the functions of a SPIR-V module name imports.

Source: SPIR-V Specification, section 3.42.3 "Debug Instructions". As for ``read_lines``, an OpLine lasts up to the next one,
OpNoLine or the end of the function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kernlens.formats.spirv.uses import BODY_OPERANDS, CONSTANT_OPERANDS
from kernlens.formats.spirv.words import HEADER_WORDS, read_words
from kernlens.model.source_map import SourcePlace

_OP_LINE, _OP_NO_LINE = 8, 317
_OP_FUNCTION, _OP_FUNCTION_END = 54, 56


def read_use_lines(
    data: memoryview, strings: Mapping[int, str], imports: Collection[int]
) -> dict[tuple[int, int], tuple[SourcePlace, ...]]:
    """Map (id of a function, id of an import) to the places where the one names the other, in the order of the code.
    The module must have been walked over before, which checks its word counts. Columns are as OpLine has them."""
    words, _ = read_words(data)
    #: The imports that an id stands for: its own, or those that a constant is made of.
    meant: dict[int, dict[int, None]] = {id: {id: None} for id in imports}
    places: dict[tuple[int, int], dict[SourcePlace, None]] = {}
    place: SourcePlace | None = None
    function = 0
    # Constants that name one another in a chain could keep this busy.
    allowance = 2 * len(words)
    position, end = HEADER_WORDS, len(words)
    while position < end:
        opcode, after = words[position] & 0xFFFF, position + (words[position] >> 16)
        if opcode == _OP_LINE:
            file, line, column = words[position + 1 : position + 4]
            place = SourcePlace(strings[file], line, column) if line and strings.get(file) else None
        elif opcode in (_OP_NO_LINE, _OP_FUNCTION_END):
            place = None
        elif opcode == _OP_FUNCTION:
            function = words[position + 2]
        elif not function and opcode in CONSTANT_OPERANDS:
            named: dict[int, None] = {}
            for id in words[position + CONSTANT_OPERANDS[opcode] : after]:
                allowance -= len(meant.get(id, ()))
                if allowance > 0:
                    named.update(meant.get(id, {}))
            if named:
                meant[words[position + 2]] = named
        elif place is not None and opcode in BODY_OPERANDS:
            start, stop = BODY_OPERANDS[opcode]
            for id in words[position + start : after if stop is None else min(position + stop, after)]:
                for symbol in meant.get(id, ()):
                    places.setdefault((function, symbol), {})[place] = None
        position = after
    return {key: tuple(named) for key, named in places.items()}

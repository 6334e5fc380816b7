"""The kernels of SPIR-V modules that hold vISA assembly of the program's own (``__asm__``).

Source: SPIR-V Specification, sections 2.3, 3.52; SPV_INTEL_inline_assembly for the instructions of its own.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.spirv.words import HEADER_WORDS, read_words, text_of
from kernlens.model.reach import reached

_OP_NAME, _OP_ENTRY_POINT, _OP_CAPABILITY, _OP_DECORATE, _OP_ASM, _OP_ASM_CALL = 5, 15, 17, 71, 5610, 5611
_ASM_CAPABILITY, _LINKAGE = 5606, 41
#: The part of a module that holds the header and more capabilities than there are.
_HEAD_BYTES = 1 << 12
#: Text without an instruction: an empty one keeps the compiler from moving code.

#: A function: its module's place among all, and its number there.
_Function = tuple[int, int]


@cache
def _empty() -> re.Pattern[str]:
    return re.compile(r"[\s{}]*")


def kernels_with_assembly(modules: Iterable[memoryview]) -> frozenset[str]:
    """Return the kernels that reach assembly which has an instruction, through whatever functions they name, in modules that
    are linked with one another. What is no SPIR-V has none. Raises FormatError if a module is damaged."""
    chosen = [data for data in modules if is_spirv(data)]
    if not any(_has_capability(read_words(data[:_HEAD_BYTES])[0]) for data in chosen):
        return frozenset()
    read = [_Module(read_words(data)[0]) for data in chosen]
    by_name: dict[str, list[_Function]] = defaultdict(list)
    users: dict[_Function, list[_Function]] = defaultdict(list)
    for at, module in enumerate(read):
        for function, name in module.linked.items():
            by_name[name].append((at, function))
        for function, named in module.named.items():
            for used in named & module.named.keys():
                users[at, used].append((at, function))

    def using(function: _Function) -> Iterable[_Function]:
        at, number = function
        return (*users[function], *by_name[read[at].linked.get(number, "")])

    with_assembly = reached([(at, function) for at, module in enumerate(read) for function in module.own], using)
    return frozenset(
        name for at, module in enumerate(read) for name, entry in module.entries.items() if (at, entry) in with_assembly
    )


def assembly_functions(data: memoryview) -> list[tuple[str, str]]:
    """Return the functions of a module that have assembly, by their names ("" for one without), each with one of its texts.
    Raises FormatError if the module is damaged."""
    if not is_spirv(data) or not _has_capability(read_words(data[:_HEAD_BYTES])[0]):
        return []
    module = _Module(read_words(data)[0])
    return [(module.names.get(function, ""), text) for function, text in module.calls]


class _Module:
    """``entries``: the kernels' functions. ``named``: the numbers that each function names. ``linked``: the names by which
    functions are imported and exported. ``own``: the functions that have assembly; ``calls``: these with each text;
    ``names``: what else has a name."""

    def __init__(self, words: array[int]) -> None:
        from kernlens.formats.spirv import control_flow as flow  # Few modules hold assembly.

        self.entries: dict[str, int] = {}
        self.named: dict[int, set[int]] = {}
        self.linked: dict[int, str] = {}
        self.own: set[int] = set()
        self.calls: list[tuple[int, str]] = []
        self.names: dict[int, str] = {}
        texts: dict[int, str] = {}
        function = 0
        for opcode, operands in flow.instructions(words):
            count = len(operands)
            if opcode == _OP_ENTRY_POINT and count > 2:
                self.entries[text_of(operands, 2, count)[0]] = operands[1]
            elif opcode == _OP_DECORATE and count > 2 and operands[1] == _LINKAGE:
                self.linked[operands[0]] = text_of(operands, 2, count)[0]
            elif opcode == _OP_NAME and count > 1:
                self.names[operands[0]] = text_of(operands, 1, count)[0]
            elif opcode == _OP_ASM and count > 4 and not _empty().fullmatch(text := text_of(operands, 4, count)[0]):
                texts[operands[1]] = text
            elif opcode == flow.OP_FUNCTION:
                function = operands[1]
                self.named[function] = set()
            elif function:
                self.named[function].update(operands)
                if opcode == _OP_ASM_CALL and count > 2 and operands[2] in texts:
                    self.own.add(function)
                    self.calls.append((function, texts[operands[2]]))


def _has_capability(words: array[int]) -> bool:
    """Return whether the module declares that it has assembly: capabilities come first of all."""
    position = HEADER_WORDS
    while position + 1 < len(words) and words[position] == 2 << 16 | _OP_CAPABILITY:
        if words[position + 1] == _ASM_CAPABILITY:
            return True
        position += 2
    return False

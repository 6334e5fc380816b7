"""The places where a SPIR-V module uses functions and variables, and the code that is reached.

Source: SPIR-V Specification, section 3.42: OpFunctionCall, the memory and conversion instructions that take a pointer,
and module-scope constants and initialisers; SPV_INTEL_function_pointers (OpConstantFunctionPointerINTEL).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping

from kernlens.dataclass import dataclass, field
from kernlens.formats.spirv.words import Rule, read_words, walk
from kernlens.model.reach import reached

_OP_ENTRY_POINT = 15
_OP_FUNCTION, _OP_FUNCTION_END = 54, 56
_OP_VARIABLE = 59
_OP_CONSTANT_FUNCTION_POINTER = 5600

#: Instructions of a function body in which a global's id can stand -> the words, from and to, that are ids (None: to
#: its end). Literals must stay out, as small numbers would pass for ids: the memory operands of loads and stores, which
#: end the range early, and the instruction number of OpExtInst, before it.
_Range = tuple[int, int | None]
_ALL: _Range = (3, None)
BODY_OPERANDS: dict[int, _Range] = {
    **{12: (5, None), 57: _ALL, 5601: _ALL},  # OpExtInst, OpFunctionCall, OpFunctionPointerCallINTEL
    **{61: (3, 4), 62: (1, 3), 63: (1, 3), 64: (1, 4)},  # OpLoad, OpStore, OpCopyMemory, OpCopyMemorySized
    **dict.fromkeys(range(65, 71), _ALL),  # access chains and what asks about them
    **{83: _ALL, 169: _ALL, 245: _ALL},  # OpCopyObject, OpSelect, OpPhi
    **dict.fromkeys(range(109, 125), _ALL),  # conversions
    **dict.fromkeys(range(170, 192), _ALL),  # comparisons
    **{227: _ALL, 228: (1, None), 318: _ALL, 319: (1, None)},  # atomic load, store and flags
    **dict.fromkeys(range(229, 243), _ALL),  # other atomics
    **dict.fromkeys(range(401, 404), _ALL),  # comparisons of pointers
}
#: Module-scope constants that are made of other ids: composites, and constant expressions behind their opcode.
CONSTANT_OPERANDS = {44: 3, 51: 3, 52: 4, _OP_CONSTANT_FUNCTION_POINTER: 3}
#: The fewest words of what is read of a module.
SHORTEST_OF_USES = {
    **dict.fromkeys((*BODY_OPERANDS, _OP_FUNCTION_END), 1),
    **dict.fromkeys((*CONSTANT_OPERANDS, _OP_ENTRY_POINT, _OP_FUNCTION), 3),
    _OP_VARIABLE: 4,
}
_RULES: dict[int, Rule] = {opcode: (least, 0) for opcode, least in SHORTEST_OF_USES.items()}


@dataclass()
class SpirvUses:
    """The ids that functions and initialisers name.

    ``in_functions`` maps a function's id to the ids that its body names, in order; ``in_initialisers`` maps a variable's
    id to those that its initialiser is made of. ``entry_points`` are function ids; ``taken`` are functions whose address
    is taken; ``variables`` are the module-scope variables with their storage class's number.
    """

    in_functions: dict[int, dict[int, None]] = field(default_factory=dict)
    in_initialisers: dict[int, dict[int, None]] = field(default_factory=dict)
    entry_points: dict[int, None] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    variables: dict[int, int] = field(default_factory=dict)

    def variables_of(self, functions: Iterable[int]) -> set[int]:
        """Return the module-scope variables that these functions' bodies name, and those that their initialisers name."""
        named = (id for function in functions for id in self.in_functions.get(function, ()) if id in self.variables)
        initialisers = self.in_initialisers
        return set(reached(named, lambda id: [each for each in initialisers.get(id, ()) if each in self.variables]))

    def reached(self, roots: Iterable[int], mentions: Mapping[int, Collection[int]] | None = None) -> dict[int, None]:
        """Return the functions that can run when ``roots`` do, the roots included, in order of discovery; of what their
        bodies name, only ``mentions`` count if they are given."""

        def called(function: int) -> Iterator[int]:
            for id in self.in_functions.get(function, ()):
                if id in self.in_functions and (mentions is None or id in mentions.get(function, ())):
                    yield id

        return reached(roots, called)


def read_spirv_uses(data: memoryview, places: Iterable[int] | None = None) -> SpirvUses:
    """Read what a module uses, at ``places`` if they are known (``SpirvModule.use_words``), else by a walk over it.
    Raises FormatError for data that is no SPIR-V module and for damaged word counts."""
    words, _ = read_words(data)
    uses = SpirvUses()
    constants: dict[int, array[int]] = {}
    body: dict[int, None] | None = None
    for at in walk(words, _RULES, 1)[0] if places is None else places:
        opcode, after = words[at] & 0xFFFF, at + (words[at] >> 16)
        if body is not None:
            if opcode in BODY_OPERANDS:
                start, stop = BODY_OPERANDS[opcode]
                for id in words[at + start : after if stop is None else min(at + stop, after)]:
                    body[id] = None
            elif opcode == _OP_FUNCTION_END:
                body = None
        elif opcode == _OP_ENTRY_POINT:
            uses.entry_points[words[at + 2]] = None
        elif opcode == _OP_FUNCTION:
            body = uses.in_functions.setdefault(words[at + 2], {})
        elif opcode in CONSTANT_OPERANDS:
            constants[words[at + 2]] = words[at + CONSTANT_OPERANDS[opcode] : after]
            if opcode == _OP_CONSTANT_FUNCTION_POINTER:
                uses.taken.update(words[at + 3 : after])
        elif opcode == _OP_VARIABLE:
            uses.variables[words[at + 2]] = words[at + 3]
            uses.in_initialisers[words[at + 2]] = dict.fromkeys(words[at + 4 : after])
    _look_through(constants, uses, allowance=2 * len(words))
    return uses


def _look_through(constants: dict[int, array[int]], uses: SpirvUses, allowance: int) -> None:
    """Add the ids that constants are made of to the uses of whatever names them: ``&variable`` and tables of function
    pointers are constants.

    A module in which many functions name one huge constant could keep this busy; it stops after ``allowance`` steps.
    """
    for named in (*uses.in_functions.values(), *uses.in_initialisers.values()):
        waiting = [id for id in named if id in constants]
        while waiting and allowance > 0:
            for id in constants[waiting.pop()]:
                allowance -= 1
                if id not in named:
                    named[id] = None
                    if id in constants:
                        waiting.append(id)

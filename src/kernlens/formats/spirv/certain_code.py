"""The code of a SPIR-V module that no optimiser can take out, whatever constants make of its branches.

A branch is in doubt if its condition is made of constants alone: specialisation constants, ``constant`` variables, variables
of the function that only hold such values, parameters that all calls give such values, and functions without parameters
that return them. What runs on one side of such a branch only may be gone from the machine code, and with it an import that
is used there. A value that nothing reads may be gone too.

Source: SPIR-V Specification, section 3.42: control flow, arithmetic and memory instructions.
"""

from __future__ import annotations

import itertools
from array import array

from kernlens.dataclass import dataclass, field
from kernlens.formats.spirv import control_flow as flow
from kernlens.formats.spirv.control_flow import Instruction, instructions, targets
from kernlens.formats.spirv.uses import BODY_OPERANDS
from kernlens.formats.spirv.words import read_words
from kernlens.model.reach import reached

_UNIFORM_CONSTANT, _PHI = 0, 245
#: Constants of the module, specialisation constants among them, and OpUndef.
_CONSTANTS = frozenset((1, *range(41, 53)))
#: Instructions whose result is made of their operands alone: composites, conversions, arithmetic, comparisons, bits.
_PURE = frozenset((77, 80, 81, 82, 83, 245, *range(109, 125), *range(126, 153), *range(164, 192), *range(194, 206)))
#: Where the ids among the operands end, and indices begin: OpCompositeExtract, OpCompositeInsert.
_MADE_OF = {81: 3, 82: 4}
#: Sides of branches in doubt of one function, and rounds over its instructions; what is beyond counts as certain.
_MOST_SIDES = 64
_MOST_ROUNDS = 6


def certain_mentions(data: memoryview) -> dict[int, set[int]]:
    """Map each function's id to the ids that its certain code names; empty for a module too large to be looked at."""
    if len(data) > 4 * flow.MOST_WORDS:
        return {}
    walk = _Module(data)
    walk.find_fixed()
    return {function.id: walk.certain(function) for function in walk.functions}


@dataclass()
class _Function:
    id: int
    parameters: list[int] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)


class _Module:
    def __init__(self, data: memoryview) -> None:
        #: Ids of module scope whose value is fixed, and variables whose content is.
        self.fixed: set[int] = set()
        self.fixed_memory: set[int] = set()
        self.fixed_functions: set[int] = set()
        self.functions: list[_Function] = []
        words, _ = read_words(data)
        function: _Function | None = None
        for instruction in instructions(words):
            opcode, operands = instruction
            if opcode == flow.OP_FUNCTION:
                function = _Function(operands[1])
                self.functions.append(function)
            elif opcode == flow.OP_FUNCTION_END:
                function = None
            elif function is not None:
                if opcode == flow.OP_PARAMETER:
                    function.parameters.append(operands[1])
                else:
                    function.code.append(instruction)
            elif opcode in _CONSTANTS and len(operands) > 1:
                self.fixed.add(operands[1])
            elif opcode == flow.OP_VARIABLE and len(operands) > 3 and operands[2] == _UNIFORM_CONSTANT:
                self.fixed_memory.add(operands[1])

    def find_fixed(self) -> None:
        """Find the functions and parameters of fixed value: those of which nothing shows that they are not."""
        parameters = {function.id: function.parameters for function in self.functions}
        called = {
            operands[2] for function in self.functions for opcode, operands in function.code if opcode == flow.OP_CALL
        }
        self.fixed_functions = {
            function.id
            for function in self.functions
            if not function.parameters and any(opcode == flow.OP_RETURN_VALUE for opcode, _ in function.code)
        }
        self.fixed |= {parameter for id in called for parameter in parameters.get(id, ())}
        for _ in range(_MOST_ROUNDS):
            varying: set[int] = set()
            for function in self.functions:
                fixed = self._fixed_in(function)
                for opcode, operands in function.code:
                    if opcode == flow.OP_CALL:
                        pairs = zip(parameters.get(operands[2], ()), operands[3:], strict=False)
                        varying.update(parameter for parameter, argument in pairs if argument not in fixed)
                    elif opcode == flow.OP_RETURN_VALUE and operands[0] not in fixed:
                        varying.add(function.id)
            if varying.isdisjoint(self.fixed | self.fixed_functions):
                return
            self.fixed -= varying
            self.fixed_functions -= varying
        self.fixed_functions.clear()
        self.fixed.difference_update(*parameters.values())

    def _fixed_in(self, function: _Function) -> set[int]:
        """Return the ids that have a fixed value in this function."""
        memory = {operands[1] for opcode, operands in function.code if opcode == flow.OP_VARIABLE}
        fixed: set[int] = set()
        for _ in range(_MOST_ROUNDS):
            fixed, written = self._round(function, memory)
            if written == memory:
                return fixed
            memory = written
        return set()

    def _round(self, function: _Function, memory: set[int]) -> tuple[set[int], set[int]]:
        """Walk over the instructions once, and return the fixed ids if ``memory`` are the variables of fixed content,
        and those of them of which that is still true."""
        fixed, unescaped = set(self.fixed), set(memory)
        for opcode, operands in function.code:
            if opcode == flow.OP_LOAD:
                if operands[2] in unescaped or operands[2] in self.fixed_memory:
                    fixed.add(operands[1])
            elif opcode == flow.OP_STORE:
                if operands[1] not in fixed:
                    unescaped.discard(operands[0])
                unescaped.discard(operands[1])
            elif opcode == flow.OP_CALL and operands[2] in self.fixed_functions:
                fixed.add(operands[1])
            elif opcode in _PURE and len(operands) > 2:
                made_of = operands[2 : _MADE_OF.get(opcode)]
                if fixed.issuperset(made_of):
                    fixed.add(operands[1])
                unescaped.difference_update(made_of)
            elif opcode != flow.OP_VARIABLE and opcode not in flow.LIFETIME:
                unescaped.difference_update(_named(opcode, operands))
        return fixed, unescaped

    def certain(self, function: _Function) -> set[int]:
        """Return the ids that the function's certain code names."""
        blocks: dict[int, list[Instruction]] = {}
        block: list[Instruction] = []
        entry = 0
        for instruction in function.code:
            if instruction.opcode == flow.OP_LABEL:
                block = blocks.setdefault(instruction.operands[0], [])
                entry = entry or instruction.operands[0]
            else:
                block.append(instruction)
        successors = {
            label: [target for target in dict.fromkeys(targets(code[-1])) if target in blocks] if code else []
            for label, code in blocks.items()
        }
        doubtful = _branches_in_doubt(blocks, successors, self._fixed_in(function))
        certain = _reached(entry, successors)
        sides = ((label, target) for label in doubtful for target in successors[label])
        for label, target in itertools.islice(sides, _MOST_SIDES):
            certain &= _reached(entry, {**successors, label: [target]})
        code = [instruction for label in certain for instruction in blocks.get(label, ())]
        # Variables that are only stored to, and what is only stored there, are not read.
        read = {id for opcode, operands in function.code for id in _named(opcode, operands)[opcode == flow.OP_STORE :]}
        own = {operands[1] for opcode, operands in function.code if opcode == flow.OP_VARIABLE}
        unread = own - read
        live = {
            id
            for opcode, operands in function.code
            if not (opcode == flow.OP_STORE and operands[0] in unread)
            for id in _named(opcode, operands)
        }
        return {
            id
            for opcode, operands in code
            if opcode in BODY_OPERANDS and (opcode != flow.OP_LOAD or operands[1] in live)
            for id in _named(opcode, operands)
        }


def _branches_in_doubt(
    blocks: dict[int, list[Instruction]], successors: dict[int, list[int]], fixed: set[int]
) -> list[int]:
    """Return the blocks that end in a branch on what is fixed, or may be once another branch in doubt is decided: of
    ``fixed && x`` a block has the value (OpPhi), which is fixed if it is reached from the first operand's."""
    may_be_fixed = set(fixed)
    doubtful: list[int] = []
    for _ in range(_MOST_ROUNDS):
        known = len(may_be_fixed)
        doubtful = [
            label for label, to in successors.items() if len(to) > 1 and blocks[label][-1].operands[0] in may_be_fixed
        ]
        for code in blocks.values():
            for opcode, operands in code:
                if opcode == _PHI:
                    values, parents = operands[2::2], operands[3::2]
                    if not may_be_fixed.isdisjoint(values) and not set(doubtful).isdisjoint(parents):
                        may_be_fixed.add(operands[1])
                elif opcode in _PURE and may_be_fixed.issuperset(operands[2 : _MADE_OF.get(opcode)]):
                    may_be_fixed.add(operands[1])
        if len(may_be_fixed) == known:
            break
    return doubtful


def _named(opcode: int, operands: array[int]) -> array[int]:
    """Return the operands that are ids of what the instruction works on."""
    if opcode in (flow.OP_BRANCH_CONDITIONAL, flow.OP_SWITCH, flow.OP_RETURN_VALUE):
        return operands[:1]
    if opcode == flow.OP_VARIABLE:
        return operands[3:]
    start, stop = BODY_OPERANDS.get(opcode, (3, None))
    return operands[start - 1 : None if stop is None else stop - 1]


def _reached(entry: int, successors: dict[int, list[int]]) -> set[int]:
    return set(reached([entry], lambda label: successors.get(label, ())))

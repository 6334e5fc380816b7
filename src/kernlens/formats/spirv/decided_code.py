"""Takes the code out of a SPIR-V module that the values of its specialisation constants leave without a way to it.

Intel's compilers drop such code if they optimise. A branch is decided where its condition is computed from a given value:
through integer and logical instructions, phis, variables of the function that hold one value only, parameters that all calls
give the same value, and functions that return one value. Other branches stay, those on other constants included.

Source: SPIR-V Specification, section 3.42: control flow, arithmetic and memory instructions.
"""

from __future__ import annotations

import operator
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.formats.spirv import control_flow as flow
from kernlens.formats.spirv.control_flow import Instruction, instructions, targets
from kernlens.formats.spirv.specialization import read_spec_constants
from kernlens.formats.spirv.words import read_words

_OP_NOP, _OP_ENTRY_POINT, _OP_TYPE_BOOL, _OP_TYPE_INT = 0, 15, 20, 21
_OP_TRUE, _OP_FALSE, _OP_CONSTANT, _OP_NULL, _OP_SPEC_OPERATION = 41, 42, 43, 46, 52
_OP_DECORATE, _OP_SELECT, _OP_PHI, _OP_FUNCTION_POINTER = 71, 169, 245, 5600
_LINKAGE = 41
#: Rounds over the module, each of which may decide more branches.
_MOST_ROUNDS = 8


class _Value(NamedTuple):
    """An integer or truth value; ``is_given`` tells whether it hangs on a specialisation constant."""

    bits: int
    width: int
    is_given: bool

    @property
    def signed(self) -> int:
        return self.bits - (self.bits >> self.width - 1 << self.width)


_Operation = Callable[[int, int], int]
#: Instructions of two operands, on their values without sign and with it.
_UNSIGNED: dict[int, _Operation] = {
    128: operator.add, 130: operator.sub, 132: operator.mul, 166: operator.or_, 167: operator.and_, 164: operator.eq,
    165: operator.ne, 170: operator.eq, 171: operator.ne, 172: operator.gt, 174: operator.ge, 176: operator.lt,
    178: operator.le, 197: operator.or_, 198: operator.xor, 199: operator.and_,
}  # fmt: skip
_SIGNED: dict[int, _Operation] = {173: operator.gt, 175: operator.ge, 177: operator.lt, 179: operator.le}
#: OpLogicalAnd and OpBitwiseAnd, whose result is 0 if one operand is.
_ANDS = (167, 199)
#: OpLogicalNot, OpNot; OpUConvert, OpCopyObject, OpBitcast; OpSConvert.
_NOTS, _COPIES, _SIGN_EXTENDS = (168, 200), (113, 83, 124), 114


def without_undecided(data: memoryview, given: Mapping[int, int]) -> memoryview:
    """Returns the module, for readers of what functions name, without the code that nothing leads to if the constants of these
    numbers have these bits: OpNop is in its place. The module must have been walked over before, which checks its word
    counts; one that is too large to be looked at, and one without such constants, stays as it is.
    """
    if len(data) > 4 * flow.MOST_WORDS:
        return data
    values = {
        id: _Value(given[number], constant.width, is_given=True)
        for number, constant in read_spec_constants(data).items()
        if number in given and constant.kind != "float"
        for id in constant.ids
    }
    return _Module(data, values).folded() if values else data


@dataclass()
class _Function:
    id: int
    parameters: list[int] = field(default_factory=list)
    blocks: dict[int, list[Instruction]] = field(default_factory=dict)
    #: The labels that can be reached, and where each leads to; where a branch was decided, to one label alone.
    alive: dict[int, None] = field(default_factory=dict)
    successors: dict[int, Sequence[int]] = field(default_factory=dict)
    decided: dict[int, int] = field(default_factory=dict)


class _Module:
    def __init__(self, data: memoryview, values: dict[int, _Value]) -> None:
        self.words, _ = read_words(data)
        self.known = values
        self.widths: dict[int, int] = {}
        self.functions: dict[int, _Function] = {}
        #: Functions that others can call with any arguments.
        self.open: set[int] = set()
        self.returns: dict[int, _Value] = {}
        function: _Function | None = None
        block: list[Instruction] = []
        for instruction in instructions(self.words):
            opcode = instruction.opcode
            if opcode == flow.OP_FUNCTION:
                function = self.functions[instruction.operands[1]] = _Function(instruction.operands[1])
            elif function is None:
                self._note(instruction)
            elif opcode == flow.OP_PARAMETER:
                function.parameters.append(instruction.operands[1])
            elif opcode == flow.OP_LABEL:
                block = function.blocks.setdefault(instruction.operands[0], [])
            elif opcode == flow.OP_FUNCTION_END:
                function = None
            elif function.blocks:
                block.append(instruction)

    def _note(self, instruction: Instruction) -> None:
        """Read an instruction of module scope."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == _OP_TYPE_BOOL:
            self.widths[operands[0]] = 1
        elif opcode == _OP_TYPE_INT and operands[1] in (8, 16, 32, 64):
            self.widths[operands[0]] = operands[1]
        elif opcode == _OP_ENTRY_POINT:
            self.open.add(operands[1])
        elif opcode == _OP_DECORATE and operands[1] == _LINKAGE:
            self.open.add(operands[0])
        elif opcode == _OP_FUNCTION_POINTER:
            self.open.update(operands[2:])
        elif opcode in (_OP_TRUE, _OP_FALSE, _OP_CONSTANT, _OP_NULL) and (width := self.widths.get(operands[0])):
            bits = sum(word << 32 * index for index, word in enumerate(operands[2:4]))
            self.known[operands[1]] = _Value((bits or opcode == _OP_TRUE) & (1 << width) - 1, width, is_given=False)
        elif opcode == _OP_SPEC_OPERATION:
            self._compute(operands[2], operands[0], operands[1], operands[3:])

    def folded(self) -> memoryview:
        for function in self.functions.values():
            self._walk(function)
        for _ in range(_MOST_ROUNDS):
            before = len(self.known), sum(len(function.decided) for function in self.functions.values())
            for function in self.functions.values():
                self._round(function)
            self._note_calls()
            if before == (len(self.known), sum(len(function.decided) for function in self.functions.values())):
                break
        for function in self.functions.values():
            self._take_out(function)
        return memoryview(self.words.tobytes())

    def _walk(self, function: _Function) -> None:
        """Find the blocks that can be reached by what has been decided."""
        function.successors = {
            label: [function.decided[label]] if label in function.decided else targets(code[-1]) if code else ()
            for label, code in function.blocks.items()
        }
        function.alive = dict.fromkeys(list(function.blocks)[:1])
        waiting = list(function.alive)
        while waiting:
            for label in function.successors.get(waiting.pop(), ()):
                if label in function.blocks and label not in function.alive:
                    function.alive[label] = None
                    waiting.append(label)

    def _round(self, function: _Function) -> None:
        contents = self._contents(function)
        for label in function.alive:
            for opcode, operands, _ in function.blocks[label]:
                if opcode == flow.OP_LOAD:
                    self._learn(operands[1], contents.get(operands[2]))
                elif opcode == flow.OP_CALL:
                    self._learn(operands[1], self.returns.get(operands[2]))
                elif opcode == _OP_PHI:
                    self._learn(operands[1], self._phi(function, label, operands))
                elif len(operands) > 2:
                    self._compute(opcode, operands[0], operands[1], operands[2:])
            if label not in function.decided and function.blocks[label]:
                target = self._decision(function.blocks[label][-1])
                if target is not None:
                    function.decided[label] = target
        self._walk(function)

    def _learn(self, id: int, value: _Value | None) -> None:
        if value is not None:
            self.known.setdefault(id, value)

    def _contents(self, function: _Function) -> dict[int, _Value]:
        """The variables of the function that never hold but one value, and are only loaded and stored to."""
        stored: dict[int, list[int]] = {}
        other: set[int] = set()
        for label in function.alive:
            for opcode, operands, _ in function.blocks[label]:
                if opcode == flow.OP_VARIABLE:
                    stored[operands[1]] = list(operands[3:])
                elif opcode == flow.OP_STORE:
                    stored.setdefault(operands[0], []).append(operands[1])
                    other.add(operands[1])
                elif opcode != flow.OP_LOAD and opcode not in flow.LIFETIME:
                    other.update(operands)
        own = {
            operands[1]
            for code in function.blocks.values()
            for opcode, operands, _ in code
            if opcode == flow.OP_VARIABLE
        }
        found = {id: self._same(self.known.get(value) for value in stored[id]) for id in own & stored.keys() - other}
        return {id: value for id, value in found.items() if value is not None}

    @staticmethod
    def _same(values: Iterable[_Value | None]) -> _Value | None:
        """The value that all of them are; None if they differ, if there is none, or if one is not known."""
        listed = list(values)
        first = listed[0] if listed else None
        if first is None or any(value is None or value.bits != first.bits for value in listed):
            return None
        return first._replace(is_given=any(value.is_given for value in listed if value))

    def _phi(self, function: _Function, label: int, operands: array[int]) -> _Value | None:
        pairs = list(zip(operands[2::2], operands[3::2], strict=False))
        coming = [value for value, source in pairs if source in function.alive and label in function.successors[source]]
        found = self._same(self.known.get(value) for value in coming)
        # What a decision left is due to it.
        return found._replace(is_given=found.is_given or len(coming) < len(pairs)) if found else None

    def _compute(self, opcode: int, type: int, id: int, operands: array[int]) -> None:
        width = self.widths.get(type)
        if width is None or id in self.known:
            return
        values: list[_Value | None] = [self.known.get(operand) for operand in operands]
        bits: int | None = None
        if opcode in _ANDS and any(value is not None and not value.bits for value in values):
            bits = 0
            values = [next(value for value in values if value is not None and not value.bits)]
        elif opcode == _OP_SELECT and values and values[0] is not None:
            values = [values[0], values[1 if values[0].bits else 2]] if len(values) == 3 else [None]
            bits = values[1].bits if len(values) > 1 and values[1] is not None else None
        elif values and (first := values[0]) is not None:
            second = values[1] if len(values) > 1 else None
            if opcode in _NOTS:
                bits = ~first.bits
            elif opcode in _COPIES:
                bits = first.bits
            elif opcode == _SIGN_EXTENDS:
                bits = first.signed
            elif second is not None and opcode in _UNSIGNED:
                bits = _UNSIGNED[opcode](first.bits, second.bits)
            elif second is not None and opcode in _SIGNED:
                bits = _SIGNED[opcode](first.signed, second.signed)
        if bits is not None:
            self.known[id] = _Value(bits & (1 << width) - 1, width, any(value.is_given for value in values if value))

    def _decision(self, last: Instruction) -> int | None:
        """The label that a branch on a given value leads to."""
        value = self.known.get(last.operands[0]) if last.operands else None
        if value is None or not value.is_given:
            return None
        if last.opcode == flow.OP_BRANCH_CONDITIONAL:
            return last.operands[1 if value.bits else 2]
        if last.opcode != flow.OP_SWITCH:
            return None
        length = 2 if value.width > 32 else 1
        for index in range(2, len(last.operands) - length, length + 1):
            number = sum(word << 32 * place for place, word in enumerate(last.operands[index : index + length]))
            if number & (1 << value.width) - 1 == value.bits:
                return last.operands[index + length]
        return last.operands[1]

    def _note_calls(self) -> None:
        """Learn what parameters all calls agree on, and what functions return."""
        given: dict[int, list[_Value | None]] = defaultdict(list)
        returned: dict[int, list[_Value | None]] = defaultdict(list)
        for function in self.functions.values():
            for label in function.alive:
                for opcode, operands, _ in function.blocks[label]:
                    if opcode == flow.OP_RETURN_VALUE:
                        returned[function.id].append(self.known.get(operands[0]))
                    elif opcode == flow.OP_CALL and operands[2] in self.functions:
                        parameters = self.functions[operands[2]].parameters
                        for parameter, value in zip(parameters, operands[3:], strict=False):
                            given[parameter].append(self.known.get(value))
        for function in self.functions.values():
            for parameter in function.parameters if function.id not in self.open else ():
                self._learn(parameter, self._same(given[parameter]))
            result = self._same(returned[function.id])
            if result is not None:
                self.returns[function.id] = result

    def _take_out(self, function: _Function) -> None:
        for label, code in function.blocks.items():
            for instruction in code if label not in function.alive else ():
                self._blank(instruction)
            if label in function.alive and label in function.decided:
                self._blank(code[-1])
                end = code[-1].position + 1 + len(code[-1].operands)
                self.words[end - 2 : end] = array("I", (2 << 16 | flow.OP_BRANCH, function.decided[label]))

    def _blank(self, instruction: Instruction) -> None:
        count = len(instruction.operands) + 1
        self.words[instruction.position : instruction.position + count] = array("I", [1 << 16 | _OP_NOP]) * count

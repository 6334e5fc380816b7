"""The code of a kernel in a SPIR-V module, with all calls inlined, as ``model.lane_code`` has it.

Source: SPIR-V Specification, section 3.42; OpenCL Extended Instruction Set Specification for the numbers of its instructions.
Lines are those of OpLine. Values that other instructions yield are each work-item's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.errors import TooManyError
from kernlens.formats.spirv.kernel_module import (
    ATOMICS,
    CHAINS,
    NAMED,
    OP_ATOMIC_STORE,
    OP_BITCAST,
    OP_BRANCH,
    OP_CALL,
    OP_CHOICE,
    OP_CONSTRUCT,
    OP_COPY,
    OP_COPY_SIZED,
    OP_EXTENDED,
    OP_EXTRACT,
    OP_INSERT,
    OP_LOAD,
    OP_PHI,
    OP_RETURN,
    OP_RETURN_VALUE,
    OP_SELECT,
    OP_SHUFFLE,
    OP_STORE,
    OP_SWITCH,
    OP_UNREACHABLE,
    OP_VARIABLE,
    Function,
    Instruction,
    KernelModule,
)
from kernlens.model import lane_code as code
from kernlens.model.lane_code import LaneBlock, LaneCode, Step
from kernlens.model.source_map import SourcePlace

#: Access chains whose first index steps over what the pointer points to.
_POINTER_CHAINS = frozenset((67, 70))
_ENDS = frozenset((OP_BRANCH, OP_CHOICE, OP_SWITCH, 252, OP_RETURN, OP_RETURN_VALUE, OP_UNREACHABLE))
#: Instructions whose operands, all of them ids, decide what they yield.
_PURE = frozenset((1, 77, 78, *range(109, 125), *range(126, 169), *range(170, 206)))
#: Functions of OpenCL.std: mad24, mul24, vload and vstore, clamp, max and min.
_MULTIPLY_ADD, _MULTIPLIED = (167, 168), (169, 170)
_VLOADS, _VSTORES = frozenset((171, 173, 174, 179)), frozenset((172, *range(175, 179), 180, 181))
_ALIGNED_HALVES = frozenset((179, 180, 181))
_BOUNDS = frozenset((149, 150, *range(156, 160)))
#: Functions of OpenCL.std that only compute, those of a pointer to a work-item's own memory too.
_COMPUTING = frozenset((*range(171), 182, 183, *range(201, 205)))
_VOLATILE, _ALIGNED = 1, 2
#: Steps of a kernel with its calls inlined, and calls within calls.
_MOST_STEPS, _DEEPEST = 40_000, 48
#: So many operands count as a step.
_OPERANDS = 16


class KernelCodes:
    """The code of a module's kernels. Raises FormatError if the module is damaged."""

    def __init__(self, data: memoryview) -> None:
        self._module = KernelModule(data)
        self.kernels = tuple(self._module.entries)

    def code(self, kernel: str) -> LaneCode | None:
        """Return the code of a kernel; None if the module does not have it."""
        function = self._module.entries.get(kernel)
        return None if function is None else _Inlining(self._module).code(function)


@dataclass()
class _Frame:
    """One call of a function: the numbers of its values, and the first and last block of each of its labels."""

    calls: tuple[SourcePlace, ...]
    function: int
    values: dict[int, int]
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    returns: list[tuple[int, int]] = field(default_factory=list)


class _Inlining:
    def __init__(self, module: KernelModule) -> None:
        self._module = module
        self._blocks: list[LaneBlock] = []
        self._globals: dict[int, int] = {}
        self._count = 0
        self._steps = 0
        self._missing = ""
        self._active: list[int] = []

    def code(self, function: int) -> LaneCode:
        """Return the code of a kernel."""
        module = self._module
        parameters = module.functions[function].parameters if function in module.functions else []
        arguments = [self._number() for _ in parameters]
        names = {
            number: module.names.get(id) or f"argument {number}"
            for number, (id, _) in zip(arguments, parameters, strict=True)
        }
        components = {
            number: count
            for number, (_, type_) in zip(arguments, parameters, strict=True)
            if (count := module.types.components(type_))
        }
        self._expand(function, arguments, ())
        vectors = self._vectors()
        # A module of thousands of kernels has as many constants, and a kernel uses few of them.
        used = self._globals.items()
        numbers = {
            number: module.signed(id)
            for id, number in used
            if id in module.numbers and not module.types.components(module.types_of[id])
        }
        names.update(
            (number, module.names.get(id, "")) for id, number in used if id in module.variables or id in module.fixed
        )
        return LaneCode(self._blocks, numbers, vectors, names, components, self._missing)

    def _vectors(self) -> dict[int, tuple[int, ...]]:
        """Return the parts of the constant vectors that the kernel uses, in which there may be others."""
        composites = self._module.composites
        vectors: dict[int, tuple[int, ...]] = {}
        left = [id for id in self._globals if id in composites]
        while left:
            id = left.pop()
            if (number := self._global(id)) in vectors:
                continue
            vectors[number] = tuple(map(self._global, composites[id]))
            left += [part for part in composites[id] if part in composites]
        return vectors

    def _number(self) -> int:
        self._count += 1
        return self._count

    def _global(self, id: int) -> int:
        return self._globals.get(id) or self._globals.setdefault(id, self._number())

    def _value(self, frame: _Frame, id: int) -> int:
        if id in self._module.shared:
            return self._global(id)
        return frame.values.get(id) or frame.values.setdefault(id, self._number())

    def _block(self) -> int:
        self._blocks.append(LaneBlock())
        return len(self._blocks) - 1

    def _expand(self, id: int, arguments: Sequence[int], calls: tuple[SourcePlace, ...]) -> _Frame:
        """Add the blocks of a function; the first is that of its first label."""
        function = self._module.functions.get(id, Function())
        values = {parameter: number for (parameter, _), number in zip(function.parameters, arguments, strict=False)}
        frame = _Frame(calls, id, values)
        self._active.append(id)
        self._count_steps(len(function.blocks))
        frame.first.update((label, self._block()) for label in function.blocks)
        if not function.blocks:
            self._block()
        choices: list[tuple[int, int, Instruction]] = []
        for label, instructions in function.blocks.items():
            current = frame.first[label]
            for each in instructions:
                self._count_steps(1 + len(each.operands) // _OPERANDS)
                if each.opcode == OP_PHI:
                    choices.append((current, len(self._blocks[current].steps), each))
                    self._add(current, frame, each, code.OWN)
                elif each.opcode == OP_CALL:
                    current = self._call(frame, current, each)
                elif each.opcode in _ENDS:
                    self._end(frame, current, each)
                else:
                    self._translate(frame, current, each)
            frame.last[label] = current
        for block, at, each in choices:
            pairs = list(zip(each.operands[2::2], each.operands[3::2], strict=False))
            operands = tuple(self._value(frame, value) for value, _ in pairs)
            sources = tuple(frame.last.get(label, -1) for _, label in pairs)
            step = self._blocks[block].steps[at]
            self._blocks[block].steps[at] = step._replace(name=code.PHI, operands=operands, literals=sources)
        self._active.pop()
        return frame

    def _count_steps(self, count: int) -> None:
        self._steps += count
        if self._steps > _MOST_STEPS:
            raise TooManyError(f"the kernel has more than {_MOST_STEPS:,} steps with its calls inlined", format="spirv")

    def _call(self, frame: _Frame, block: int, call: Instruction) -> int:
        """Inline a call; return the block behind it."""
        module, (_, result, callee, *words) = self._module, call.operands
        arguments = [self._value(frame, each) for each in words]
        body = module.functions.get(callee)
        if body is None or not body.blocks or callee in self._active or len(self._active) > _DEEPEST:
            if body is not None and body.blocks:
                self._missing = "a function calls itself, or calls are too deep"
            self._add(block, frame, call, code.OWN)
            return block
        calls = (call.place, *frame.calls) if call.place is not None else frame.calls
        entry = len(self._blocks)
        inner = self._expand(callee, arguments, calls)
        self._blocks[block].successors = [entry]
        behind = self._block()
        for source, _ in inner.returns:
            self._blocks[source].successors = [behind]
        sources, values = tuple(each for each, _ in inner.returns), tuple(each for _, each in inner.returns)
        if -1 not in values:
            step = Step(code.PHI, self._value(frame, result), values, sources, module.bits(result))
            self._blocks[behind].steps.append(step)
        return behind

    def _end(self, frame: _Frame, number: int, last: Instruction) -> None:
        block, operands = self._blocks[number], last.operands
        if last.opcode in (OP_RETURN, OP_RETURN_VALUE):
            frame.returns.append((number, self._value(frame, operands[0]) if last.opcode == OP_RETURN_VALUE else -1))
            return
        labels: Sequence[int] = ()
        if last.opcode == OP_BRANCH:
            labels = operands[:1]
        elif last.opcode == OP_CHOICE:
            labels = operands[1:3]
        elif last.opcode == OP_SWITCH:
            wide = 2 if self._module.bits(operands[0]) > 32 else 1
            labels = [operands[1], *operands[2 + wide :: 1 + wide]]
        if last.opcode in (OP_CHOICE, OP_SWITCH):
            block.condition = self._value(frame, operands[0])
        blocks = self._module.functions[frame.function].blocks
        block.successors = list(dict.fromkeys(
            frame.first[each] for each in labels
            if each in frame.first and not (blocks[each] and blocks[each][0].opcode == OP_UNREACHABLE)
        ))  # fmt: skip

    def _add(
        self, block: int, frame: _Frame, each: Instruction, name: str, operands: Sequence[int] = (),
        literals: tuple[int, ...] = (), space: str = "", text: str = "", *, has_result: bool = True,
    ) -> None:  # fmt: skip
        """Add a step; ``operands`` are ids."""
        result, bits = -1, 0
        if has_result and len(each.operands) > 1:
            result, bits = self._value(frame, each.operands[1]), self._module.bits(each.operands[1])
        values = tuple(self._value(frame, id) for id in operands)
        step = Step(name, result, values, literals, bits, each.place, frame.calls, space, text)
        self._blocks[block].steps.append(step)

    def _translate(self, frame: _Frame, block: int, each: Instruction) -> None:
        module, opcode, operands = self._module, each.opcode, each.operands
        if opcode == OP_VARIABLE:
            self._add(block, frame, each, code.PURE)
        elif opcode in (OP_LOAD, OP_STORE, OP_COPY, OP_COPY_SIZED, OP_ATOMIC_STORE) or opcode in ATOMICS:
            self._access(frame, block, each)
        elif opcode in CHAINS:
            self._chain(frame, block, each)
        elif opcode == OP_EXTENDED and operands[2] in module.sets:
            self._extended(frame, block, each)
        elif opcode in (OP_EXTRACT, OP_INSERT):
            count = 1 if opcode == OP_EXTRACT else 2
            literals = tuple(operands[2 + count :])
            name = code.EXTRACT if opcode == OP_EXTRACT else code.INSERT
            values = operands[2:3] if opcode == OP_EXTRACT else (operands[3], operands[2])
            is_vector = module.types.components(module.types_of.get(values[0], 0)) if len(literals) == 1 else 0
            literals = (*literals, is_vector) if is_vector else ()
            self._add(block, frame, each, name if is_vector else code.PURE, values, literals)
        elif opcode == OP_SHUFFLE:
            self._add(block, frame, each, code.SHUFFLE, operands[2:4], tuple(operands[4:]))
        elif opcode == OP_CONSTRUCT:
            is_vector = module.types.components(operands[0])
            self._add(block, frame, each, code.CONSTRUCT if is_vector else code.PURE, operands[2:])
        elif opcode == OP_SELECT and operands[2] in module.booleans:
            # So newer translators check the dimension of an id.
            chosen = operands[3 if module.booleans[operands[2]] else 4]
            self._add(block, frame, each, code.CONVERT, (chosen,))
        elif opcode == OP_SELECT:
            self._add(block, frame, each, code.SELECT, operands[2:5])
        elif opcode == OP_BITCAST and module.bits(operands[1]) and module.bits(operands[1]) == module.bits(operands[2]):
            self._add(block, frame, each, code.CONVERT, operands[2:3])
        elif opcode in NAMED:
            self._add(block, frame, each, NAMED[opcode], operands[2:])
        elif opcode in _PURE:
            self._add(block, frame, each, code.PURE, operands[2:])
        elif len(operands) > 1 and module.types_of.get(operands[1]) == operands[0]:
            self._add(block, frame, each, code.OWN)

    def _access(self, frame: _Frame, block: int, each: Instruction) -> None:
        module, opcode, operands = self._module, each.opcode, each.operands
        types = module.types
        if opcode == OP_LOAD and operands[2] in module.built_ins:
            text, count = module.built_ins[operands[2]]
            name = code.LAUNCHED if text else code.OWN
            self._add(block, frame, each, name, literals=(count,) if count else (), text=text)
            return
        if opcode in (OP_COPY, OP_COPY_SIZED):
            sized = module.numbers.get(operands[2], 0) if opcode == OP_COPY_SIZED else None
            for name, pointer in ((code.LOAD, operands[1]), (code.STORE, operands[0])):
                type_ = module.types_of.get(pointer, 0)
                size = types.size(types.pointee(type_) or 0) if sized is None else sized
                self._add(block, frame, each, name, (pointer,), (size or 0, 0), types.space(type_), has_result=False)
            return
        is_load = opcode == OP_LOAD
        name = code.LOAD if is_load else code.STORE if opcode == OP_STORE else code.ATOMIC
        pointer = operands[0] if opcode in (OP_STORE, OP_ATOMIC_STORE) else operands[2]
        type_ = module.types_of.get(pointer, 0)
        rest = [*operands[3 if is_load else 2 :]] if name != code.ATOMIC else []
        alignment = rest[1] if len(rest) > 1 and rest[0] & _ALIGNED else 0
        size = types.size(types.pointee(type_) or 0) or 0
        text = "volatile" if rest and rest[0] & _VOLATILE else ""
        has_result = opcode not in (OP_STORE, OP_ATOMIC_STORE)
        self._add(
            block, frame, each, name, (pointer,), (size, alignment), types.space(type_), text, has_result=has_result
        )

    def _chain(self, frame: _Frame, block: int, each: Instruction) -> None:
        """Add the computing of an address."""
        module, types, operands = self._module, self._module.types, each.operands
        type_ = types.pointee(module.types_of.get(operands[2], 0))
        before, indices, steps = 0, [], []
        for at, index in enumerate(operands[3:]):
            is_first = at == 0 and each.opcode in _POINTER_CHAINS
            inner = type_ if is_first else types.element(type_ or 0)
            if inner is None and type_ is not None and index in module.numbers:
                member = types.member(type_, module.numbers[index])
                if member is not None:
                    type_, offset = member
                    before += offset
                    continue
            size = types.size(inner or 0)
            if size is None:
                self._add(block, frame, each, code.PURE, operands[2:])
                return
            indices.append(index)
            steps.append(size)
            type_ = inner
        self._add(block, frame, each, code.ADDRESS, (operands[2], *indices), (before, *steps))

    def _extended(self, frame: _Frame, block: int, each: Instruction) -> None:
        """Add an instruction of OpenCL.std."""
        module, types, operands = self._module, self._module.types, each.operands
        number = operands[3]
        if number in _MULTIPLY_ADD or number in _MULTIPLIED:
            self._add(block, frame, each, code.MULTIPLY_ADD if number in _MULTIPLY_ADD else code.MULTIPLY, operands[4:])
        elif number in _BOUNDS:
            self._add(block, frame, each, code.BOUND, operands[4:])
        elif number in _COMPUTING:
            self._add(block, frame, each, code.PURE, operands[4:])
        elif number in _VLOADS or number in _VSTORES:
            is_load = number in _VLOADS
            at = 4 if is_load else 5
            if len(operands) < at + 2:
                return
            index, pointer = operands[at], operands[at + 1]
            type_ = module.types_of.get(pointer, 0)
            element = types.size(types.pointee(type_) or 0) or 0
            count = types.components(operands[0] if is_load else module.types_of.get(operands[4], 0)) or 1
            apart = 4 if count == 3 and number in _ALIGNED_HALVES else count
            address = self._number()
            values = (self._value(frame, pointer), self._value(frame, index))
            step = Step(code.ADDRESS, address, values, (0, element * apart), 64, each.place, frame.calls)
            self._blocks[block].steps.append(step)
            literals = (element * count, element * apart if number in _ALIGNED_HALVES else element)
            name, space = (code.LOAD if is_load else code.STORE), types.space(type_)
            self._add(block, frame, each, name, (), literals, space, has_result=is_load)
            steps = self._blocks[block].steps
            steps[-1] = steps[-1]._replace(operands=(address,))
        else:
            self._add(block, frame, each, code.OWN)

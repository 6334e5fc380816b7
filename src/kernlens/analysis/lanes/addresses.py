"""The addresses of a kernel's accesses, as forms over the ids of its work-items.

A value is a form, or that each work-item may have its own (``None``), or a tuple of these for the components of a vector. What
all work-items of a sub-group share and no form tells is a symbol of its own. The values of a loop are those of one of its
rounds: its heads' values are taken for equal until a way back to them brings another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernlens.analysis.lanes import polynomials as forms
from kernlens.analysis.lanes.arithmetic import computed
from kernlens.analysis.lanes.flow import Flow
from kernlens.analysis.lanes.polynomials import Form, Symbol
from kernlens.dataclass import dataclass
from kernlens.errors import TooManyError
from kernlens.model.lane_code import (
    ATOMIC,
    BOUND,
    COMPARE,
    CONSTRUCT,
    EXTRACT,
    GLOBAL_ID,
    INSERT,
    LAUNCHED,
    LOAD,
    LOCAL_ID,
    OWN,
    PHI,
    SELECT,
    SHUFFLE,
    STORE,
    LaneCode,
    Step,
)
from kernlens.model.reach import reached

Value = Form | None | tuple["Form | None", ...]

_ACCESSES = (LOAD, STORE, ATOMIC)
#: Spaces whose contents are the same for all work-items.
_SHARED = ("global", "constant", "local")
#: Rounds over the code until it settles. More are not made: then no address is known.
_MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class AddressForm:
    """The address of an access; None where it is not known."""

    step: Step
    form: Form | None


def addresses(code: LaneCode, lanes: frozenset[Symbol]) -> list[AddressForm]:
    """Return the addresses of all accesses of a kernel. ``lanes`` are the ids in which the work-items of a sub-group differ.
    Raises TooManyError for code that is too entangled or too large."""
    return _Reading(code, lanes).addresses()


class _Reading:
    def __init__(self, code: LaneCode, lanes: frozenset[Symbol]) -> None:
        self._code, self._lanes = code, lanes
        self._flow = Flow([block.successors for block in code.blocks])
        self._values: dict[int, Value] = {}
        #: The steps of each block whose values addresses and branches are made of.
        self._steps = _needed(code)
        #: The block in which a symbol got its value.
        self._homes: dict[Symbol, int] = {}
        #: The two sides of comparisons.
        self._compared: dict[int, Sequence[Value]] = {}
        #: Choices whose values differ by what all work-items share, and those that each work-item may have its own of.
        self._apart: set[Symbol] = set()
        self._lost: set[Symbol] = set()
        self._changed = True

    def addresses(self) -> list[AddressForm]:
        """Return the addresses of all accesses."""
        values, code = self._values, self._code
        values.update((number, forms.number(value)) for number, value in code.numbers.items())
        values.update((each, forms.symbol(each)) for each in code.names if each not in code.components)
        for each, count in code.components.items():
            values[each] = tuple(
                forms.symbol(f"{code.names.get(each, each)}.{'xyzwefghijklmnop'[at]}") for at in range(count)
            )
        for number, parts in code.vectors.items():
            values[number] = tuple(self._scalar(values.get(part)) for part in parts)
        for _ in range(_MOST_ROUNDS):
            self._changed = False
            for block in self._flow.order:
                self._run(block)
            if not self._changed:
                return [
                    AddressForm(step, self._scalar(self._seen(step.operands[0], block)))
                    for block in sorted(self._flow.order)
                    for step in code.blocks[block].steps
                    if step.name in _ACCESSES
                ]
        raise TooManyError("the kernel's values do not settle", format="spirv")

    @staticmethod
    def _scalar(value: Value) -> Form | None:
        return None if isinstance(value, tuple) else value

    def _run(self, number: int) -> None:
        block = self._code.blocks[number]
        for step in self._steps[number]:
            value = self._phi(step, number) if step.name == PHI else self._value(step, number)
            if step.result not in self._values or self._values[step.result] != value:
                self._values[step.result] = value
                self._changed = True
        if len(set(block.successors)) > 1 and not self._is_uniform(self._seen(block.condition, number)):
            self._changed |= self._flow.part(number)

    def _seen(self, value: int, block: int) -> Value:
        """Return a value as the work-items in a block have it: those that left a loop in different rounds have their own."""
        known = self._values.get(value)
        if known and self._flow.parted:
            parts: Sequence[Form | None] = known if isinstance(known, tuple) else (known,)
            inside = self._flow.loops[block]
            for each in forms.symbols_of(part for part in parts if part):
                home = self._homes.get(each)
                if home is not None and not (self._flow.loops[home] - inside).isdisjoint(self._flow.parted):
                    return None
        return known

    def _is_uniform(self, value: Value) -> bool:
        """Tell whether all work-items of a sub-group have the same value."""
        if isinstance(value, tuple):
            return all(map(self._is_uniform, value))
        return value is not None and not forms.parts(value, self._lanes)[0]

    def _own(self, name: Symbol, block: int) -> Form:
        self._homes[name] = block
        return forms.symbol(name)

    def _value(self, step: Step, block: int) -> Value:
        """Return what a step yields."""
        name = step.name
        if name == LAUNCHED:
            return self._launched(step)
        if name == OWN or step.result < 0 or name in (STORE, ATOMIC):
            return None
        operands = [self._seen(each, block) for each in step.operands]
        if name == CONSTRUCT:
            return tuple(part for each in operands for part in (each if isinstance(each, tuple) else (each,)))
        if name in (EXTRACT, INSERT, SHUFFLE):
            return self._picked(step, operands, block)
        if name == COMPARE:
            self._compared[step.result] = operands
        if name == SELECT and (
            bounded := self._bounded(step, operands[1:], block, self._compared.get(step.operands[0]))
        ):
            return bounded
        if name == SELECT:
            return self._joined(step, operands[1:], block, is_mixed=not self._is_uniform(operands[0]))
        if name == LOAD:
            is_shared = step.space in _SHARED and step.text != "volatile" and self._is_uniform(operands[0])
            return self._own(step.result, block) if is_shared else None
        vectors = [each for each in operands if isinstance(each, tuple)]
        if name == BOUND and (bounded := self._bounded(step, operands, block, _sides(operands, self._is_uniform))):
            return bounded
        if not vectors:
            return self._computed(step, operands, step.result, block)
        rows = [each if isinstance(each, tuple) else (each,) * len(vectors[0]) for each in operands]
        return tuple(
            self._computed(step, parts, f"{step.result}.{at}", block)
            for at, parts in enumerate(zip(*rows, strict=False))
        )

    def _computed(self, step: Step, operands: Sequence[Value], name: Symbol, block: int) -> Form | None:
        known = [each for each in operands if each is not None and not isinstance(each, tuple)]
        if len(known) == len(operands) and (form := computed(step, known, self._lanes)) is not None:
            own, _ = forms.parts(form, self._lanes)
            is_whole = not forms.is_long(form) and (forms.FRESH,) not in form
            return form if is_whole else self._with_symbol(own, name, block)
        return self._own(name, block) if all(map(self._is_uniform, operands)) else None

    def _bounded(
        self, step: Step, operands: Sequence[Value], block: int, compared: Sequence[Value] | None
    ) -> Form | None:
        """Return a number between bounds: the one operand in which work-items differ, and what bounds that all share add.
        Where two values are ``compared`` to choose, one of them differs between work-items as that operand does."""
        forms_of = [each for each in operands if each is not None and not isinstance(each, tuple)]
        own = [each for each in forms_of if not self._is_uniform(each)]
        if len(forms_of) < len(operands) or len(own) != 1 or compared is None:
            return None
        lanes = forms.uncut(forms.parts(own[0], self._lanes)[0])
        known = [each for each in compared if each is not None and not isinstance(each, tuple)]
        sides = [forms.uncut(forms.parts(each, self._lanes)[0]) for each in known]
        if sorted(map(bool, sides)) != [False, True] or lanes not in sides:
            return None
        name = f"{step.result}"
        self._homes[f"cut {name}"] = block
        return forms.add(own[0], forms.cut(name))

    def _with_symbol(self, own: Form, name: Symbol, block: int) -> Form | None:
        return None if forms.is_long(own) else forms.add(own, self._own(name, block))

    def _launched(self, step: Step) -> Value:
        if not step.literals:
            return forms.symbol(step.text)

        def part(dimension: int) -> Form:
            own = forms.symbol(f"{LOCAL_ID} {dimension}")
            if step.text == GLOBAL_ID:
                return forms.add(own, forms.symbol(f"first id {dimension}"))
            return own if step.text == LOCAL_ID else forms.symbol(f"{step.text} {dimension}")

        return tuple(part(dimension) for dimension in range(step.literals[0]))

    def _picked(self, step: Step, operands: Sequence[Value], block: int) -> Value:
        """Return components of vectors; where a vector is one symbol, its components are others."""
        if step.name == SHUFFLE:
            if not all(isinstance(each, tuple) for each in operands):
                return self._own(step.result, block) if all(map(self._is_uniform, operands)) else None
            row = [part for each in operands if isinstance(each, tuple) for part in each]
            return tuple(row[each] if each < len(row) else None for each in step.literals)
        at, count = step.literals
        vector = operands[0]
        if not isinstance(vector, tuple):
            vector = tuple(
                None if vector is None else self._own(f"{step.result}.{each}", block) for each in range(count)
            )
        if step.name == EXTRACT:
            return vector[at] if at < len(vector) else None
        return tuple(self._scalar(operands[1]) if number == at else part for number, part in enumerate(vector))

    def _phi(self, step: Step, block: int) -> Value:
        flow = self._flow
        ways: dict[bool, list[int]] = {False: [], True: []}
        for operand, source in zip(step.operands, step.literals, strict=True):
            if source in flow.predecessors[block] and operand in self._values:
                ways[flow.is_back(source, block)].append(operand)
        is_mixed = any(ways[each] and (block, each) in flow.mixed for each in ways)
        values = [self._seen(each, block) for operands in ways.values() for each in operands]
        if is_mixed and (bounded := self._bounded(step, values, block, self._compared.get(self._choice(block)))):
            return bounded
        return self._joined(step, values, block, is_mixed=is_mixed)

    def _choice(self, block: int) -> int:
        """Return the condition of a choice between two values without further code, which meet in a block; -1 for another."""
        before = self._flow.predecessors[block]
        heads = {each if len(self._code.blocks[each].successors) > 1 else self._flow.above(each) for each in before}
        head = heads.pop() if len(heads) == 1 and len(before) == 2 else -1
        return self._code.blocks[head].condition if head >= 0 else -1

    def _joined(self, step: Step, values: Sequence[Value], block: int, *, is_mixed: bool) -> Value:
        """Return what is known of a value that is one of several; ``is_mixed``: not the same one for all work-items."""
        lengths = {len(each) if isinstance(each, tuple) else 0 for each in values}
        if lengths == {0} or not values:
            return self._joined_parts(step.result, [*map(self._scalar, values)], block, is_mixed=is_mixed)
        if len(lengths) > 1:
            return None
        rows = [each for each in values if isinstance(each, tuple)]
        return tuple(
            self._joined_parts(f"{step.result}.{at}", parts, block, is_mixed=is_mixed)
            for at, parts in enumerate(zip(*rows, strict=True))
        )

    def _joined_parts(self, name: Symbol, values: Sequence[Form | None], block: int, *, is_mixed: bool) -> Form | None:
        known = [each for each in values if each is not None]
        if not values:
            return None
        if len(known) < len(values) or name in self._lost:
            self._lost.add(name)
            return None
        if name not in self._apart and all(each == known[0] for each in known):
            return known[0]
        own = [forms.parts(each, self._lanes)[0] for each in known]
        if is_mixed or any(each != own[0] for each in own):
            self._lost.add(name)
            return None
        self._apart.add(name)
        return self._with_symbol(own[0], name, block)


def _needed(code: LaneCode) -> list[list[Step]]:
    """Return the steps of each block that yield what an address or a condition is made of."""
    yielding = {step.result: step for block in code.blocks for step in block.steps}
    used = {step.operands[0] for block in code.blocks for step in block.steps if step.name in _ACCESSES}
    used |= {block.condition for block in code.blocks}
    needed = reached(used, lambda value: yielding[value].operands if value in yielding else ())
    return [[step for step in block.steps if step.result >= 0 and step.result in needed] for block in code.blocks]


def _sides(operands: Sequence[Value], is_uniform: Callable[[Value], bool]) -> list[Value]:
    """Return the operand in which work-items differ, and a bound."""
    own = [each for each in operands if not is_uniform(each)]
    return [*own[:1], forms.NOTHING]

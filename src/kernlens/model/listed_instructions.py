"""Instructions of decoders that give listings: offsets, sizes, mnemonics and texts, and what else they know."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from kernlens.model.effects import Effects, Route
from kernlens.model.instruction import Instruction, Instructions
from kernlens.model.instruction_kind import OTHER, InstructionKind


def label(offset: int) -> str:
    """Return the label of the instruction at an offset, as texts of all vendors name it: ``L96``."""
    return f"L{offset}"


_UNKNOWN = InstructionKind(OTHER)
Of = TypeVar("Of")


class ListedInstructions(Instructions):
    """A kernel's instructions as columns of one length; ``find_...`` and callables are asked on first use, once."""

    def __init__(
        self,
        offsets: Sequence[int],
        sizes: Sequence[int],
        opcodes: Sequence[str] | Callable[[], Sequence[str]],
        texts: Sequence[str] | Callable[[], Sequence[str]],
        *,
        targets: Mapping[int, Sequence[int]] | None = None,
        calls: Collection[int] = (),
        stops: Collection[int] = (),
        conditional: Collection[int] | None = None,
        kinds: Sequence[InstructionKind] | Callable[[], Sequence[InstructionKind]] | None = None,
        find_effects: Callable[[], Effects | None] = lambda: None,
        illegal: Collection[int] = (),
        trailing: int = 0,
        disassembler: str | None = None,
        remark: str = "",
        find_outside: Callable[[], Sequence[int | None]] = tuple,
    ) -> None:
        """Take the columns; ``offsets`` ascend from the kernel's start, and no instruction reaches into the next.

        ``targets`` has the offsets that branches and calls go to, by index. ``calls`` are the indexes of all calls, a call
        without targets goes to an address that the code does not tell; ``stops`` those that control never passes.
        ``conditional`` are the indexes of those branches that may fall through: with them it is known where control
        goes (``routes``), which must then hold for all instructions. Leave it None if there are branches whose
        targets are not known.
        """
        if len(sizes) != len(offsets):
            raise ValueError(f"{len(offsets)} offsets do not go with {len(sizes)} sizes")
        ends = map(int.__add__, offsets, sizes)
        if any(end > start for end, start in zip(ends, offsets[1:], strict=False)):
            raise ValueError("instructions overlap, or their offsets do not ascend")
        self._offsets = offsets if isinstance(offsets, array) else array("Q", offsets)
        self._sizes = sizes
        self._opcodes, self._texts, self._kinds = opcodes, texts, kinds
        self._targets = targets or {}
        self._calls = frozenset(calls)
        self._stops = sorted(stops)
        self._conditional = conditional
        self._find_effects = find_effects
        self._find_outside = find_outside
        self._illegal = sorted(illegal)
        self._no_instructions = frozenset(illegal)
        self.trailing = trailing
        self.disassembler = disassembler
        self.remark = remark

    @property
    def offsets(self) -> array[int]:
        """Each instruction's offset in bytes, ascending."""
        return self._offsets

    @property
    def sizes(self) -> Sequence[int]:
        """Each instruction's size in bytes."""
        return self._sizes

    @cached_property
    def opcodes(self) -> Sequence[str]:
        """Each instruction's mnemonic."""
        return self._column(self._opcodes)

    @cached_property
    def texts(self) -> Sequence[str]:
        """Each instruction's assembly text, spacing included."""
        return self._column(self._texts)

    @cached_property
    def kinds(self) -> Sequence[InstructionKind]:
        """The kind of each instruction in the instruction mix, and what a message accesses."""
        return self._column(self._kinds) if self._kinds is not None else [_UNKNOWN] * len(self)

    def _column(self, of: Sequence[Of] | Callable[[], Sequence[Of]]) -> Sequence[Of]:
        column = of() if callable(of) else of
        if len(column) != len(self):
            raise ValueError(f"a column of {len(column)} values does not go with {len(self)} instructions")
        return column

    @property
    def illegal(self) -> Sequence[int]:
        """The indexes of what is no instruction of the device, ascending."""
        return self._illegal

    @cached_property
    def branches(self) -> Mapping[int, tuple[int, ...]]:
        """The offsets that branches and calls go to, each once, by their indexes."""
        return {index: tuple(dict.fromkeys(targets)) for index, targets in sorted(self._targets.items()) if targets}

    @cached_property
    def called(self) -> tuple[int, ...]:
        """The offsets that calls go to, ascending, each once."""
        return tuple(sorted({target for index in self._calls for target in self.branches.get(index, ())}))

    @property
    def calls_by_address(self) -> bool:
        """True if a call goes to an address that the code alone does not tell."""
        return any(index not in self.branches for index in self._calls)

    @cached_property
    def outside_calls(self) -> tuple[int | None, ...]:
        """The offsets, from the kernel's start, of what calls by address go to, each once; None for what nothing tells."""
        return tuple(dict.fromkeys(self._find_outside()))

    @property
    def stops(self) -> Sequence[int]:
        """The indexes of instructions that control never passes."""
        return self._stops

    @cached_property
    def routes(self) -> Mapping[int, Route] | None:
        """The ways of lanes from those instructions that do not just fall through, by index; None where they are not known."""
        if self._conditional is None:
            return None
        routes = {index: Route(falls=False) for index in self._stops}
        for index in sorted({*self.branches, *self._calls}):
            targets = tuple(row for target in self.branches.get(index, ()) if (row := self._index(target)) is not None)
            is_call = index in self._calls
            routes[index] = Route(is_call or index in self._conditional, targets, is_call)
        return routes

    def _index(self, offset: int) -> int | None:
        """Return the index of the instruction that begins at ``offset``; None if there is none."""
        index = bisect_left(self._offsets, offset)
        return index if index < len(self) and self._offsets[index] == offset else None

    @cached_property
    def effects(self) -> Effects | None:
        """The effects of each instruction on registers and control; None if the decoder does not say, and of a slice."""
        return self._find_effects()

    def _slice(self, chosen: range) -> ListedInstructions:
        if chosen.step < 0:
            raise ValueError("instructions cannot be taken in the opposite order")
        rows = {old: new for new, old in enumerate(chosen)}
        return ListedInstructions(
            array("Q", [self._offsets[row] for row in chosen]),
            [self._sizes[row] for row in chosen],
            lambda: [self.opcodes[row] for row in chosen],
            lambda: [self.texts[row] for row in chosen],
            targets={rows[row]: targets for row, targets in self.branches.items() if row in rows},
            calls=[rows[row] for row in self._calls if row in rows],
            stops=[rows[row] for row in self._stops if row in rows],
            kinds=lambda: [self.kinds[row] for row in chosen],
            illegal=[rows[row] for row in self._illegal if row in rows],
            disassembler=self.disassembler,
            remark=self.remark,
        )

    def _make(self, index: int) -> Instruction:
        return Instruction(
            index=index,
            offset=self._offsets[index],
            size=self._sizes[index],
            opcode=self.opcodes[index],
            targets=self.branches.get(index, ()),
            illegal=index in self._no_instructions,
            _of=self,
        )

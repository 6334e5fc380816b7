"""Instructions: a kernel's decoded machine code, in the form that those of all vendors have.

``Instructions`` answers questions about whole columns; an ``Instruction`` is made only for an index that is asked for.
``intel_instructions`` has those that libiga64 decodes, with columns of their own; ``listed_instructions`` those of decoders
that give listings.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from kernlens.dataclass import dataclass, field, in_short
from kernlens.model.columns import Cell, Table, Tabular
from kernlens.model.effects import Effects, Route
from kernlens.model.hash_trailer import HashTrailer
from kernlens.model.instruction_kind import InstructionKind


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, the ``index``-th of its ``Instructions``. ``offset`` is in bytes from the kernel's start, as ``size``
    is in bytes.

    ``opcode`` is the mnemonic, ``illegal`` where the bytes are no instruction of the device. ``targets`` are the offsets
    that a branch can go to, as far as the code alone tells.
    """

    index: int
    offset: int
    size: int
    opcode: str
    targets: tuple[int, ...]
    illegal: bool
    _of: Instructions = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return in_short(f"<Instruction {self.offset:#06x}: {' '.join(self.text.split())}>")

    @property
    def text(self) -> str:
        """The assembly text, as in ``Instructions.texts``."""
        return self._of.texts[self.index]

    @property
    def kind(self) -> InstructionKind:
        """The kind of the instruction, as in ``Instructions.kinds``."""
        return self._of.kinds[self.index]


class Instructions(Tabular, Sequence[Instruction]):
    """A kernel's instructions in the order of their offsets.

    ``trailing`` is the number of bytes after the last instruction that are too few for another, ``trailer`` what the compiler
    left among them that is none of them. ``disassembler`` is what
    prints the texts: ``libiga64 2.40.14+0``. Texts are rendered on first use, all at once. ``remark`` is what else is to be
    known of it: that it is older than the compiler, or what may decode more.
    """

    trailing: int = 0
    trailer: HashTrailer | None = None
    disassembler: str | None = None
    remark: str = ""

    def __len__(self) -> int:
        return len(self.offsets)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...
    @overload
    def __getitem__(self, index: slice) -> Instructions: ...
    def __getitem__(self, index: int | slice) -> Instruction | Instructions:
        if isinstance(index, slice):
            return self._slice(range(len(self))[index])
        return self._make(self._row(index))

    def _row(self, index: int) -> int:
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"instruction index {index} is out of range: there are {len(self)} instructions")
        return number

    def __iter__(self) -> Iterator[Instruction]:
        return map(self._make, range(len(self)))

    def __repr__(self) -> str:
        return f"<Instructions count={len(self)} bytes={self.size}>"

    def _repr_html_(self) -> str:
        from kernlens.model.notebook import listing

        return listing(self.offsets, self.texts)

    @property
    def table(self) -> Table:
        """The instructions with their kinds, and of messages the operation and the most bytes that it accesses in memory."""
        accesses = [kind.access for kind in self.kinds]
        columns: dict[str, Sequence[Cell]] = {
            "offset": self.offsets,
            "size": self.sizes,
            "opcode": self.opcodes,
            "text": self.texts,
            "kind": [kind.name for kind in self.kinds],
            "operation": [access.operation if access else None for access in accesses],
            "bytes": [access.size if access else None for access in accesses],
        }
        texts = ("opcode", "text", "kind", "operation")
        return Table(columns, {name: str if name in texts else int for name in columns})

    @property
    @abstractmethod
    def offsets(self) -> array[int]:
        """Each instruction's offset in bytes, ascending."""

    @property
    @abstractmethod
    def sizes(self) -> Sequence[int]:
        """Each instruction's size in bytes."""

    @property
    @abstractmethod
    def opcodes(self) -> Sequence[str]:
        """Each instruction's mnemonic."""

    @property
    @abstractmethod
    def texts(self) -> Sequence[str]:
        """Each instruction's assembly text, exactly as its disassembler prints it, spacing included."""

    @property
    @abstractmethod
    def kinds(self) -> Sequence[InstructionKind]:
        """The kind of each instruction in the instruction mix, and what a message accesses."""

    @property
    @abstractmethod
    def illegal(self) -> Sequence[int]:
        """The indexes of what is no instruction of the device, ascending."""

    @property
    def is_whole(self) -> bool:
        """False if some of the code was not decoded, and what follows may be wrong too."""
        return not self.illegal

    @property
    def warning(self) -> str | None:
        """The reason why they may not be what the code does, in one sentence; None if there is none. Bytes that are no
        instruction may be the beginning of one, whose end then reads as another."""
        count = len(self.illegal)
        if not count:
            return self.remark or None
        advice = f"; {self.remark}" if self.remark else ""
        if self.is_whole:
            return f"{self.disassembler or 'the disassembler'} does not decode {count:,} of {len(self):,}{advice}"
        return (
            f"{self.disassembler or 'the disassembler'} does not decode {count:,} of {len(self):,}: what follows one of them"
            f" may be decoded wrongly, and counts and shares may be wrong{advice}"
        )

    @property
    @abstractmethod
    def branches(self) -> Mapping[int, tuple[int, ...]]:
        """The offsets that branches and calls go to, each once, by their indexes; only of those that the code alone tells."""

    @property
    @abstractmethod
    def called(self) -> tuple[int, ...]:
        """The offsets that calls go to, ascending, each once: where the functions that stayed calls begin."""

    @property
    @abstractmethod
    def calls_by_address(self) -> bool:
        """True if a call goes to an address that the code alone does not tell."""

    @property
    @abstractmethod
    def stops(self) -> Sequence[int]:
        """The indexes of instructions that control never passes: ends of thread and unconditional returns."""

    @property
    @abstractmethod
    def routes(self) -> Mapping[int, Route] | None:
        """The ways of lanes from those instructions that do not just fall through, by index. None where their decoder does
        not tell where control goes."""

    @property
    @abstractmethod
    def effects(self) -> Effects | None:
        """The effects of each instruction on registers and control; None if the decoder does not say, and of a slice."""

    @cached_property
    def targets(self) -> tuple[int, ...]:
        """The offsets that branches go to, ascending, each once: where a listing has labels (``L96`` is offset 96)."""
        return tuple(sorted({offset for offsets in self.branches.values() for offset in offsets}))

    @property
    def size(self) -> int:
        """The number of bytes from the first instruction's start to the last one's end."""
        return self.offsets[-1] + self.sizes[-1] - self.offsets[0] if len(self) else 0

    def at(self, offset: int) -> Instruction | None:
        """Return the instruction that covers byte ``offset``, None if there is none."""
        index = bisect_right(self.offsets, offset) - 1
        if index < 0 or offset >= self.offsets[index] + self.sizes[index]:
            return None
        return self._make(index)

    @abstractmethod
    def _slice(self, chosen: range) -> Instructions:
        """Return the instructions with these indexes."""

    @abstractmethod
    def _make(self, index: int) -> Instruction:
        """Return the instruction with this index, which there is."""

"""Instructions of Intel's GPUs, as libiga64 decodes them.

The decoder (``native/decoder/record.h``) hands over one packed record per instruction. ``IntelInstructions`` keeps them
packed; an ``IntelInstruction`` is made only for an index that is asked for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, overload

from kernlens.dataclass import dataclass
from kernlens.model.effects import Effects, Route
from kernlens.model.flag_bits import indexes_of
from kernlens.model.hash_trailer import HashTrailer
from kernlens.model.instruction import Instruction, Instructions
from kernlens.model.instruction_kind import OTHER, InstructionKind
from kernlens.model.instruction_record import (
    FLAGS_AT,
    OPCODE_AT,
    PREDICATE_AT,
    RECORD_SIZE,
    SIZE_AT,
    InstructionRecord,
    message_lengths,
    read_operands,
    read_record,
    read_targets,
    read_values,
)
from kernlens.model.operand import Condition, Operand, Predicate, Swsb, operand_of

if TYPE_CHECKING:
    from kernlens.model.pipes import Pipes

_WORDS, _HALVES = RECORD_SIZE // 4, RECORD_SIZE // 2

ILLEGAL, COMPACTED, SEND, LABEL, END_OF_THREAD, PREDICATE_INVERTED, NO_MASK, ABSOLUTE_TARGET = (
    1 << bit for bit in range(8)
)
DESCRIPTOR_IMMEDIATE, DESCRIPTOR_REGISTER, EXTENDED_IMMEDIATE, EXTENDED_REGISTER, DESCRIPTOR_SCALAR, EXTENDED_SCALAR = (
    1 << bit for bit in range(6)
)
_NO_FUNCTION = 0xFFFF
_UNKNOWN = InstructionKind(OTHER)
#: What functions end with: before Xe, those that are called by address return by a jump.
_JUMPS = ("ret", "jmpi")
#: A branch, and what its first target is.
_JOINED_BY = {"goto": "join", "else": "endif"}

#: iga::SFID: the shared functions that messages go to, as the assembly calls them.
SHARED_FUNCTIONS = (
    "null", "ugml", "smpl", "gtwy", "dc2", "rc", "urb", "ts", "vme", "dcro",
    "dc0", "pixi", "dc1", "cre", "slm", "ugm", "btd", "rta", "tgm",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a send instruction. ``target`` is the shared function (``ugm``, ``slm``, ``dc1``, ...), None where
    a register chooses it; a descriptor is None where it comes from the register that ``descriptor_register`` or
    ``extended_register`` names: an address register, or bytes of s0 in messages of Xe3P (``s0.16``), whose own
    descriptor has 64 bits and is not told. An answer, the addresses and the data sent with them are counted in
    registers, None where a register says how many."""

    target: str | None
    descriptor: int | None
    extended_descriptor: int | None
    descriptor_register: str | None = None
    extended_register: str | None = None
    end_of_thread: bool = False
    answer_registers: int | None = None
    address_registers: int | None = None
    data_registers: int | None = None


@dataclass(frozen=True, slots=True)
class IntelInstruction(Instruction):
    """One instruction, as ``Instruction`` has it; ``size`` is 8 (compacted) or 16.

    ``opcode`` is the mnemonic without its function (``math``, not ``math.inv``; ``function`` is its number).
    ``execution_size`` counts channels, from ``channel_offset`` on; ``no_mask``: whatever the execution mask says. ``swsb``
    is the software scoreboard, None before Xe and where it says nothing.
    """

    execution_size: int
    channel_offset: int
    no_mask: bool
    predicate: Predicate | None
    condition: Condition | None
    function: int | None
    destination: Operand | None
    sources: tuple[Operand, ...]
    message: Message | None
    swsb: Swsb | None

    __repr__ = Instruction.__repr__

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            # Asked for what was not set yet: most questions are about the opcode and the text alone.
            if name not in _READ_LATER:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            for field, value in self._of.fields_of(self.index).items():
                object.__setattr__(self, field, value)
            return object.__getattribute__(self, name)


#: The fields of an instruction that are read when one of them is asked for.
_READ_LATER = frozenset(IntelInstruction.__dataclass_fields__) - {"index", "offset", "size", "opcode", "_of"}
_set_index, _set_offset, _set_size, _set_opcode, _set_of = (
    getattr(Instruction, name).__set__ for name in ("index", "offset", "size", "opcode", "_of")
)


class IntelInstructions(Instructions):
    """A kernel's instructions as packed records. Their texts are exactly what ``iga64 -d`` prints."""

    def __init__(
        self,
        records: bytes | memoryview,
        mnemonics: Sequence[str],
        render: Callable[[], list[str]],
        *,
        classify: Callable[[memoryview], list[InstructionKind]] = lambda records: (
            [_UNKNOWN] * (len(records) // RECORD_SIZE)
        ),
        find_effects: Callable[[], Effects | None] = lambda: None,
        find_routes: Callable[[], Mapping[int, Route]] | None = None,
        find_pipes: Callable[[], Pipes | None] = lambda: None,
        find_regions: Callable[[], bytes | None] = lambda: None,
        trailing: int = 0,
        trailer: HashTrailer | None = None,
        disassembler: str | None = None,
    ) -> None:
        """Take packed records. ``records`` are packed as ``model.instruction_record`` says; ``mnemonics`` are indexed by
        their opcode numbers; ``render`` makes all texts and is called once at most; ``classify`` says what records do, as far
        as their decoder knows it; ``find_effects`` says what they do to registers, ``find_routes`` where control goes, which
        the effects tell too, ``find_pipes`` where they run in order, and ``find_regions`` how their operands lie in
        registers, None where the decoder does not know. ``disassembler`` is what prints the texts: ``libiga64 2.40.14+0``."""
        self.disassembler = disassembler
        self._records = memoryview(records)
        if len(self._records) % RECORD_SIZE:
            raise ValueError(f"{len(self._records)} bytes are not a whole number of {RECORD_SIZE}-byte records")
        self._mnemonics = mnemonics
        self._render = render
        self._classify = classify
        self._find_effects = find_effects
        self._find_routes = find_routes
        self._find_pipes = find_pipes
        self._find_regions = find_regions
        self.trailing, self.trailer = trailing, trailer

    def __len__(self) -> int:
        return len(self._records) // RECORD_SIZE

    @overload
    def __getitem__(self, index: int) -> IntelInstruction: ...
    @overload
    def __getitem__(self, index: slice) -> IntelInstructions: ...
    def __getitem__(self, index: int | slice) -> IntelInstruction | IntelInstructions:
        if isinstance(index, slice):
            return self._slice(range(len(self))[index])
        return self._make(self._row(index))

    def __iter__(self) -> Iterator[IntelInstruction]:
        return map(self._make, range(len(self)))

    @property
    def records(self) -> memoryview:
        """The packed records."""
        return self._records

    @cached_property
    def offsets(self) -> array[int]:
        """Each instruction's offset in bytes, ascending."""
        return array("I", self._records.cast("I")[::_WORDS].tolist())

    @cached_property
    def sizes(self) -> bytes:
        """Each instruction's size in bytes."""
        return bytes(self._records[SIZE_AT::RECORD_SIZE])

    @cached_property
    def flags(self) -> bytes:
        """Each instruction's flags: ILLEGAL, COMPACTED, SEND, ..."""
        return bytes(self._records[FLAGS_AT::RECORD_SIZE])

    @property
    def compacted(self) -> list[bool]:
        """True for each instruction that is compacted."""
        return [bool(flags & COMPACTED) for flags in self.flags]

    @cached_property
    def opcodes(self) -> list[str]:
        """Each instruction's mnemonic."""
        mnemonics = self._mnemonics
        return [mnemonics[number] for number in self._opcode_numbers]

    @cached_property
    def _opcode_numbers(self) -> list[int]:
        return self._records.cast("H")[OPCODE_AT // 2 :: _HALVES].tolist()

    @cached_property
    def texts(self) -> list[str]:
        """Each instruction's assembly text, spacing included."""
        return self._render()

    @cached_property
    def kinds(self) -> list[InstructionKind]:
        """The kind of each instruction in the instruction mix, and what a message accesses."""
        return self._classify(self._records)

    @cached_property
    def effects(self) -> Effects | None:
        """The effects of each instruction on registers and control; None if the decoder does not say, and of a slice."""
        return self._find_effects()

    @cached_property
    def routes(self) -> Mapping[int, Route] | None:
        """The ways of lanes from those instructions that do not just fall through, by index; None where they are not known."""
        if self._find_routes is not None:
            return self._find_routes()
        return self.effects.routes if self.effects else None

    @cached_property
    def pipes(self) -> Pipes | None:
        """The in-order pipe in which each instruction runs, and the pipes whose instructions it waits for; None before
        Xe, where the decoder does not say, and of a slice."""
        return self._find_pipes()

    @cached_property
    def regions(self) -> bytes | None:
        """The packed regions of each instruction's operands, ``REGIONS_SIZE`` bytes each; None where the decoder does not
        say, and of a slice."""
        return self._find_regions()

    @property
    def is_whole(self) -> bool:
        """True: an instruction says its size in a bit of its own, so that one that is none is not read into the next."""
        return True

    @cached_property
    def illegal(self) -> list[int]:
        """The indexes of what is no instruction of the device, ascending."""
        return indexes_of(self.flags, ILLEGAL)

    @cached_property
    def branches(self) -> dict[int, tuple[int, ...]]:
        """The offsets that branches and calls go to, each once, by their indexes."""
        labels = indexes_of(self.flags, LABEL)
        return dict(zip(labels, read_targets(self._records, labels), strict=True))

    @cached_property
    def called(self) -> tuple[int, ...]:
        """The offsets that calls go to, ascending, each once."""
        offsets: set[int] = set()
        for index in self._with_mnemonic("call"):
            offsets.update(read_values(self._records, index)[1])
        return tuple(sorted(offsets))

    @cached_property
    def calls_by_address(self) -> bool:
        """True if a call goes to an address that the code alone does not tell."""
        calls = (index for name in ("call", "calla") for index in self._with_mnemonic(name))
        return any(self.flags[index] & (LABEL | ABSOLUTE_TARGET) != LABEL for index in calls)

    def set_up_end(self, start: int) -> int:
        """Return the number of instructions up to the end of the kernel's set-up: the first that writes the control
        register at or behind offset ``start``, itself included, which sets how floats are rounded. If control may leave
        the straight line before there is one, those before ``start``."""
        first = bisect_left(self.offsets, start)
        for index in range(first, len(self)):
            if self.flags[index] & (LABEL | END_OF_THREAD):
                break
            written = operand_of(read_operands(self._records, index, 1)[0], 0)
            if written is not None and written.file == "cr":
                return index + 1
        return first

    @cached_property
    def stops(self) -> list[int]:
        """The indexes of instructions that control never passes."""
        indexes = indexes_of(self.flags, END_OF_THREAD)
        if returns := self._with_mnemonic("ret"):
            predicates = bytes(self._records[PREDICATE_AT::RECORD_SIZE])
            indexes += [index for index in returns if not predicates[index]]
        return sorted(indexes)

    def ends_thread(self, count: int, nops: int) -> bool:
        """Return whether the first ``count`` instructions end as compilers end code: with one that control never passes;
        False if there are fewer. Behind the end of a thread, but behind no other end, up to ``nops`` ``nop`` may stand."""
        if count > len(self):
            return False
        last = count - 1
        while last >= 0 and count - 1 - last < nops and self._mnemonics[self._opcode_numbers[last]] == "nop":
            last -= 1
        if last < 0:
            return False
        if self.flags[last] & END_OF_THREAD:
            return True
        is_jump = self._mnemonics[self._opcode_numbers[last]] in _JUMPS
        return last == count - 1 and is_jump and not self._records[last * RECORD_SIZE + PREDICATE_AT]

    @cached_property
    def strays(self) -> list[tuple[int, int]]:
        """The branches whose lanes nothing joins where they lead to, by their indexes, and where that is: a ``goto``
        leads to a ``join``, an ``else`` to an ``endif``."""
        offsets, numbers = self.offsets, self._opcode_numbers
        strays = []
        for index, targets in self.branches.items():
            expected = _JOINED_BY.get(self._mnemonics[numbers[index]])
            if expected is not None and targets:
                at = bisect_left(offsets, targets[0])
                if at == len(offsets) or offsets[at] != targets[0] or self._mnemonics[numbers[at]] != expected:
                    strays.append((index, targets[0]))
        return strays

    def _with_mnemonic(self, mnemonic: str) -> list[int]:
        if mnemonic not in self._mnemonics:
            return []
        place = self._mnemonics.index(mnemonic)
        numbers = self._opcode_numbers
        return list(compress(range(len(numbers)), map(place.__eq__, numbers))) if place in numbers else []

    def _slice(self, chosen: range) -> IntelInstructions:
        if chosen.step == 1:
            records = self._records[chosen.start * RECORD_SIZE : chosen.stop * RECORD_SIZE]
        else:
            size = RECORD_SIZE
            records = memoryview(b"".join(self._records[number * size : (number + 1) * size] for number in chosen))
        render = lambda: [self.texts[number] for number in chosen]  # noqa: E731
        return IntelInstructions(records, self._mnemonics, render, classify=self._classify)

    def _make(self, index: int) -> IntelInstruction:
        instruction = object.__new__(IntelInstruction)
        _set_index(instruction, index)
        _set_offset(instruction, self.offsets[index])
        _set_size(instruction, self.sizes[index])
        _set_opcode(instruction, self._mnemonics[self._opcode_numbers[index]])
        _set_of(instruction, self)
        return instruction

    def fields_of(self, index: int) -> dict[str, object]:
        """Return the fields of an instruction that are read when they are asked for."""
        record = read_record(self._records, index)
        immediate, targets = read_values(self._records, index)
        fields = read_operands(self._records, index, 1 + record.source_count)
        destination, *sources = (operand_of(operand, immediate) for operand in fields)
        return {
            "execution_size": record.execution_size,
            "channel_offset": record.channel_offset * 4,
            "no_mask": bool(record.flags & NO_MASK),
            "predicate": Predicate.read(
                record.predicate, record.flag_register, bool(record.flags & PREDICATE_INVERTED)
            ),
            "condition": Condition.read(record.condition, record.flag_register),
            "function": None if record.function == _NO_FUNCTION else record.function,
            "destination": destination,
            "sources": tuple(source for source in sources if source is not None),
            "targets": targets,
            "message": _message(record) if record.flags & SEND else None,
            "swsb": Swsb.unpack(record.swsb),
            "illegal": bool(record.flags & ILLEGAL),
        }


def packed_of(instructions: Instructions) -> IntelInstructions | None:
    """Return the instructions if they are packed records, which tell more of each: types, scoreboards, messages; else None."""
    return instructions if isinstance(instructions, IntelInstructions) else None


def _register(value: int, is_address: int, is_scalar: int) -> str | None:
    if is_scalar:
        return f"s0.{value}"
    return f"a{value >> 8}.{value & 0xFF}" if is_address else None


def _message(record: InstructionRecord) -> Message:
    how, descriptor, extended = record.descriptor_flags, record.descriptor, record.extended_descriptor
    answer, addresses, data = message_lengths(record.lengths)
    return Message(
        target=SHARED_FUNCTIONS[record.sfid] if record.sfid < len(SHARED_FUNCTIONS) else None,
        descriptor=descriptor if how & DESCRIPTOR_IMMEDIATE else None,
        extended_descriptor=extended if how & EXTENDED_IMMEDIATE else None,
        descriptor_register=_register(descriptor, how & DESCRIPTOR_REGISTER, how & DESCRIPTOR_SCALAR),
        extended_register=_register(extended, how & EXTENDED_REGISTER, how & EXTENDED_SCALAR),
        end_of_thread=bool(record.flags & END_OF_THREAD),
        answer_registers=answer,
        address_registers=addresses,
        data_registers=data,
    )

"""A kernel: its machine code, what it needs, and the parts that are read only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from kernlens.dataclass import dataclass, field, in_short
from kernlens.errors import KernlensError, NearestNames, UnsupportedError
from kernlens.model.figures import figure_words
from kernlens.model.kernel_launches import NOTHING_KNOWN, KernelLaunches
from kernlens.model.kernel_resources import KernelResources

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour
    from kernlens.model.code_function import CodeFunction
    from kernlens.model.compiler import Compiler
    from kernlens.model.hash_trailer import HashTrailer
    from kernlens.model.instruction import Instructions
    from kernlens.model.launch_limits import LaunchLimits
    from kernlens.model.line_table import LineTable
    from kernlens.model.loop_nest import Loops
    from kernlens.model.pressure import Pressure
    from kernlens.model.register_links import RegisterLinks, RegisterRows
    from kernlens.model.source_map import SourceMap
    from kernlens.model.spilled_value import SpilledValue
    from kernlens.model.trips import TripWeights
    from kernlens.model.variable import StatedRange, Variable
    from kernlens.model.waits import Waits

_OF_TABLES = frozenset({"line_table", "line_table_reason", "table_as_held"})


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One argument as the binary describes it; a field is None where the binary does not say."""

    index: int
    name: str | None = None
    type_name: str | None = None
    address_space: str | None = None
    access: str | None = None
    type_qualifier: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ReportedKernel:
    """A kernel as a driver reports it.

    ``binary`` is the machine code with its padding, from before relocation; ``code`` the same without padding. Each is
    None where the driver does not give it, and ``reason`` says why. ``origin`` names the query that gave ``binary``.
    """

    name: str
    binary: bytes | None = field(default=None, repr=False)
    code: bytes | None = field(default=None, repr=False)
    origin: str | None = None
    resources: KernelResources = field(default_factory=KernelResources)
    arguments: tuple[KernelArgument, ...] = ()
    reason: str | None = None


class KernelParts(Protocol):
    """The source of a kernel's parts; the kernel asks for each of them once at most, on first use."""

    def code(self) -> memoryview: ...

    def heap(self) -> memoryview: ...

    def resources(self) -> KernelResources: ...

    def arguments(self) -> tuple[KernelArgument, ...]: ...

    def launch_limits(self, kernel: Kernel) -> LaunchLimits: ...

    def compiler(self) -> Compiler: ...

    def instructions(self) -> Instructions: ...

    def line_table(self) -> LineTable | None: ...

    def line_table_reason(self, kernel: Kernel) -> str | None: ...

    def code_change(self, kernel: Kernel) -> str | None: ...

    def source_map(self, kernel: Kernel) -> SourceMap | None: ...

    def function_symbols(self) -> Mapping[int, str | None] | None: ...

    def is_decoded_with_others(self) -> bool: ...

    def lines_need_instructions(self) -> bool: ...

    def instruction_count(self, kernel: Kernel) -> int: ...

    def trailer(self) -> HashTrailer | None: ...

    def operations(self, kernel: Kernel) -> bytes: ...

    def advice_reason(self) -> str | None: ...

    def is_entry(self) -> bool: ...

    def may_call(self) -> bool:
        """Return False if it is known, without decoding the code, that it calls nothing by a place in the code."""

    def may_call_by_address(self) -> bool:
        """Return False if it is known, without decoding the code, that it calls nothing at all."""

    def functions(self, kernel: Kernel) -> tuple[CodeFunction, ...]: ...

    def costs(self, kernel: Kernel) -> Mapping[str, int]: ...

    def pressure(self, kernel: Kernel) -> Pressure | None: ...

    def loops(self, kernel: Kernel) -> Loops | None: ...

    def spilled_values(self, kernel: Kernel) -> tuple[SpilledValue, ...] | None: ...

    def waits(self, kernel: Kernel) -> Waits | None: ...

    def waits_reason(self, kernel: Kernel) -> str | None: ...

    def simulates_waits(self) -> bool: ...

    def register_rows(self, kernel: Kernel) -> dict[int, RegisterRows]: ...

    def register_links(self, kernel: Kernel, index: int) -> RegisterLinks: ...

    def variables_reason(self, kernel: Kernel) -> str | None: ...

    def variable_ranges(self, kernel: Kernel, variable: Variable) -> tuple[StatedRange, ...]: ...

    def page(self, kernel: Kernel) -> str | None:
        """Return the kernel as one HTML page with a viewer, of a size that notebooks may keep; None if there is none."""


class Kernel(NearestNames):
    """An entry point, as a plain class: a frozen dataclass takes longer to make, and fat binaries hold thousands."""

    #: How often its instructions run, in a view for which trips of loops are stated.
    trip_weights: TripWeights | None = None

    def __init__(self, name: str, parts: KernelParts, launches: KernelLaunches = NOTHING_KNOWN) -> None:
        self.name, self._parts, self._launches = name, parts, launches
        self.launch_shared_bytes, self.launch_time = launches.shared_bytes, launches.launch_time

    def __repr__(self) -> str:
        try:
            words = ", ".join(filter(None, (figure_words(self), f"{self.code_size:,} bytes of code")))
        except KernlensError as error:  # A damaged kernel must have a name all the same.
            words = str(error)
        return in_short(f"<Kernel {self.name!r}: {words}>")

    def _repr_html_(self) -> str:
        from kernlens.model.notebook import FEW, SHOWN, kernel_page, listing

        try:
            instructions, source_map = self.instructions, self.source_map
            places = map(source_map.place, range(len(instructions))) if source_map else ()
            page = self._parts.page(self) or ""
            lines = listing(
                instructions.offsets,
                instructions.texts,
                [place.line if place else None for place in places],
                most=FEW if page else SHOWN,
            )
            return kernel_page(self.name, figure_words(self), len(instructions), lines, page)
        except KernlensError as error:
            return kernel_page(self.name, str(error))

    def unread(self) -> Kernel:
        """Return the same kernel with nothing read but its line table: who drops it drops what is read then."""
        again = Kernel(self.name, self._parts, self._launches)
        again.__dict__ |= {key: value for key, value in vars(self).items() if key in _OF_TABLES}
        return again

    def launched(self, launches: KernelLaunches) -> Kernel:
        """Return the same kernel, of whose launches this is known."""
        return Kernel(self.name, self._parts, launches)

    @property
    def behaviours(self) -> tuple[Behaviour, ...]:
        """Its launches as an interpreter counted them; none where nothing was observed."""
        return self._launches.behaviours

    @cached_property
    def code(self) -> memoryview:
        """The machine code, without padding."""
        return self._parts.code()

    @cached_property
    def heap(self) -> memoryview:
        """The machine code as the driver loads it: with padding."""
        return self._parts.heap()

    @property
    def code_size(self) -> int:
        """Bytes of machine code; padding and ``trailer`` are no code."""
        return len(self.code) - (self.trailer.size if self.trailer else 0)

    @cached_property
    def trailer(self) -> HashTrailer | None:
        """The hash of what was compiled, which Intel's newer compiler leaves in ``code``; None if it left none."""
        return self._parts.trailer()

    @cached_property
    def resources(self) -> KernelResources:
        """The resources that it takes of the machine, as its binary states them."""
        return self._parts.resources()

    @cached_property
    def launch_limits(self) -> LaunchLimits:
        """The limits of its launches on the device that it is for: the largest work-group, and whether drivers create it."""
        return self._parts.launch_limits(self)

    @cached_property
    def arguments(self) -> tuple[KernelArgument, ...]:
        """Its arguments by number; empty where the binary does not describe them."""
        return self._parts.arguments()

    @property
    def is_entry(self) -> bool:
        """False of a function whose code is apart from that of the kernels that call it."""
        return self._parts.is_entry()

    @property
    def compiler(self) -> Compiler:
        """The compiler that made it, as far as it is known: its disassembler prints the instructions."""
        return self._parts.compiler()

    @cached_property
    def instructions(self) -> Instructions:
        """The decoded machine code. Raises UnsupportedError if no installed libiga64 knows the device."""
        return self._parts.instructions()

    @property
    def whole_instructions(self) -> Instructions:
        """The decoded machine code, for who counts, compares or judges it. Raises UnsupportedError like ``instructions``, and
        if some of the code was not decoded: what follows then may be wrong too."""
        if not self.instructions.is_whole:
            raise UnsupportedError(f"{self.name}: {self.instructions.warning}")
        return self.instructions

    @property
    def is_decoded_with_others(self) -> bool:
        """True if one call decodes the code of many such kernels, and what repeats in them only once."""
        return self._parts.is_decoded_with_others()

    @property
    def lines_need_instructions(self) -> bool:
        """True if the code must be decoded to tell whether the line table is the code's."""
        return self._parts.lines_need_instructions()

    @cached_property
    def instruction_count(self) -> int:
        """The number of its instructions; they are not decoded where the machine code tells their sizes."""
        return self._parts.instruction_count(self)

    @property
    def operations(self) -> bytes:
        """A byte for each of its instructions, which is the same for the same operation: what similar code is found by."""
        return self._parts.operations(self)

    @cached_property
    def line_table(self) -> LineTable | None:
        """The kernel's line table; None if there is none with lines of this code, and then ``line_table_reason`` says why."""
        return None if self.line_table_reason else self.table_as_held

    @cached_property
    def line_table_reason(self) -> str | None:
        """The reason why there is no line table, and the flag that would give one, or why its lines are not the code's; None
        if there is one."""
        return self._parts.line_table_reason(self)

    @cached_property
    def table_as_held(self) -> LineTable | None:
        """The line table as the debug data holds it, though the code may be another by now: ``line_table`` is the one to
        show. Only what judges it reads this."""
        return self._parts.line_table()

    @cached_property
    def code_change(self) -> str | None:
        """The sign that the code was changed after the compiler had described it, None if there is none: then neither
        lines nor functions are taken from its symbols and debug data."""
        return self._parts.code_change(self)

    @cached_property
    def function_symbols(self) -> Mapping[int, str | None] | None:
        """The functions in its code that stayed calls, by their symbols: offset -> name, None for code without a name.
        None where the binary has no symbols of functions in kernels."""
        return self._parts.function_symbols()

    @cached_property
    def functions(self) -> tuple[CodeFunction, ...]:
        """Its own code and that of the functions that stayed calls, by their symbols and by the calls in its code; empty if
        it holds none. Raises UnsupportedError like ``instructions``."""
        return self._parts.functions(self) if self._may_hold_functions else ()

    @cached_property
    def _may_hold_functions(self) -> bool:
        """False for most kernels, which call nothing: neither instructions nor line tables need be read for functions."""
        return bool(self.function_symbols) or self._parts.may_call()

    @cached_property
    def calls_by_address(self) -> bool:
        """True if it calls code by an address, perhaps outside its own code. Raises UnsupportedError like ``instructions``."""
        return self._parts.may_call_by_address() and self.instructions.calls_by_address

    @cached_property
    def line_warning(self) -> str | None:
        """The known fault of the line table, in one sentence; None if none is, or no installed libiga64 knows the device."""
        if not self._may_hold_functions:
            return None
        try:
            return self.source_map.warning if self.source_map else None
        except UnsupportedError:
            return None

    @cached_property
    def source_map(self) -> SourceMap | None:
        """The map from instructions to source places and back; None without a line table."""
        return self._parts.source_map(self)

    @cached_property
    def costs(self) -> Mapping[str, int]:
        """The costs of its instructions together, by the keys of ``figures.COSTS``, and the number of ``instructions``;
        each counts once, however often it runs. Raises UnsupportedError like ``whole_instructions``."""
        _ = self.whole_instructions
        return self._parts.costs(self)

    @cached_property
    def pressure(self) -> Pressure | None:
        """The number of its registers that it needs at once, instruction by instruction; None where the decoder does
        not tell what instructions do to registers, and of code whose branches are too many to follow. Raises
        UnsupportedError like ``instructions``."""
        return self._parts.pressure(self)

    @cached_property
    def loops(self) -> Loops | None:
        """The loops of its code; None where the decoder does not tell where control goes, and of code whose loops are too
        entangled to follow. Raises UnsupportedError like ``instructions``."""
        return self._parts.loops(self)

    @cached_property
    def waits(self) -> Waits | None:
        """The cycles in which its instructions issue and their waits for each other, as ``Waits.source`` estimates them for
        one thread alone and loops that run once; None where they are not known, and then ``waits_reason`` says why. Raises
        UnsupportedError like ``instructions``."""
        return None if self.waits_reason else self._parts.waits(self)

    @cached_property
    def waits_reason(self) -> str | None:
        """The reason why ``waits`` are not known; None if they are."""
        return self._parts.waits_reason(self)

    @property
    def simulates_waits(self) -> bool:
        """True if ``waits`` take a process of another program, so that only those get them who ask for them."""
        return self._parts.simulates_waits()

    @property
    def advice_reason(self) -> str | None:
        """The reason why there is no advice on such code; None if there is."""
        return self._parts.advice_reason()

    @cached_property
    def spilled_values(self) -> tuple[SpilledValue, ...] | None:
        """The values that did not fit into its registers, by their names in the stages of its compile; None without these."""
        return self._parts.spilled_values(self)

    @cached_property
    def register_rows(self) -> dict[int, RegisterRows]:
        """The instructions that write and read each general register, by its number. It is empty where ``pressure`` is None.
        Raises UnsupportedError like ``instructions``."""
        return self._parts.register_rows(self)

    def register_links(self, index: int) -> RegisterLinks:
        """Return where instruction ``index`` may have its registers' values from, and where those that it writes may
        go. It is empty where ``pressure`` is None. Raises UnsupportedError like ``instructions``, IndexError if there
        is no such one."""
        return self._parts.register_links(self, index)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables and arguments, those of inlined functions too, in the order of the debug data; empty if that names
        none, and then ``variables_reason`` says why."""
        return (self.line_table.variables or ()) if self.line_table else ()

    @property
    def variables_reason(self) -> str | None:
        """The reason why no variables are known, and what would make them known; None if some are."""
        return None if self.variables else self._parts.variables_reason(self)

    def variable_ranges(self, variable: Variable) -> tuple[StatedRange, ...]:
        """Return where a variable of ``variables`` is, range by range of the code, cut where the code overwrites the place.
        Raises UnsupportedError like ``instructions``."""
        return self._parts.variable_ranges(self, variable)

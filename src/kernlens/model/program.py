"""A program: what can be read out of a build's binary."""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

from kernlens.dataclass import dataclass, field, in_short
from kernlens.errors import AmbiguousKernelError, NearestNames, UnknownKernelError
from kernlens.model.binary import EMPTY, Relocation, Symbol
from kernlens.model.build import Build, Source
from kernlens.model.columns import Table, Tabular
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.source_path import NAMES_OF_THE_NAMELESS, is_nameless

if TYPE_CHECKING:
    from kernlens.model.device import Device, DeviceId
    from kernlens.model.kernel import Kernel
    from kernlens.model.lane_code import LaneCode
    from kernlens.model.line_choice import LineChoice
    from kernlens.model.spirv import SpirvModule
    from kernlens.model.stage_map import ProgramLine, StageMap
    from kernlens.model.stage_text import StageTexts
    from kernlens.model.sycl_image import SyclImage

#: What ``get`` returns for a name that is none.
Other = TypeVar("Other")


class Kernels(Tabular):
    """A program's kernels: ``for kernel in program.kernels`` gives each, ``program.kernels["blur"]`` the one of this name;
    a name that is none raises UnknownKernelError, with the nearest names.

    It is a view of the mapping that it is given, which costs the same however many kernels that holds. ``find`` returns
    those of its names that another spelling means, as C++ has it, or a pattern: ``kernels[...]`` takes these too, while
    ``in``, ``get`` and ``keys()`` are about the names in the binary. A kernel stands for its own name, so that what
    takes names takes what iteration gives.
    """

    def __init__(
        self, kernels: Mapping[str, Kernel], find: Callable[[str, Collection[str]], Sequence[str]] | None = None
    ) -> None:
        self._kernels = kernels
        self._find = find

    def __getitem__(self, kernel: str | Kernel) -> Kernel:
        name = _name_of(kernel)
        try:
            return self._kernels[name]
        except KeyError:
            meant = self._find(name, self._kernels) if self._find is not None and isinstance(name, str) else ()
            if len(meant) > 1:
                raise AmbiguousKernelError(name, meant) from None
            if not meant:
                error = UnknownKernelError(name, self._kernels)
                error.lists_all = "program.kernels.keys()"
                raise error from None
            return self._kernels[meant[0]]

    def __contains__(self, name: object) -> bool:
        return _name_of(name) in self._kernels

    @overload
    def get(self, name: str, default: None = None) -> Kernel | None: ...

    @overload
    def get(self, name: str, default: Other) -> Kernel | Other: ...

    def get(self, name: str, default: object = None) -> object:
        """Return the kernel of this name in the binary; ``default`` if there is none."""
        return self._kernels.get(name, default)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())

    def keys(self) -> KeysView[str]:
        """Return the names in the binary, in its order."""
        return self._kernels.keys()

    def values(self) -> ValuesView[Kernel]:
        """Return the kernels, as iteration gives them."""
        return self._kernels.values()

    def items(self) -> ItemsView[str, Kernel]:
        """Return each kernel behind its name."""
        return self._kernels.items()

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        names = ", ".join([*islice(self.keys(), 8), *(["..."] if len(self) > 8 else [])])
        return in_short(f"<Kernels count={len(self)}{': ' if names else ''}{names}>")

    @property
    def table(self) -> Table:
        """The kernels with their stated figures, their costs, None where nothing here decodes their code, and whether each
        has source lines. Raises FormatError if one is damaged."""
        from kernlens.model.figures import COSTS, costs_of, figures_of, shown_figures

        figures = shown_figures(self.values(), has_details=True)
        costs = ("instructions", *(cost.key for cost in COSTS))
        keys = (*(figure.key for figure in figures), *costs)
        rows = (
            (
                name,
                *figures_of(kernel, figures).values(),
                *map(costs_of(kernel).get, costs),
                kernel.line_table_reason is None,
            )
            for name, kernel in self.items()
        )
        return Table.of_rows({"kernel": str, **dict.fromkeys(keys, int), "lines": bool}, rows)

    def _repr_html_(self) -> str:
        from kernlens.model.notebook import kernel_table

        return kernel_table(self._kernels)


def _name_of(name: Any) -> Any:
    """Return the name of a kernel, and of anything else itself."""
    return name if isinstance(name, str) else getattr(name, "name", name)


def _no_stages() -> StageTexts:
    from kernlens.model.stage_text import NoStages

    return NoStages()


@dataclass(frozen=True, eq=False)
class Program(NearestNames):
    """All that can be read out of a build's binary for one device.

    ``name`` is unique within its file; ``format`` is a kind of ``kernlens.model.containers``, or ``stages``, of which only the
    snapshots are known; ``binary`` is the device binary itself, empty when absent. ``format_version`` is the version of a zebin
    as its compiler wrote it, or the LLVM that wrote bitcode, None of other formats.
    ``build`` is the build that it came from, with its options, log and snapshots, as far as that is known: of a plain file
    only what its containers hold.
    ``find_sources`` looks source text up on first use, ``find_stage_maps`` the source maps of the build's snapshots,
    ``find_stage_texts`` their texts. ``image`` is what the descriptor in a SYCL host says of the program; None elsewhere.
    """

    name: str
    format: str
    kernels: Kernels
    build: Build = field(default=Build(""), repr=False)
    device: Device | None = None
    device_id: DeviceId | None = None
    format_version: str | None = field(default=None, repr=False)
    image: SyclImage | None = field(default=None, repr=False)
    binary: memoryview = field(default=EMPTY, repr=False)
    find_symbols: Callable[[], tuple[Symbol, ...]] = field(default=tuple, repr=False)
    find_relocations: Callable[[], tuple[Relocation, ...]] = field(default=tuple, repr=False)
    find_code_order: Callable[[], tuple[str, ...]] | None = field(default=None, repr=False)
    find_spirv_module: Callable[[], SpirvModule | None] = field(default=lambda: None, repr=False)
    find_lane_code: Callable[[str], LaneCode | None] = field(default=lambda kernel: None, repr=False)
    find_data: Callable[[], Mapping[str, bytes] | None] = field(default=lambda: None, repr=False)
    find_sources: Callable[[], tuple[Source, ...]] = field(default=tuple, repr=False)
    find_stage_maps: Callable[[Program], tuple[StageMap, ...]] = field(default=lambda program: (), repr=False)
    find_stage_texts: Callable[[], StageTexts] = field(default_factory=lambda: _no_stages, repr=False)

    def __repr__(self) -> str:
        return in_short(
            f"<Program {self.name!r} format={self.format} device={self.device} kernels={len(self.kernels)}>"
        )

    def is_for(self, device: Device) -> bool:
        """Return whether the program is for ``device``, whatever its stepping, or does not say what it is for."""
        return self.device is None or self.device.name == device.name

    @property
    def entry_kernels(self) -> dict[str, Kernel]:
        """The kernels by name, without functions, and the pseudo kernel that holds the code of functions."""
        return {name: kernel for name, kernel in self.kernels.items() if name != PSEUDO_KERNEL and kernel.is_entry}

    @property
    def listed_kernels(self) -> dict[str, Kernel]:
        """The kernels by name, and the pseudo kernel if it holds the code of functions."""
        pseudo = self.kernels.get(PSEUDO_KERNEL)
        return dict(self.kernels) if pseudo is not None and pseudo.function_symbols else self.entry_kernels

    @cached_property
    def spirv(self) -> memoryview:
        """The SPIR-V module that it was made from; empty if it is not at hand."""
        return memoryview(self.build.spirv)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The binary's symbols, in its order; of SPIR-V its entry points, exports and imports."""
        return self.find_symbols()

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The sites that the driver fills in when it loads the binary."""
        return self.find_relocations()

    @cached_property
    def data(self) -> Mapping[str, bytes] | None:
        """The initial contents of constants and variables, by the binary's section; None of a format whose data is not read.
        Raises FormatError if the binary is damaged."""
        return self.find_data()

    @cached_property
    def code_order(self) -> tuple[str, ...]:
        """The names of all pieces of code, kernels and functions' pseudo kernel, as the driver numbers them; the order
        of ``kernels`` if the file has no other."""
        return tuple(self.kernels.keys()) if self.find_code_order is None else self.find_code_order()

    @cached_property
    def spirv_module(self) -> SpirvModule | None:
        """The content of the SPIR-V; None if there is none. Raises FormatError if it is damaged."""
        return self.find_spirv_module()

    @property
    def lost_kernels(self) -> tuple[str, ...]:
        """The kernels in the SPIR-V of a binary that has no code at all; none of any other."""
        if self.format == "spirv" or self.kernels or self.spirv_module is None:
            return ()
        return tuple(dict.fromkeys(entry.name for entry in self.spirv_module.entry_points))

    @cached_property
    def _sources(self) -> tuple[Source, ...]:
        return self.find_sources()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts of the source files that the line tables name, as far as they were found."""
        return tuple(source for source in self._sources if not source.unread)

    @cached_property
    def source_lines(self) -> dict[str, list[str]]:
        """The lines of each source whose text is known, by its path."""
        return {source.path: source.text.split("\n") for source in self.sources}

    @property
    def unread_sources(self) -> tuple[Source, ...]:
        """Files that line tables name, and that were not read: ``unread`` says why, and what would allow it."""
        return tuple(source for source in self._sources if source.unread)

    @cached_property
    def nameless_source(self) -> Source | None:
        """The program's own source, under the stand-in that line tables have for it as it came without a name; None if they
        name none such. Its text is empty where it was not kept."""
        known = next((source for source in self.sources if is_nameless(source.path)), None)
        if known is not None:
            return known
        tables = (kernel.line_table for kernel in self.kernels.values())
        paths = (table.files[number].path for table in tables if table for number in sorted(set(table.files_of)))
        return next((Source(path, "") for path in paths if is_nameless(path)), None)

    def meant_line(self, choice: LineChoice | None) -> LineChoice | None:
        """Return a user's choice of a line as it is meant in this program: its own source may have no name in line tables, and
        is called by the program's name and by that of a file with the same text then."""
        own = self.nameless_source if choice is not None and choice.path is not None else None
        if choice is None or own is None:
            return choice
        names = (*NAMES_OF_THE_NAMELESS, self.name, f"{self.name}.cl", self.build.path, self.build.name)
        return choice.in_source(own.path, names, own.text)

    @cached_property
    def stage_maps(self) -> tuple[StageMap, ...]:
        """The source map of each stage that has one, in pipeline order; the machine code's come last."""
        return self.find_stage_maps(self)

    def line(self, line: int, path: str | None = None) -> ProgramLine:
        """Return one source line, followed through all stages: ``program.line(42).stages``. ``path`` is a file's path
        or the end of it; None: of any file."""
        from kernlens.model.line_choice import LineChoice
        from kernlens.model.stage_map import ProgramLine

        choice = self.meant_line(LineChoice(path, line))
        assert choice is not None
        return ProgramLine(choice, self.stage_maps)

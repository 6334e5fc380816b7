"""Linkable units: what a module exports, what it imports, and where it uses its imports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum

from kernlens.dataclass import dataclass, field
from kernlens.model.device import Device
from kernlens.model.source_map import SourcePlace
from kernlens.model.spirv import SpecConstant

#: Flags that make the compiler export symbols, with the spellings that it takes
#: (compute-runtime, MODULE_SYMBOL_SUPPORT.md). ``-cl-take-global-address`` is known to work with NEO 22.43.
EXPORT_FUNCTIONS = ("-library-compilation", "-ze-library-compilation")
EXPORT_VARIABLES = ("-ze-take-global-address", "-cl-take-global-address")


class SymbolKind(StrEnum):
    """The kind of thing that a name stands for; ``unknown`` where the binary does not say."""

    FUNCTION = "function"
    VARIABLE = "variable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ModuleSymbol:
    """A name that a module exports or imports.

    ``type_name`` reads like ``float(float, int)``; only SPIR-V holds types. ``size`` is that of a variable or function in
    bytes, ``address_space`` global or constant; each is None if the binary does not say. ``is_internal`` marks symbols
    that the binary exports although the source does not offer them: string constants, static variables, and those that
    the compiler adds. ``call_type`` is a function's type as far as calls pass it: of pointers the address space alone.
    """

    name: str
    kind: SymbolKind
    type_name: str | None = None
    size: int | None = None
    address_space: str | None = None
    is_internal: bool = False
    call_type: str | None = None


@dataclass(frozen=True, slots=True)
class ImportUse:
    """One use of an imported symbol: the site of a relocation.

    ``segment`` is the number of the code segment as the driver counts them, None if the site is in data; ``holder``
    names the kernel, the function or the data section. In SPIR-V there are no sites yet: ``offset`` is None and
    ``type_name`` is empty, and a use that is ``in_doubt`` may be gone from the machine code: constants decide whether its
    code runs.
    """

    symbol: str
    holder: str
    segment: int | None
    offset: int | None
    type_name: str
    in_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The demands of code on the thread that runs it: general registers, and work items (SIMD). A call into code that
    was compiled for others goes wrong. Each is None if the binary does not say."""

    registers: int | None
    simd: int | None

    def fits(self, other: Frame) -> bool:
        """Return whether code of one may call code of the other, as far as both are known."""
        pairs = ((self.registers, other.registers), (self.simd, other.simd))
        return all(own == theirs for own, theirs in pairs if own is not None and theirs is not None)

    def __str__(self) -> str:
        words = [f"{self.registers} registers"] if self.registers is not None else []
        return ", ".join([*words, f"SIMD{self.simd}"] if self.simd is not None else words)


@dataclass(frozen=True, slots=True)
class ReferenceGraph:
    """The references between the functions and variables of a SPIR-V module, by their ids.

    ``bodies`` maps each function to the ids that its body names, ``initialisers`` each variable to those that its initial
    value is made of. ``functions`` and ``variables`` map the names that the module offers to other modules to ids,
    ``imported`` ids to the names that it wants. ``entry_points`` run, and ``taken`` are functions whose address is taken.
    """

    bodies: Mapping[int, Collection[int]]
    initialisers: Mapping[int, Collection[int]]
    functions: Mapping[str, int]
    variables: Mapping[str, int]
    imported: Mapping[int, str]
    entry_points: Collection[int]
    taken: Collection[int]


@dataclass(frozen=True, slots=True)
class Module:
    """One linkable unit.

    ``format`` is ``zebin``, ``patch-tokens`` or ``spirv``; ``options`` are the build options that it carries or, for
    SPIR-V, will be built with. ``uses`` come in the order in which the driver looks at them. ``hidden`` are the symbols
    that the SPIR-V marks for export and the binary lacks, as the flag was missing; ``driver_symbols`` are those that the
    driver defines itself. ``patches_code`` says whether its code has sites that are filled in on loading,
    ``has_functions`` whether it holds the pseudo-kernel, that is, functions that are not kernels (None for SPIR-V).
    ``compiler_functions`` are functions that SPIR-V imports and the compiler has itself; ``graph`` is None for binaries.
    ``frames`` are those of a binary's kernels that call imports, and ``function_frame`` is that of its functions.
    ``work_item_exports`` are functions that SPIR-V will export with its options and that ask for their work-item's id or
    size. ``spec_constants`` are the specialisation constants of SPIR-V, and ``constants`` the bits of those that it will be
    built with, by number. ``lost_kernels`` are those that the SPIR-V of a binary has, which itself has no code at all.
    ``find_places`` reads where in the source one of ``uses`` stands: all places where its function
    names the symbol, or of a site in a binary the one that is known, else those that are possible; none if nothing holds
    lines.
    """

    name: str
    format: str
    exports: tuple[ModuleSymbol, ...]
    imports: tuple[ModuleSymbol, ...]
    uses: tuple[ImportUse, ...] = field(repr=False)
    kernels: tuple[str, ...]
    device: Device | None = None
    options: str | None = None
    hidden: tuple[ModuleSymbol, ...] = ()
    driver_symbols: tuple[str, ...] = ()
    patches_code: bool = True
    has_functions: bool | None = None
    compiler_functions: tuple[str, ...] = ()
    graph: ReferenceGraph | None = field(default=None, repr=False)
    frames: Mapping[str, Frame] = field(default_factory=dict, repr=False)
    function_frame: Frame | None = None
    work_item_exports: tuple[str, ...] = ()
    spec_constants: tuple[SpecConstant, ...] = ()
    constants: Mapping[int, int] = field(default_factory=dict)
    lost_kernels: tuple[str, ...] = ()
    find_places: Callable[[ImportUse], tuple[SourcePlace, ...]] = field(
        default=lambda use: (), repr=False, compare=False
    )

    def has_flag(self, spellings: tuple[str, ...]) -> bool | None:
        """Return whether the build options hold one of these words; None if the options are not known."""
        if self.options is None:
            return None
        return not set(self.options.split()).isdisjoint(spellings)

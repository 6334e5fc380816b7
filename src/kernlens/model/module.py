"""Linkable units: what a module exports, what it imports, and where it needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kernlens.model.device import Device

#: Flags that make the compiler export symbols, with the spellings that it takes
#: (compute-runtime, MODULE_SYMBOL_SUPPORT.md). ``-cl-take-global-address`` is known to work with NEO 22.43.
EXPORT_FUNCTIONS = ("-library-compilation", "-ze-library-compilation")
EXPORT_VARIABLES = ("-ze-take-global-address", "-cl-take-global-address")


class SymbolKind(StrEnum):
    """What a name stands for; ``unknown`` where the binary does not say."""

    FUNCTION = "function"
    VARIABLE = "variable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ModuleSymbol:
    """A name that a module gives to others or wants from them.

    ``type_name`` reads like ``float(float, int)``; only SPIR-V holds types. ``size`` is a variable's or function's bytes,
    ``address_space`` global or constant. None: the binary does not say. ``is_internal`` marks what the source
    does not offer but the binary exports all the same: string constants, static variables, the compiler's own.
    """

    name: str
    kind: SymbolKind
    type_name: str | None = None
    size: int | None = None
    address_space: str | None = None
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class ImportUse:
    """One place that needs an imported symbol: a relocation.

    ``segment`` is the number of the code segment as the driver counts them, None if the place is in data; ``holder``
    names the kernel, the function or the data section. In SPIR-V there are no places yet: ``offset`` is None and
    ``type_name`` empty.
    """

    symbol: str
    holder: str
    segment: int | None
    offset: int | None
    type_name: str


@dataclass(frozen=True, slots=True)
class Module:
    """One linkable unit.

    ``format`` is ``zebin``, ``patch-tokens`` or ``spirv``; ``options`` the build options that it carries or, for SPIR-V,
    will be built with. ``uses`` come in the order in which the driver looks at them. ``hidden`` are symbols that the
    SPIR-V marks for export and the binary does not hold, as the flag was missing; ``driver_symbols`` what the driver
    fills in itself. ``patches_code`` is whether anything in its code is filled in when it is loaded. ``has_functions``
    is whether it holds the pseudo-kernel, that is functions that are not kernels; None for SPIR-V.
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

    def has_flag(self, spellings: tuple[str, ...]) -> bool | None:
        """Whether the build options hold one of these words; None if the options are not known."""
        if self.options is None:
            return None
        return not set(self.options.split()).isdisjoint(spellings)

"""Explanations in words of why a symbol is not resolved, and of what to change."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.cxx_names import readable
from kernlens.analysis.linking.prediction import Forecast, Resolution
from kernlens.dataclass import dataclass
from kernlens.model.module import EXPORT_FUNCTIONS, EXPORT_VARIABLES, ImportUse, Module, SymbolKind
from kernlens.model.opencl_built_ins import misspelt_built_in, opencl_built_ins

#: Longer names, and symbols beyond this number, get no offer of similar names, as comparing them takes long.
_COMPARED_LENGTH = 200
_COMPARED_SYMBOLS = 20


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why one import of one module is unresolved: where it is needed, and what would help."""

    symbol: str
    module: int
    uses: tuple[ImportUse, ...]
    advice: str


def reasons(forecast: Forecast) -> tuple[Reason, ...]:
    """Return a reason for each unresolved import of each module, in the order of the modules."""
    grouped: dict[tuple[int, str], list[Resolution]] = {}
    for resolution in forecast.unresolved:
        grouped.setdefault((resolution.module, resolution.use.symbol), []).append(resolution)
    advice: dict[str, str] = {}
    for _, symbol in grouped:
        if symbol not in advice:
            advice[symbol] = advise(symbol, forecast.modules, compare=len(advice) < _COMPARED_SYMBOLS)
    return tuple(
        Reason(symbol, module, tuple(resolution.use for resolution in resolutions), advice[symbol])
        for (module, symbol), resolutions in grouped.items()
    )


def advise(symbol: str, modules: Sequence[Module], *, compare: bool = True) -> str:
    """Return what to change so that one of ``modules`` provides ``symbol``."""
    for module in modules:
        for hidden in module.hidden:
            if hidden.name == symbol:
                return _flag_advice(module, hidden.kind)
    for module in modules:
        if symbol in module.kernels:
            return (
                f"{module.name} has a kernel of this name, and kernels are not exported: move the code into a function"
            )
    near = _nearest(symbol, modules) if compare and len(symbol) <= _COMPARED_LENGTH else None
    if near:
        return f"no module here defines it; {near}"
    name = readable(symbol).partition("(")[0]
    if name in opencl_built_ins():
        return (
            f"no module here defines it, and the compiler does not provide it: {name} is a built-in function of OpenCL C, but"
            " not for these types, or it was declared once more; leave the declaration out"
        )
    if meant := misspelt_built_in(name):
        return (
            f"no module here defines it: if the built-in function {meant} is meant, correct the name; otherwise add the module"
            " that defines it"
        )
    return "no module here defines it: add the one that does"


def _spellings(kind: SymbolKind) -> tuple[str, ...]:
    return EXPORT_VARIABLES if kind is SymbolKind.VARIABLE else EXPORT_FUNCTIONS


def _flag_advice(module: Module, kind: SymbolKind) -> str:
    spellings = _spellings(kind)
    if module.has_flag(spellings):
        return f"{module.name} defines it and was compiled with {spellings[0]}, but the compiler has dropped it"
    if module.format == "spirv":  # Which states no options: it is compiled with those of this link.
        words = " ".join(sorted({_spellings(symbol.kind)[0] for symbol in module.hidden}))
        return f"{module.name} defines it, and is built without {spellings[0]} here: add --build-options '{words}'"
    return f"{module.name} defines it but was compiled without {spellings[0]}: compile {module.name} with it"


def _nearest(symbol: str, modules: Sequence[Module]) -> str | None:
    from difflib import get_close_matches

    exporters = {
        export.name: module.name
        for module in reversed(modules)
        for export in module.exports
        if len(export.name) <= _COMPARED_LENGTH
    }
    near = get_close_matches(symbol, list(exporters)[:1000], 1, 0.75)
    return f"the nearest exported name is {readable(near[0])} of {exporters[near[0]]}" if near else None

"""The prediction of a static link: what comes of building several SPIR-V modules as one (``ze_module_program_exp_desc_t``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kernlens.analysis.linking import graph as module_graph
from kernlens.analysis.linking.driver_rules import LATEST, DriverRules
from kernlens.analysis.linking.graph import Mismatch
from kernlens.analysis.linking.prediction import Forecast
from kernlens.dataclass import dataclass
from kernlens.model.level_zero_results import BUILD_FAILURE, SUCCESS
from kernlens.model.module import EXPORT_FUNCTIONS, EXPORT_VARIABLES, Module, SymbolKind


@dataclass(frozen=True, slots=True)
class StaticForecast:
    """The outcome of building several SPIR-V modules as one (``ze_module_program_exp_desc_t``).

    ``code`` is None if the result cannot be predicted: ``mismatches`` are functions whose importer and exporter disagree
    on what a call passes, and compilers were seen to take such modules, to refuse them and to crash. ``unresolved``
    symbols do not fail the build: the result then has imports that a dynamic link can meet. ``log`` is the part of the
    build log that is certain. ``crash`` says why the driver would take the process down; ``code`` is None then too.
    """

    code: int | None
    unresolved: tuple[str, ...]
    log: str = ""
    mismatches: tuple[Mismatch, ...] = ()
    crash: str | None = None

    @property
    def links(self) -> bool:
        """True if the module is certain to be built with nothing left to be linked."""
        return self.code == SUCCESS and not self.unresolved


def predict_static_binaries(forecast: Forecast) -> StaticForecast:
    """Predict a static link of native binaries, which a driver that does it (``DriverRules.links_binaries``) does as it links
    dynamically, which ``forecast`` is of: a symbol that is defined twice is no error, a missing one leaves an import."""
    missing = tuple(dict.fromkeys(unresolved.use.symbol for unresolved in forecast.unresolved))
    return StaticForecast(None if forecast.crash else SUCCESS, missing, crash=forecast.crash)


def predict_static(modules: Sequence[Module], rules: DriverRules = LATEST) -> StaticForecast:
    """Predict a static link of SPIR-V modules. Names need no flag to be exported here, as the compiler sees them all."""
    whole = [_with_hidden(module) for module in modules]
    provider_of = module_graph.providers(whole)
    duplicates = module_graph.duplicates(whole)
    if duplicates:
        log = f"error: Linking globals named '{duplicates[0].symbol}': symbol multiply defined!"
        # The compiler names only one of several.
        return StaticForecast(BUILD_FAILURE, (), log if rules.names_duplicates and len(duplicates) == 1 else "")
    missing = _static_imports(whole, provider_of, rules)
    functions = {symbol.name for module in whole for symbol in module.exports if symbol.kind is SymbolKind.FUNCTION}
    mismatches = tuple(
        mismatch
        for mismatch in module_graph.mismatches(whole, provider_of)
        if mismatch.symbol in functions and not mismatch.same_call
    )
    return StaticForecast(None if mismatches else SUCCESS, missing, mismatches=mismatches)


def _static_imports(modules: Sequence[Module], provider_of: Mapping[str, int], rules: DriverRules) -> tuple[str, ...]:
    """Return the symbols that no module provides and that code names which can run in the whole of ``modules``.

    That is what kernels reach, through functions of all modules, whether those are exported or not, and with the library
    flag of any module what any function reaches. The time is linear in what the modules name.
    """
    missing: dict[str, None] = {}
    reached: dict[tuple[int, int], None] = {}
    waiting: list[tuple[int, int]] = []

    def reach(position: int, id: int) -> None:
        if (position, id) not in reached:
            reached[position, id] = None
            waiting.append((position, id))

    def reach_symbol(name: str) -> None:
        provider = provider_of.get(name)
        if provider is None:
            missing[name] = None
        elif (graph := modules[provider].graph) is not None:
            reach(provider, graph.functions[name] if name in graph.functions else graph.variables[name])

    # The flags of one module act on the whole.
    keeps_functions = any(module.has_flag(EXPORT_FUNCTIONS) for module in modules)
    keeps_variables = any(module.has_flag(EXPORT_VARIABLES) for module in modules)
    for position, module in enumerate(modules):
        graph = module.graph
        if graph is None:
            for use in module.uses:
                reach_symbol(use.symbol)
            continue
        for id in graph.entry_points:
            reach(position, id)
        for id in graph.functions.values():
            if keeps_functions or id in graph.taken:
                reach(position, id)
        for id in graph.variables.values() if keeps_variables else ():
            reach(position, id)
    while waiting:
        position, id = waiting.pop()
        graph = modules[position].graph
        if graph is None:
            continue
        counts = id in graph.bodies or rules.reads_data_imports
        for named in graph.bodies.get(id) or graph.initialisers.get(id, ()):
            symbol = graph.imported.get(named)
            if symbol is None:
                reach(position, named)
            elif counts or symbol in provider_of:
                reach_symbol(symbol)
    return tuple(missing)


def _with_hidden(module: Module) -> Module:
    """Return the module as the compiler sees it when it has all sources: static variables are only the module's own."""
    offered = [symbol for symbol in (*module.exports, *module.hidden) if not symbol.is_internal]
    return dataclasses.replace(module, exports=tuple(offered), hidden=())

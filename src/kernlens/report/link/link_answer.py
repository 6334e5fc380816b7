"""A predicted link as text and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.analysis.linking.graph import Clash
from kernlens.analysis.linking.prediction import Forecast
from kernlens.analysis.linking.static_forecast import StaticForecast
from kernlens.analysis.linking.unresolved_reasons import Reason, reasons
from kernlens.model.module import ImportUse, Module
from kernlens.report.describe import plural
from kernlens.report.json_text import attributes
from kernlens.report.link.symbol_tables import places_text, shortened, use_documents
from kernlens.report.style import style

#: Lines of the driver's log, and sites of one import, that a text shows; the document has them all.
_LOG_LINES = 40
_SITES = 4
_NAMES = 8
_COLOURS = {True: "green", False: "red"}


def link_text(
    forecast: Forecast, obstacles: Sequence[str], static: StaticForecast | None, notes: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines that ``kernlens link`` prints: who provides what, what is wrong, what the driver will do."""
    names = [module.name for module in forecast.modules]
    yield from _edges(forecast, names)
    unresolved = reasons(forecast)
    if unresolved:
        yield style("unresolved", bold=True)
        for reason in unresolved:
            where = sites(forecast.modules[reason.module], reason.uses)
            yield f"  {shortened(reason.symbol)}: {names[reason.module]} needs it in {where}"
            yield style(f"    {reason.advice}", fg="yellow")
    if forecast.duplicates:
        yield style("defined more than once", bold=True)
        for duplicate in forecast.duplicates:
            holders = _listed([names[position] for position in duplicate.modules])
            yield f"  {shortened(duplicate.symbol)}: {holders}; a dynamic link takes the first, a static link fails"
    if forecast.mismatches:
        yield style("types that disagree (a dynamic link does not check them)", bold=True)
        for mismatch in forecast.mismatches:
            wants = f"{names[mismatch.importer]} wants {shortened(mismatch.declared)}"
            has = f"{names[mismatch.provider]} has {shortened(mismatch.defined)}"
            calls = "; calls pass the same" if mismatch.same_call else ""
            yield f"  {shortened(mismatch.symbol)}: {wants}, {has}{calls}"
    if forecast.clashes:
        yield style("calls that link and go wrong (no driver checks them)", fg="red", bold=True)
        for clash in forecast.clashes:
            yield f"  {clash_words(clash, names)}"
    for cycle in forecast.cycles:
        yield f"in a circle: {_listed([names[position] for position in cycle])} (they link if given in one call)"
    yield from (style(note, fg="yellow") for note in notes)
    yield from _outcome(forecast, obstacles, static)


def clash_words(clash: Clash, names: Sequence[str]) -> str:
    """Return what does not fit, and what helps."""
    caller = f"{shortened(clash.holder)} of {names[clash.importer]} ({clash.caller_frame})"
    callee = f"{shortened(clash.symbol)} of {names[clash.provider]} ({clash.callee_frame})"
    return f"{caller} calls {callee}: compile both for the same registers and sub-group size"


def _edges(forecast: Forecast, names: Sequence[str]) -> Iterator[str]:
    grouped: dict[tuple[int, int], list[str]] = {}
    for edge in forecast.edges:
        grouped.setdefault((edge.importer, edge.provider), []).append(edge.symbol)
    for (importer, provider), symbols in grouped.items():
        yield f"{names[importer]} gets {', '.join(map(shortened, symbols))} from {names[provider]}"
    idle = set(range(len(names))) - {end for edge in forecast.edges for end in (edge.importer, edge.provider)}
    idle -= {use.module for use in forecast.unresolved}
    if idle and len(names) > 1:
        yield f"neither gives nor gets: {_listed([names[position] for position in sorted(idle)])}"


def _listed(names: Sequence[str]) -> str:
    """Return names for a line of text; of many only the first."""
    shown = ", ".join(map(shortened, names[:_NAMES]))
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"


def sites(module: Module, uses: Sequence[ImportUse]) -> str:
    """Return the sites of uses: ``use at 0x22c, 0x26c (kernels.cl:4) and 3 more sites``. Only the places of the sites
    that are shown are read."""
    holders: dict[str, dict[str, list[str]]] = {}
    for use in uses[:_SITES]:
        offsets = holders.setdefault(use.holder, {}).setdefault(places_text(module.find_places(use)), [])
        offsets += [] if use.offset is None else [f"{use.offset:#x}"]
    words = [_site_words(shortened(holder), places) for holder, places in holders.items()]
    if len(uses) > _SITES:
        words.append(f"and {plural(len(uses) - _SITES, 'more site')}")
    return ", ".join(words)


def _site_words(holder: str, offsets_at: dict[str, list[str]]) -> str:
    words = []
    for place, offsets in offsets_at.items():
        words.append(" ".join([*([", ".join(offsets)] if offsets else []), *([f"({place})"] if place else [])]))
    return f"{holder}{' at' if any(offsets_at.values()) else ''} {', '.join(words)}".rstrip()


def _outcome(forecast: Forecast, obstacles: Sequence[str], static: StaticForecast | None) -> Iterator[str]:
    good = forecast.links and not obstacles
    for obstacle in obstacles:
        yield style(f"cannot be linked: {obstacle}", fg="red")
    if forecast.crash:
        yield style(f"the driver would crash: {forecast.crash}", fg="red")
    call = f"dynamic link on NEO {forecast.rules.name}"
    if forecast.doubtful and not obstacles:
        yield style(f"{call} is uncertain: {_doubts(forecast)}", fg="yellow", bold=True)
        yield "  the compiler may drop that code, and links then; --compile --device D builds the modules to be sure; else"
    else:
        word = "links" if good else "does not link"
        code = "" if obstacles else f": {forecast.result_name}"
        yield style(f"{call} {word}{code}", fg=_COLOURS[good], bold=True)
    if forecast.words:
        yield f"  the driver says: {forecast.words}"
    if forecast.code is not None and not obstacles:
        lines = list(forecast.log())
        yield from (f"  {line}" for line in lines[:_LOG_LINES])
        if len(lines) > _LOG_LINES:
            yield f"  and {plural(len(lines) - _LOG_LINES, 'more line')}"
    if static is not None:
        yield style(f"static link {_static_words(static)}", fg=_COLOURS[static.links])


def _doubts(forecast: Forecast) -> str:
    holders: dict[str, dict[str, None]] = {}
    for unresolved in forecast.doubtful:
        where = f"{shortened(unresolved.use.holder)} of {forecast.modules[unresolved.module].name}"
        holders.setdefault(unresolved.use.symbol, {})[where] = None
    sentences = [f"{shortened(symbol)} is used only in {_listed(list(names))}" for symbol, names in holders.items()]
    return f"{'; '.join(sentences[:_NAMES])}, where constants decide whether it runs or matters"


def _static_words(static: StaticForecast) -> str:
    if static.links:
        return "links"
    if static.crash:
        return "is refused: this driver would crash on it too"
    if static.code is None:
        names = ", ".join(shortened(mismatch.symbol) for mismatch in static.mismatches[:5])
        return f"is open: the types of {names} disagree, and compilers were seen to crash on that"
    if static.code == 0:
        return f"builds a module that still imports {', '.join(map(shortened, static.unresolved[:5]))}"
    return f"does not build{f': {static.log}' if static.log else ''}"


def link_document(
    forecast: Forecast, obstacles: Sequence[str], static: StaticForecast | None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the answer of ``link --json``. Modules are meant by their position in ``modules``."""
    return {
        "schema": 1,
        "driver": forecast.rules.name,
        "links": None if forecast.doubtful and not obstacles else forecast.links and not obstacles,
        "doubtful": [
            {"symbol": unresolved.use.symbol, "module": unresolved.module, "holder": unresolved.use.holder}
            for unresolved in forecast.doubtful
        ],
        "code": None if obstacles else forecast.code,
        "code_name": None if obstacles else forecast.result_name,
        "crash": forecast.crash,
        "obstacles": list(obstacles),
        "notes": list(notes),
        "modules": [
            attributes(module, "name", "format")
            | {"device": str(module.device) if module.device else None, "linked": position in forecast.linked}
            for position, module in enumerate(forecast.modules)
        ],
        "edges": [attributes(edge, "importer", "provider", "symbol") for edge in forecast.edges],
        "unresolved": [_reason(reason, forecast.modules[reason.module]) for reason in reasons(forecast)],
        "duplicates": [
            {"symbol": duplicate.symbol, "modules": list(duplicate.modules)} for duplicate in forecast.duplicates
        ],
        "mismatches": [
            attributes(mismatch, "symbol", "importer", "provider")
            | {"wanted": mismatch.declared, "given": mismatch.defined, "same_call": mismatch.same_call}
            for mismatch in forecast.mismatches
        ],
        "clashes": [
            attributes(clash, "symbol", "importer", "provider", "holder")
            | {"wanted": attributes(clash.caller_frame, "registers", "simd")}
            | {"given": attributes(clash.callee_frame, "registers", "simd")}
            for clash in forecast.clashes
        ],
        "cycles": [list(cycle) for cycle in forecast.cycles],
        "log": list(forecast.log()) if forecast.code is not None and not obstacles else None,
        "words": forecast.words,
        "static": None
        if static is None
        else attributes(static, "links", "code")
        | {"unresolved": list(static.unresolved), "log": static.log, "crash": static.crash},
    }


def _reason(reason: Reason, module: Module) -> dict[str, Any]:
    uses = list(use_documents(module, reason.uses))
    return {"symbol": reason.symbol, "module": reason.module, "uses": uses, "advice": reason.advice}

"""Built-in functions that became many instructions, where something else is a few."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.half_function import SAME
from kernlens.analysis.advice.pow_with_a_constant import simpler
from kernlens.analysis.advice.rule import Rule
from kernlens.dataclass import NamedTuple
from kernlens.model.advice import DIFFER, Advice, Edit
from kernlens.model.compiler_options import FAST_RELAXED
from kernlens.model.source_map import SourcePlace

#: What the source must do besides where values are halves.
_OF_HALVES = "there is none for vectors of half: convert them to float before, and back"
#: Fewer instructions for lanes at a place are not many.
LEAST = 16


class Function(NamedTuple):
    """A built-in function: about how many instructions it is for the lanes of one instruction, and what to do instead.
    ``native`` is the function with the same parameters to call then, if there is one.
    Counted with the compilers of NEO 22.43 and 26.27 for skl, tgllp, dg2, pvc and bmg; tests hold the figures."""

    usual: int
    action: str
    is_option: bool = False
    native: str = ""


def _native(
    usual: int, name: str, count: str, more: str = "with less accuracy", per: str = "for each value"
) -> Function:
    return Function(usual, f"`{name}` is {count} {per}, {more}", native=name if name.isidentifier() else "")


def _relaxed(usual: int, count: str) -> Function:
    return Function(
        usual,
        f"with {FAST_RELAXED} it is {count} for each value, but that option makes all functions less accurate",
        True,
    )


#: Built-in functions that the compiler inlines as many instructions, and that have a cheaper form.
FUNCTIONS = {
    "sin": _native(280, "native_sin", "1 or 2"),
    "cos": _native(280, "native_cos", "1 or 2"),
    "sincos": Function(280, "`native_sin` and `native_cos` are 1 or 2 for each value, with less accuracy"),
    "tan": _native(160, "native_tan", "4 to 10"),
    "exp": _native(12, "native_exp", "2 to 4"),
    "exp10": _native(42, "native_exp10", "2 to 4"),
    "log": _native(30, "native_log", "2 to 4"),
    "log2": _native(90, "native_log2", "1 or 2"),
    "log10": _native(92, "native_log10", "2 to 4"),
    "pow": _native(400, "native_powr", "3 to 10", "with less accuracy, and for x >= 0 only"),
    "powr": _native(430, "native_powr", "3 to 10"),
    "pown": _native(360, "native_powr(x, (float)n)", "3 to 10", "with less accuracy, and for x >= 0 only"),
    "rootn": _native(450, "native_powr(x, 1.0f / n)", "3 to 10", "with less accuracy, and for x >= 0 only"),
    "cbrt": _native(90, "native_powr(x, 1.0f / 3)", "3 to 10", "with less accuracy, and for x >= 0 only"),
    "length": _native(30, "fast_length", "4 to 10", "with less accuracy and range", "a call"),
    "distance": _native(35, "fast_distance", "7 to 18", "with less accuracy and range", "a call"),
    "normalize": _native(47, "fast_normalize", "6 to 16", "with less accuracy and range", "a call"),
    "hypot": _native(35, "fast_length((float2)(x, y))", "4 to 10", "with less accuracy and range", "a call"),
    "log1p": _native(110, "native_log(1 + x)", "3 to 6", "with less accuracy, least for x near 0"),
    "expm1": _native(36, "native_exp(x) - 1", "3 to 6", "with less accuracy, least for x near 0"),
    "fmod": _relaxed(160, "5 to 10"),
    "sinh": _relaxed(70, "9 to 22"),
    "cosh": _relaxed(64, "6 to 14"),
    "atan2": _relaxed(62, "about 30 to 70"),
    "atan2pi": _relaxed(64, "about 30 to 70"),
}


def is_slow(facts: Facts, names: frozenset[str]) -> bool:
    """Return whether instructions of a construct with these names may be those of a slow built-in function."""
    return not names.isdisjoint(FUNCTIONS) or not names.isdisjoint(SAME)


def _advise(facts: Facts) -> Iterator[Advice]:
    is_relaxed = FAST_RELAXED in (facts.program.build.options or "")
    functions = {name: function for name, function in FUNCTIONS.items() if not (is_relaxed and function.is_option)}
    for place, rows in facts.sites.items():
        vector = facts.vector(rows) if len(rows) >= LEAST else []
        if len(vector) < LEAST:
            continue
        construct = facts.tokens.at(place)
        names = facts.tokens.calls(construct, functions) if construct else []
        if construct is None or not names or simpler(construct) or not construct.names.isdisjoint(SAME):
            continue
        # The native functions, and what the option changes, are those of floats.
        if facts.works_on_doubles(rows, place.path, construct.words):
            continue
        usual = sum(functions[name].usual for name in names) * facts.instructions_for_all_lanes
        if construct.is_macro and len(vector) < usual / 2:  # They are those of something else in the macro.
            continue
        actions = "; ".join(dict.fromkeys(functions[name].action for name in names))
        if facts.works_on_halves(rows) and not all(functions[name].is_option for name in names):
            actions += f"; {_OF_HALVES}"
        fact = f"is {len(rows):,} instructions"
        edit = _edit(facts, place, functions[names[0]]) if len(names) == 1 and _OF_HALVES not in actions else None
        yield RULE.advice(facts, place, rows, construct.titled(names), fact, actions, edit=edit)


def _edit(facts: Facts, place: SourcePlace, function: Function) -> Edit | None:
    if function.is_option:
        return Edit(options=FAST_RELAXED)
    return facts.tokens.renamed(place, function.native) if function.native else None


RULE = Rule("slow-built-in", "Slow built-in", (DIFFER,), _advise)

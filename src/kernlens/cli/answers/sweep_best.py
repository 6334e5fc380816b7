"""The best sets of options of a sweep as a text table, as marks of rows, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.best_sets import BestSet, Weighing
from kernlens.model.figures import figure_named
from kernlens.model.sweep_row import SweepRow
from kernlens.report.describe import plural, short_names
from kernlens.report.style import style
from kernlens.report.table import Cell, table
from kernlens.report.width import Name

_BEST = "*"
_LABELS = ("source", "device", "toolchain")
#: The most names of kernels in a line.
_MOST_NAMES = 10


def best_table(sets: Sequence[BestSet], by: Weighing, top: int) -> Iterator[str]:
    """Yield the ``top`` kernels (0: all) that gain most from another set than the first one; then how many kernels
    gain nothing, and ``top`` sets that are not ranked, with the reasons."""
    gaining = sorted((each for each in sets if each.deciding), key=_rank)
    shown = gaining[: top or None]
    if shown:
        labels = [name for name in _LABELS if name == "device" or len({getattr(each.first, name) for each in sets}) > 1]
        names = short_names({each.first.source for each in sets})
        # Of these depends what the others cost: the width, and how many threads there are.
        always = [figure_named("simd"), figure_named("grf-count")]
        own = (figure_named("wave-size"), figure_named("vgprs"))
        always += [figure for figure in own if any(each.first.value(figure) is not None for each in shown)]
        by_heading = {each.heading: each for best in shown for each in best.weighing.criteria}
        for figure in always:
            by_heading.pop(figure.heading, None)
        cells: list[list[Cell]] = []
        for each in shown:
            for row in _rows(each):
                is_first = row is each.first
                values = [getattr(row, name) if is_first else "" for name in labels]
                cells.append(
                    [
                        Name(kernel_title(row.kernel or "")) if is_first else "",
                        *(names.get(value, value) for value in values),
                        _BEST if row is each.best else "",
                        row.options or "no options",
                        *(row.value(figure) for figure in always),
                        *(criterion.value(row) for criterion in by_heading.values()),
                        _gain(each) if row is each.best else "",
                    ]
                )
        figures = [figure.heading for figure in always]
        yield from table(["kernel", *labels, "", "options", *figures, *by_heading, "gain"], cells)
        yield style(f"  {_BEST} the best by {by}", dim=True)
    if any(each.first.items != 1 for each in sets):
        yield style("  launches are compared, which are assumed to make the same results with every set", dim=True)
    if len(gaining) > len(shown):
        yield style(f"  and {plural(len(gaining) - len(shown), 'more kernel')}: --top 0, --csv FILE", dim=True)
    compared = [each for each in sets if each.count > 1]
    if not compared:
        yield "nothing to compare: no kernel has figures with more than one set of options"
        return
    yield f"{len(gaining):,} of {plural(len(compared), 'kernel')} gain from another set than the first"
    equal = [each for each in compared if not each.deciding and not each.unranked]
    alone = [each for each in sets if each.count == 1]
    for words, group in (("is better than the first for", equal), ("has figures of", alone)):
        others = list(dict.fromkeys(kernel_title(each.first.kernel or "") for each in group))
        more = f" and {len(others) - _MOST_NAMES:,} more" if len(others) > _MOST_NAMES else ""
        if others:
            yield f"  no other set {words} {', '.join(others[:_MOST_NAMES])}{more}"
    unranked = [(row, words) for each in sets for row, words in each.unranked]
    for row, words in unranked[: top or None]:
        yield f"  not ranked: {kernel_title(row.kernel or '')} on {row.device} with {row.options or 'no options'}: {words}"
    if top and len(unranked) > top:
        yield style(f"  and {len(unranked) - top:,} more that are not ranked: --top 0", dim=True)


def marks(sets: Sequence[BestSet]) -> set[int]:
    """Return the ids of the rows that are the best of their kernels."""
    return {id(each.best) for each in sets if each.is_ranked}


def best_document(sets: Sequence[BestSet], by: Weighing) -> dict[str, Any]:
    """Return the keys that ``--best`` adds to the document of a sweep."""
    return {"weigh": str(by), "best": list(map(_document, sets))}


def _document(each: BestSet) -> dict[str, Any]:
    row = each.first
    return {
        **{name: getattr(row, name) for name in (*_LABELS, "compiler", "kernel")},
        "toolchain_name": row.toolchain,
        "sets": each.count,
        "first": each.first.options,
        "best": each.best.options if each.is_ranked else None,
        "unranked": [{"options": other.options, "reason": words} for other, words in each.unranked],
        "by": [each.deciding.name] if each.deciding else [],
        "ratio": each.ratio,
        "criteria": [
            {"metric": criterion.name, "first": criterion.value(each.first), "best": criterion.value(each.best)}
            for criterion in each.weighing.criteria
        ],
    }


def _rows(each: BestSet) -> list[SweepRow]:
    """Return the rows of a kernel that are shown: the first one and the best one."""
    return [each.first] if each.best is each.first else [each.first, each.best]


def _rank(each: BestSet) -> tuple[int, float]:
    """Return what kernels are ordered by: those that a criterion decides which counts before others come first, and of these
    those that gain most."""
    ratio = each.ratio or 0.0
    assert each.deciding is not None
    return each.weighing.criteria.index(each.deciding), -ratio if each.deciding.more_is_better else ratio


def _gain(each: BestSet) -> str:
    return "" if each.ratio is None or each.deciding is None else f"{each.deciding.name} {100 * (each.ratio - 1):+.1f}%"

"""Sets of build options that were timed on a kept launch, as text, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kernlens.cli.answers.replay_text import (
    OF_A_CPU,
    difference_words,
    launch_lines,
    not_compared_words,
    result_words,
    times_words,
)
from kernlens.cli.answers.rows import csv_line, spreadsheet_safe
from kernlens.report.describe import plural
from kernlens.report.style import rendered
from kernlens.report.table import Cell, table
from kernlens.verbs.replay.replay_document import build_document, launch_document, ratio_document, ratio_words

if TYPE_CHECKING:
    from kernlens.verbs.replay.timed_sets import TimedSet, TimedSets

_COLUMNS = ("options", "equal", "runs", "median_ns", "lower_ns", "upper_ns", "ratio", "low", "high", "reason")


def timed_sets_lines(answer: TimedSets, top: int, *, is_best: bool) -> Iterator[str]:
    """Yield the ``top`` sets (0: all), the fastest first, what differs, and with ``is_best`` which set is the best."""
    recorded = answer.recorded
    yield from launch_lines(recorded)
    if recorded.builds[0].differing:
        yield "the recorded program leaves something else here than it left there; --tolerance accepts a distance:"
        yield from (f"    {difference_words(each)}" for each in recorded.builds[0].differing)
    shown = answer.ranked[: top or None]
    rows: list[list[Cell]] = [
        [
            "*" if is_best and each is answer.best else "",
            _title(each.options),
            "not run" if each.build is None else result_words(each.build),
            times_words(each.times) if each.times else None,
            ratio_words(each.ratio) if each.ratio else None,
        ]
        for each in shown
    ]
    yield from table(["", "options", "results", "time", "speed"], rows)
    if len(answer.sets) > len(shown):
        yield f"  and {plural(len(answer.sets) - len(shown), 'more set')}: --top 0, --csv FILE"
    for each in shown:
        yield from (f"  {_title(each.options)}: {difference_words(memory)}" for memory in each.differing)
    if is_best:
        yield from _best_lines(answer)
    yield measured_words(answer)
    yield from recorded.notes
    if recorded.is_cpu:
        yield OF_A_CPU
    yield not_compared_words(recorded)


def measured_words(answer: TimedSets) -> str:
    """Return what the times come from."""
    own, place = _title(answer.recorded_options), f"{answer.recorded.device} ({answer.recorded.platform})"
    return f"measured: {plural(answer.runs, 'run')} on {place}, each set in turn with the recorded options ({own})"


def _best_lines(answer: TimedSets) -> Iterator[str]:
    fastest, best, again = answer.fastest, answer.best, answer.again
    if fastest is None:
        is_right = any(each.is_right for each in answer.sets)
        yield "there is no best set: " + ("this device measures no time" if is_right else "no set leaves equal results")
        return
    words = "* the best: " if best is not None else "no set is faster than the recorded options; the first is "
    words += f"{_title(fastest.options)}: {_speed(fastest)}"
    yield words + (f"; timed again: {_speed(again)}" if again is not None else "")
    if answer.beside_best:
        yield f"  not told apart from it: {', '.join(_title(each.options) for each in answer.beside_best)}"


def _speed(each: TimedSet) -> str:
    if each.build is None:
        return f"not run: {each.reason}"
    words = "different results; " if each.differing else ""
    return words + (ratio_words(each.ratio) if each.ratio else "no time")


def _title(options: str) -> str:
    return options or "no options"


def timed_sets_csv(answer: TimedSets) -> Iterator[bytes]:
    """Yield the heading and a line for each set, in the order of the caller."""
    yield f"{csv_line(_COLUMNS)}\n".encode()
    for each in answer.sets:
        times, ratio = each.times, each.ratio
        equal = "" if each.build is None or not each.build.compared else int(each.is_right)
        cells = (times.runs, times.median, times.lower, times.upper) if times else ("",) * 4
        speed = (ratio.median, ratio.low, ratio.high) if ratio else (None,) * 3
        numbers = ("" if each is None else each for each in (*cells, *speed))
        yield f"{csv_line((each.options, equal, *numbers, spreadsheet_safe(rendered(each.reason))))}\n".encode()


def timed_sets_document(answer: TimedSets, *, is_best: bool) -> dict[str, Any]:
    """Return the sets in the order of the caller; with ``is_best`` which is the best."""
    best = answer.best
    chosen = {
        "best": None if best is None else best.options,
        "again": None if answer.again is None else _document(answer.again),
        "beside_best": [each.options for each in answer.beside_best],
    }
    return {
        "schema": 1,
        "replayed": launch_document(answer.recorded),
        "recorded_options": answer.recorded_options,
        "measured": measured_words(answer),
        "sets": [_document(each) for each in answer.sets],
        **(chosen if is_best else {}),
    }


def _document(each: TimedSet) -> dict[str, Any]:
    return {
        "options": each.options,
        "equal": None if each.build is None or not each.build.compared else each.is_right,
        "build": None if each.build is None else build_document(each.build),
        "ratio": ratio_document(each.ratio),
        "reason": each.reason or None,
    }

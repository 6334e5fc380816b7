"""A sweep's rows for a tuner: the results format T4 of https://github.com/odgaard/TuningSchema (1.0.0), as Kernel Tuner has it.

A configuration has the values of the macros that differ between the sets of options, and the other options if these differ.
What spills more than it need be is marked invalid, so that a tuner does not run it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernlens.errors import KernlensError
from kernlens.model.best_sets import shape_of
from kernlens.model.figures import EVERY_FIGURE
from kernlens.model.spills import SPILL_KEYS
from kernlens.model.sweep_row import SweepRow
from kernlens.toolchain.includes import join_options, options_with_values, split_options

#: The key of a configuration that holds the options beside its macros.
OPTIONS = "build_options"
_VERSION = "1.0.0"
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FRACTION = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")
_UNITS = {figure.key: figure.unit for figure in EVERY_FIGURE}


def tuning_document(rows: Sequence[SweepRow]) -> dict[str, Any]:
    """Return the configurations of a sweep of one source for one device by one toolchain, in the order of its rows.

    ``invalidity`` is ``compile`` where one does not compile, ``constraints`` where its kernels have more spill stores and fill
    loads than those of another whose loops and memory are the same, else ``correct``. Measurements are called
    ``KERNEL.FIGURE``. Raises KernlensError for rows of several sources, devices or toolchains.
    """
    check_tuning((row.source, row.device, row.toolchain) for row in rows)
    sets: dict[str, list[SweepRow]] = {}
    for row in rows:
        sets.setdefault(row.options, []).append(row)
    spills = {options: _spills(own) for options, own in sets.items()}
    first = rows[0]
    return {
        "schema_version": _VERSION,
        "metadata": {
            "source": first.source,
            "device": first.device,
            "toolchain": first.toolchain,
            "compiler": first.compiler,
        },
        "results": [
            {
                "configuration": configuration,
                "times": {"runtimes": []},
                "invalidity": _invalidity(sets[options], spills[options], _fewest(sets[options], sets, spills)),
                "correctness": 1,
                "measurements": [
                    {"name": f"{row.kernel}.{key}", "value": value, "unit": _UNITS[key]}
                    for row in sets[options]
                    if row.kernel is not None
                    for key, value in row.figures.items()
                    if value is not None
                ],
                "objectives": [],
            }
            for options, configuration in zip(sets, _configurations(sets), strict=True)
        ],
    }


def check_tuning(compiles: Iterable[tuple[str, str, str]]) -> None:
    """Raise KernlensError unless compiles have one source, device and toolchain."""
    if len(set(compiles)) != 1:
        raise KernlensError(
            "--tuning is for one source, device and toolchain, which a tuner runs; sweep each by itself, or use --csv"
        )


def _spills(rows: Sequence[SweepRow]) -> int | None:
    """Return the spill stores and fill loads of a set's kernels; None if they are not known."""
    counts = [row.figures[key] for row in rows for key in SPILL_KEYS]
    return None if None in counts else sum(count for count in counts if count is not None)


def _fewest(own: Sequence[SweepRow], sets: Mapping[str, Sequence[SweepRow]], spills: Mapping[str, int | None]) -> int:
    """Return the fewest spills of the sets that one can be compared with; 0 if they are not known."""
    counts = (spills[options] for options, rows in sets.items() if _are_comparable(own, rows))
    return min((count for count in counts if count is not None), default=0)


def _are_comparable(rows: Sequence[SweepRow], others: Sequence[SweepRow]) -> bool:
    """Return whether two sets have the same kernels, each of one shape, or are the same set."""
    if rows is others:
        return True
    shapes = {row.kernel: shape_of(row) for row in others}
    return len(rows) == len(others) and all(
        row.kernel in shapes and not shape_of(row).difference(shapes[row.kernel]) for row in rows
    )


def _invalidity(rows: Sequence[SweepRow], spills: int | None, fewest: int) -> str:
    if any(row.kernel is None for row in rows):
        return "compile"
    return "correct" if spills is None or spills <= fewest else "constraints"


def _configurations(sets: Iterable[str]) -> list[dict[str, int | float | str]]:
    """Return what differs between sets of options: macros by their names, and the other words together."""
    split = [_macros(options) for options in sets]
    names = dict.fromkeys(name for macros, _ in split for name in macros)
    differing = [name for name in names if len({macros.get(name) for macros, _ in split}) > 1]
    has_others = len({others for _, others in split}) > 1
    return [
        {name: macros.get(name, "") for name in differing} | ({OPTIONS: others} if has_others else {})
        for macros, others in split
    ]


def _macros(options: str) -> tuple[dict[str, int | float | str], str]:
    """Return the macros of a set of options, and its other words."""
    macros: dict[str, int | float | str] = {}
    others: list[str] = []
    for word, value in options_with_values(split_options(options)):
        if word.startswith("-D"):
            name, has_value, text = (word[2:] or value).partition("=")
            macros[name] = _number(text) if has_value else 1
        else:
            others += [word, value] if value else [word]
    return macros, join_options(others)


def _number(text: str) -> int | float | str:
    """Return a macro's value as a tuner has it; one that C would read otherwise stays a text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text

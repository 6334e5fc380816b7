"""What a kernel's code says of its addresses, against the addresses that an interpreter sees.

    python -m tests.corpus.static_twin                         # the launches of tests/data/behaviour
    python -m tests.corpus.static_twin --launches L.json       # others, whose files lie beside that file

Each memory access that ran is compared, request by request: whatever the code is said to do, no request may do something else.
A stride with arguments is compared for the arguments of the launch. Numbers of accesses and of source lines are printed, for
sub-groups of 32 and of 16.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kernlens.analysis.lanes import polynomials as forms
from kernlens.analysis.lanes.addresses import addresses
from kernlens.analysis.lanes.patterns import Group, is_bounded
from kernlens.analysis.lanes.polynomials import Symbol
from kernlens.dataclass import dataclass
from kernlens.errors import ToolError
from kernlens.model.behaviour import CONSTANT, GLOBAL, LOCAL, ObservedAccess
from kernlens.model.lane_code import LaneCode
from kernlens.model.program import Program
from kernlens.verbs.compile import compile
from kernlens.verbs.observe.observe import observe
from tests.tree import ROOT

DATA = ROOT / "tests" / "data" / "behaviour"
DARKTABLE = Path("/usr/share/darktable/kernels")
WIDTHS = (32, 16)
SECONDS = 20
#: What the code says: nothing; a stride in bytes; one with the launch's arguments; one for all neighbours; one between bounds.
UNKNOWN, NUMBER, ARGUMENT, EVEN, BOUNDED = VERDICTS = (
    "unknown",
    "a number",
    "with arguments",
    "not known",
    "between bounds",
)


@dataclass(frozen=True)
class Launch:
    """A kernel of a source, and how it is started."""

    source: Path
    kernel: str
    size: tuple[int, ...]
    group: tuple[int, ...]
    arguments: tuple[str, ...]
    options: str = ""


@dataclass(frozen=True)
class Compared:
    """An access that ran: what the code says of it, and what contradicts that, "" if nothing does."""

    launch: Launch
    line: int
    what: str
    verdict: str
    contradiction: str = ""


@cache
def compiled(source: Path, options: str) -> Program:
    """Return the program of a source."""
    (program,) = compile(source, "dg2", options=options)
    return program


def compared(launch: Launch, width: int) -> Iterator[Compared]:
    """Yield each access of a launch that was counted."""
    observed = observe(
        launch.source, kernel=launch.kernel, size=launch.size, group=launch.group, arguments=launch.arguments,
        options=launch.options, sub_group=width, seconds=SECONDS,
    )  # fmt: skip
    x, y, z, *_ = (*launch.group, 1, 1)
    group = Group(width, (x, y, z))
    code = compiled(launch.source, launch.options).find_lane_code(launch.kernel)
    assert code is not None
    of_code: dict[tuple[Any, ...], list[tuple[str, int | None, int]]] = {}
    values = values_of(launch, code)
    for each in addresses(code, group.lanes):
        if each.step.place is not None:
            calls = tuple(call.line for call in each.step.calls)
            key = (each.step.place.line, each.step.place.column, calls, each.step.name, each.step.space)
            of_code.setdefault(key, []).append((*stride(group, each.form, values), each.step.literals[0]))
    for access in observed.accesses:
        if access.place is None or access.space not in (GLOBAL, LOCAL, CONSTANT) or not access.requests:
            continue
        lines = tuple(call.line for call in access.calls)
        what = f"{access.place.line}:{access.place.column} {access.kind} {access.space}"
        known = of_code.get((access.place.line, access.place.column, lines, access.kind, access.space), [])
        verdicts = {(verdict, number) for verdict, number, _ in known}
        if len(verdicts) != 1:
            yield Compared(launch, access.place.line, what, UNKNOWN if verdicts else "not in the code")
            continue
        ((verdict, number),) = verdicts
        told = contradiction(verdict, number, access)
        yield Compared(launch, access.place.line, what, verdict, told and f"{told}: {access.patterns} {access.stride}")


def stride(group: Group, form: forms.Form | None, values: Mapping[Symbol, int]) -> tuple[str, int | None]:
    """Return what the code says of a stride, and how much that is in a launch."""
    told = group.stride(form)
    if told is None:
        return UNKNOWN, None
    number = forms.value_of(forms.put(told, values))
    if is_bounded(form):
        return BOUNDED, number
    is_number = forms.value_of(told) is not None
    return (EVEN, None) if number is None else (NUMBER if is_number else ARGUMENT, number)


def contradiction(verdict: str, number: int | None, access: ObservedAccess) -> str:
    """Return what requests do that the code does not; "" if all do what it says."""
    same, consecutive, strided, irregular, _ = access.patterns
    if verdict == UNKNOWN:
        return ""
    if verdict == BOUNDED:  # Most requests are those that no bound cuts.
        most = max(access.patterns)
        same, consecutive, strided, irregular = (
            count * (count == most) for count in (same, consecutive, strided, irregular)
        )
        if (
            strided
            and number is not None
            and access.stride is not None
            and access.stride[0] <= number <= access.stride[1]
        ):
            return ""
    if irregular:
        return "irregular"
    if number is None:
        return ""
    if same and number:
        return "the same address"
    if consecutive and not number:
        return "consecutive"
    if strided and access.stride != (number, number):
        return f"another stride than {number}"
    # What is consecutive is as far apart as a part of the access is wide.
    return "consecutive" if consecutive and number not in (access.width, 16, 1, 2, 4, 8) else ""


def values_of(launch: Launch, code: LaneCode) -> dict[Symbol, int]:
    """Return the numbers that a launch gives to the symbols of the code."""
    values: dict[Symbol, int] = {}
    parameters = [each for each in code.names if each <= len(launch.arguments)]
    for number, word in zip(sorted(parameters), launch.arguments, strict=True):
        parts = word.split(",")
        if all(part.lstrip("-").isdigit() for part in parts):
            values[number] = int(parts[0])
            values |= {f"{code.names[number]}.{'xyzw'[at]}": int(part) for at, part in enumerate(parts)}
    for name, sizes in (("global size", launch.size), ("local size", launch.group)):
        values |= {f"{name} {each}": size for each, size in enumerate((*sizes, 1, 1)[:3])}
    return values


def of_data() -> Iterator[Launch]:
    """Yield the launches of the suite's data."""
    darktable = json.loads((DATA / "darktable.json").read_text())
    if DARKTABLE.is_dir():
        yield from read(darktable, DARKTABLE)
    yield from read(json.loads((DATA / "programs.json").read_text()), DATA)


def read(rows: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Launch]:
    """Yield the launches of a file."""
    for row in rows:
        options = f"-I{folder} {row.get('options', '')}".strip()
        arguments = row.get("arguments", row.get("args", ()))
        yield Launch(
            folder / row["file"], row["kernel"], tuple(row["size"]), tuple(row["group"]), tuple(arguments), options
        )


def summary(answers: Sequence[Compared]) -> str:
    """Return the numbers of accesses and lines."""
    verdicts = Counter(each.verdict for each in answers)
    lines: dict[tuple[Path, str, int], list[Compared]] = {}
    for each in answers:
        lines.setdefault((each.launch.source, each.launch.kernel, each.line), []).append(each)
    known = sum(all(each.verdict in VERDICTS[1:] for each in row) for row in lines.values())
    wrong = sum(bool(each.contradiction) for each in answers)
    decided = sum(verdicts[each] for each in VERDICTS[1:])
    return (
        f"{len(answers)} accesses, {decided} decided ({100 * decided / max(1, len(answers)):.0f}%), {wrong} contradicted;"
        f" {len(lines)} lines, {known} decided ({100 * known / max(1, len(lines)):.0f}%); {dict(verdicts)}"
    )


def main() -> int:
    """Compare all launches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=Path, help="a file of launches; its sources lie beside it")
    parser.add_argument("--only", help="a kernel")
    options = parser.parse_args()
    path = options.launches
    launches = list(of_data() if path is None else read(json.loads(path.read_text()), path.parent))
    wrong = 0
    for width in WIDTHS:
        answers: list[Compared] = []
        for launch in launches:
            if options.only in (None, launch.kernel):
                try:
                    rows = list(compared(launch, width))
                except ToolError as error:
                    print(f"{launch.source.name} {launch.kernel}: not run: {error}")
                    continue
                answers += rows
                undecided = [each.what for each in rows if each.verdict not in VERDICTS[1:]]
                print(f"{launch.source.name} {launch.kernel}: {summary(rows)}; undecided: {undecided}")
        print(f"sub-groups of {width}: {summary(answers)}")
        for each in answers:
            if each.contradiction:
                wrong += 1
                print(f"contradicted: {each.launch.source.name} {each.launch.kernel} {each.what}: {each.contradiction}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

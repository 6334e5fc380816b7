"""Faulty kernels are found at their line, with the argument or variable, and the same kernels without the fault are silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kernlens.dataclass import dataclass
from kernlens.model.behaviour import Behaviour
from kernlens.model.fault import Fault
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import DATA, pytestmark  # noqa: F401
from tests.whole import each_run

SOURCE = DATA / "faults.cl"
TEXT = SOURCE.read_text().split("\n")
COMMENT = re.compile(r"// (run|expect): (.*)")


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, its launch, the lines marked FAULT, and the kind and the name that are expected of the fault."""

    kernel: str
    launch: dict[str, Any]
    lines: frozenset[int]
    kind: str = ""
    name: str = ""


def cases() -> Iterator[Case]:
    for number, line in enumerate(TEXT):
        if not (match := re.match(r"kernel void (\w+)", line)):
            continue
        above = [COMMENT.fullmatch(each) for each in TEXT[max(0, number - 2) : number]]
        comments = {each[1]: each[2].split() for each in above if each is not None}
        words = dict(zip(comments["run"][::2], comments["run"][1::2], strict=True))
        launch = {
            "size": [int(each) for each in words["--size"].split("x")],
            "group": [int(each) for each in words["--group"].split("x")],
            "arguments": comments["run"][5::2],
        }
        end = TEXT.index("}", number)
        lines = frozenset(each + 1 for each in range(number, end) if "// FAULT" in TEXT[each])
        yield Case(match[1], launch, lines, *comments.get("expect", ()))


FAULTY = {case.kernel: case for case in cases() if case.kind}
CLEAN = {case.kernel: case for case in cases() if not case.kind}


def run(case: Case) -> Behaviour:
    observed = observe(SOURCE, kernel=case.kernel, device="h100", uninitialized=True, seconds=60, **case.launch)
    assert observed.groups_done == observed.groups
    return observed


def lines(fault: Fault) -> set[int]:
    return {place.line for place in fault.places}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_has_its_line_its_work_items_and_its_name(name: str) -> None:
    case, observed = FAULTY[name], run(FAULTY[name])
    fault = observed.faults[0]
    assert (fault.kind, lines(fault) <= case.lines, bool(fault.work_items)) == (case.kind, True, True)
    named = re.search(r"(?:its variable|its array|computed from) (\w+)", fault.sentence)
    names = {fault.argument, named[1] if named else None}
    assert case.name in names or case.name == "-"
    # What else is said follows from the fault: it is of the same kernel, at its lines or behind them.
    assert all(min(lines(each)) >= min(case.lines) for each in observed.faults)


@pytest.mark.parametrize(
    "name",
    each_run("reduce", "tile", "window", "product", "scan", "vectors", "variable", "copy", "counter", others=CLEAN),
)
def test_the_same_kernel_without_the_fault_is_silent(name: str) -> None:
    assert (run(CLEAN[name]).faults, CLEAN[name].lines) == ((), frozenset())


def test_each_faulty_kernel_has_a_clean_one() -> None:
    assert len(FAULTY) == len(CLEAN) >= 12
    assert {case.kind for case in FAULTY.values()} == {"race", "bounds", "uninitialized", "barrier"}

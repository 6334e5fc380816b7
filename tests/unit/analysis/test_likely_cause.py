"""What ``check`` names as the cause of a figure, on a kernel of five instructions: row 0 is the prologue, rows 1 to 3 stand
under line 11, of which row 1 is certain, and row 4 under line 40."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.analysis.costs import costs_of
from kernlens.analysis.likely_cause import costliest_cause
from kernlens.model.code_function import CodeFunction
from kernlens.model.figures import figure_named
from kernlens.model.instruction_kind import GLOBAL, LOAD, MOVE, STORE, SYNCHRONISATION, Access, InstructionKind
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.source_map import LOST, PROLOGUE
from kernlens.model.verdict import Cause
from kernlens.report.check.verdict_text import cause_words
from tests.unit.report.test_certain_counts import uncertain

NOTHING = InstructionKind(MOVE)
BARRIER = InstructionKind(SYNCHRONISATION, Access("barrier"))
READ, WRITE = (InstructionKind(GLOBAL, Access(action, action, 4, 1, 16, "flat", 64)) for action in (LOAD, STORE))


def cause(figure: str, kinds: dict[int, InstructionKind], *, lost: bool = False, **more: Any) -> Cause | str:
    program, kernel = uncertain()
    source_map = kernel.source_map
    if lost and source_map is not None:
        source_map = replace(source_map, row_of=[PROLOGUE, *[LOST] * 4])
    every = [kinds.get(row, NOTHING) for row in range(5)]
    stand_in: Any = SimpleNamespace(
        resources=more.pop("resources", KernelResources(simd=16)),
        functions=more.pop("functions", ()),
        source_map=source_map,
        instructions=SimpleNamespace(kinds=every),
        pressure=more.pop("pressure", None),
        costs=costs_of(every),
        waits=None,
    )
    return costliest_cause(program, stand_in, figure_named(figure))


def test_a_cause_says_how_much_is_certainly_its_lines() -> None:
    some = cause("global_loads", {1: READ, 2: READ, 4: READ})
    assert isinstance(some, Cause)
    assert cause_words(some) == "2 of 3 global loads (1 for certain)"
    doubtful = cause("global_loads", {2: READ})
    assert isinstance(doubtful, Cause)
    assert cause_words(doubtful) == "1 of 1 global loads (perhaps of no line)"
    sure = cause("global_loads", {4: READ})
    assert isinstance(sure, Cause)
    assert cause_words(sure) == "1 of 1 global loads"


def test_messages_without_lines_are_told() -> None:
    assert cause("global_stores", {0: READ, 3: WRITE}, lost=True) == (
        "no line has global stores: 1 whose lines the compiler lost"
    )
    assert cause("global_loads", {0: READ, 3: WRITE}) == "no line has global loads: 1 in the prologue"


def test_private_memory_may_be_global() -> None:
    for name in ("private", "scratch"):
        assert cause(name, {4: WRITE}) == (
            "the code does not access scratch memory; private memory may be global: kernlens advise looks for arrays in it"
        )


def test_the_line_of_the_barriers() -> None:
    at = cause("barriers", {0: BARRIER, 4: BARRIER})
    assert isinstance(at, Cause)
    assert (at.line, at.counted, at.count, at.total) == (40, "barrier instructions", 1, 2)
    assert cause("barriers", {1: BARRIER, 4: BARRIER}) == "its barrier instructions stand under a.cl:11, a.cl:40"
    assert cause("barriers", {}) == "no barrier instruction has a line"


FUNCTIONS = (CodeFunction("k", range(4), 0, 64), CodeFunction("poly", range(4, 5), 64, 16))


@pytest.mark.parametrize(
    ("resources", "functions", "peak", "words"),
    [
        ({"required_sub_group_size": 8}, FUNCTIONS, 120, "the source requires sub-groups of 8 work-items"),
        ({}, FUNCTIONS, 120, "poly is not inlined, and calls keep a kernel narrow"),
        ({}, (), 48, "what keeps it narrow is not known: at most 48 of 128 GRFs are live"),
        ({"required_sub_group_size": 16}, (), 120, "120 of 128 GRFs are live there"),
    ],
)
def test_a_narrow_kernel(resources: dict[str, int], functions: tuple[CodeFunction, ...], peak: int, words: str) -> None:
    own = KernelResources(simd=8, register_files={"GRF": 128}, **resources)  # type: ignore[arg-type]
    some = cause("simd", {}, resources=own, functions=functions, pressure=SimpleNamespace(peak=peak, peak_index=4))
    assert words == (cause_words(some) if isinstance(some, Cause) else some)

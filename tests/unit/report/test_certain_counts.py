"""The readers' words on a line whose instructions are not all certainly its own, on a kernel that is written out: line 11
has the rows 1 to 3, of which row 1 begins the row of the line table. Registers: row 1 writes a, row 2 writes b, row 4 reads
both. Row 3 waits for row 1, row 4 for row 2."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.spill import _held
from kernlens.analysis.line_waits import waits_by_line
from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.cli.answers.costliest import costliest_table
from kernlens.cli.answers.pressure_answer import peak_words, pressure_document, pressure_lines
from kernlens.cli.answers.sample_notes import SampleNotes
from kernlens.explorer.line_figures import line_rows
from kernlens.model.advice import DIFFER, EQUAL, WITHIN_ULP, AdvisedKernel
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel
from kernlens.model.line_table import LineTable
from kernlens.model.program import Program
from kernlens.model.samples import Reason
from kernlens.model.source_map import SourcePlace
from kernlens.model.waits import WRITTEN, Wait, Waits
from kernlens.report.advice_text import advice_lines
from kernlens.report.listing import annotated
from kernlens.report.style import rendered
from kernlens.report.wait_words import WaitNotes, waits_document
from tests.unit.analysis.test_flow import effects
from tests.unit.report.test_listing import Parts, listed_program
from tests.writers.instruction_records import record


class Uncertain(Parts):
    def line_table(self) -> LineTable:
        return replace(
            super().line_table(),
            offsets=array("I", (0, 16, 64, 80)),
            files_of=array("I", (1,) * 4),
            lines=array("I", (10, 11, 40, 0)),
            columns=array("I", (1, 2, 3, 0)),
            flags=bytes((1, 0, 0, 2)),
        )

    def instructions(self) -> IntelInstructions:
        records = b"".join(record(offset=index * 16) for index in range(5))
        code = effects("= a= b= = =ab")
        return IntelInstructions(
            records, ["mov"], lambda: [f"  mov r{index}  " for index in range(5)], find_effects=lambda: code
        )

    def waits(self, kernel: Kernel) -> Waits:
        waits = {3: Wait(3, 1, 100, WRITTEN), 4: Wait(4, 2, 7, WRITTEN)}
        return Waits(array("I", [0, 1, 2, 103, 110]), bytes([1, 1, 1, 1, 2]), waits, [0], 6, 107)


def uncertain() -> tuple[Program, Kernel]:
    program, _ = listed_program()
    kernel = Kernel("k", Uncertain())
    return program, kernel


def text(lines: list[str]) -> str:
    return "\n".join(map(rendered, lines))


def test_waits_say_how_many_instructions_are_certain() -> None:
    program, kernel = uncertain()
    listing = text(annotated(program, kernel, None, [WaitNotes(kernel)]))
    assert "issues for 3 cycles, waits 100 for line 11 (mov); 1 of 3 instructions certain" in listing
    assert "issues for 2 cycles, waits 7 for line 11 (mov)\n" in listing
    lines = waits_document(kernel, has_lines=True)["lines"]
    assert [(line["line"], line["count"], line["certain"]) for line in lines] == [(11, 3, 1), (40, 1, 1)]
    assert [(each["rows"], each["certain"]) for line in lines for each in line["waits_for"]] == [(1, 1), (1, 0)]
    assert kernel.waits is not None
    assert [each.certain for line in waits_by_line(kernel, kernel.waits).values() for each in line] == [1, 0]


def test_pressure_says_which_holders_are_certain() -> None:
    program, kernel = uncertain()
    assert kernel.pressure is not None
    document = json.loads(json.dumps(pressure_document(kernel, has_live=False)))
    assert [(held["line"], held["registers"], held["certain"]) for held in document["held"]] == [(11, [0, 1], 1)]
    assert (document["peak"]["line"], document["peak"]["is_certain"]) == (11, False)
    assert "a.cl:11 (or no line)" in next(iter(peak_words(kernel)))
    lines = text(pressure_lines(program, kernel))
    assert "2 of 4 instructions under source lines are certain" in lines
    heading, row = (line.split() for line in lines.splitlines() if line.startswith(("  values of", "  a.cl:11 ")))
    assert heading[-2:] == ["certain", "source"]
    assert row[:3] == ["a.cl:11", "2", "1"]
    assert "certain" in text(costliest_table(program, kernel, 1, "instructions", has_pressure=True))


def test_figures_of_lines_for_editors() -> None:
    rows = [row for _, row in line_rows(uncertain()[1])]
    assert [(row["line"], row["instructions"], row["certain"]) for row in rows] == [(11, 3, 1), (40, 1, 1)]


def on_each_row() -> PlacedSamples:
    return PlacedSamples("p", (Reason("r"),), (None,), dict.fromkeys(range(5), (1,)), {}, (), 0)


def test_samples_beside_lines() -> None:
    program, kernel = uncertain()
    listing = text(annotated(program, kernel, None, [SampleNotes(kernel, on_each_row())]))
    assert listing.count("are certainly its own") == 1
    assert "1 of 3 samples are on instructions that are certainly its own" in listing


def test_advice_on_spills() -> None:
    _, kernel = uncertain()
    facts: Any = SimpleNamespace(kernel=kernel, code=kernel.instructions)
    words = "hold at most 2 of the 2 live registers at the pressure peak, and the kernel spills"
    assert _held(facts)[1] == words


def rule(results: str) -> Rule:
    return Rule("rule", "Rule", (results,), lambda _: iter(()))


def advice_on(rows: list[int], *, is_exact: bool = False) -> str:
    program, kernel = uncertain()
    piece = rule(EQUAL).advice(
        *(Facts(program, kernel), SourcePlace("a.cl", 11, 2), rows, "`f`", "is", "write less"), is_exact=is_exact
    )
    return text(list(advice_lines([AdvisedKernel(program, kernel, (piece,))])))


def test_advice_counts_its_own_line_apart_from_others() -> None:
    mixed = advice_on([1, 2, 4])
    assert "(at most 60.0% of the kernel)" in mixed
    assert ", 1 of 3 certainly of this line, 1 of other lines; " in mixed


def test_the_share_of_certain_instructions_is_no_bound() -> None:
    assert "`f` is (40.0% of the kernel)" in advice_on([1, 4])
    assert ", 1 of 2 certainly of this line, 1 of other lines; " in advice_on([1, 4])
    assert "`f` is (60.0% of the kernel)" in advice_on([1, 2, 4], is_exact=True)


@pytest.mark.parametrize("option", ["-cl-mad-enable", "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math"])
def test_results_may_differ_where_the_compiler_may_contract(option: str) -> None:
    program, kernel = uncertain()

    def results(options: str, action: str) -> str:
        facts = Facts(replace(program, build=replace(program.build, options=options)), kernel)
        return rule(action).advice(facts, None, [1], "`f`", "is", "write less").results

    assert results("-cl-std=CL2.0", EQUAL) == "stay equal"
    assert results(f"-cl-std=CL2.0 {option}", EQUAL) == "may differ"
    assert results(option, WITHIN_ULP) == "may differ"
    assert results(option, DIFFER) == "differ"


def test_a_rule_says_what_it_does_to_results() -> None:
    program, kernel = uncertain()
    with pytest.raises(ValueError, match="not in tuple"):
        rule(EQUAL).advice(Facts(program, kernel), None, [1], "`f`", "is", "write less", results=DIFFER)

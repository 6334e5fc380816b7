"""Waits in listings, tables, JSON and CSV, of a kernel that is written out in test_listing."""

from __future__ import annotations

import json

import pytest

from kernlens.cli.answers.costliest import costliest_kernel, costliest_table
from kernlens.cli.answers.rows import csv_lines
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.report.listing import annotated
from kernlens.report.program_document import kernel_json
from kernlens.report.style import rendered
from kernlens.report.wait_words import CSV_COLUMNS, WaitNotes, csv_cells
from tests.unit.cli.test_costliest import KINDS
from tests.unit.conftest import Kernlens
from tests.unit.report.test_listing import Parts, listed_program
from tests.writers.instruction_records import record


def waiting(*, has_lines: bool = True, has_waits: bool = True) -> tuple[Program, Kernel]:
    program, _ = listed_program()
    kernel = Kernel("k", Parts(has_lines, has_waits))
    records = b"".join(record(offset=index * 16) for index in range(5))
    texts = [f"  mov r{index}  " for index in range(5)]
    kernel.instructions = IntelInstructions(records, ["mov"], lambda: texts, classify=lambda _: list(KINDS))
    return program, kernel


def listing(only: LineChoice | None = None, *, has_lines: bool = True, has_waits: bool = True) -> list[str]:
    program, kernel = waiting(has_lines=has_lines, has_waits=has_waits)
    lines = annotated(program, kernel, only, [WaitNotes(kernel)])
    return [rendered(line) for line in lines]


def test_the_listing() -> None:
    lines = listing()
    assert lines[2] == "  IGC's estimate, one thread alone, loops once: 6 issue cycles, 137 wait cycles, 96% waits"
    assert lines[3] == ""
    shown = [line.strip() for line in lines if "cycle" in line]
    assert shown[1:] == [
        "issues for 1 cycle",
        "issues for 1 cycle, waits 30 for the prologue (global read)",
        "0x0010    mov r1  ; waits 30 cycles for 0x0000, the prologue (global read)",
        "issues for 1 cycle, waits 100 for line 11 (operands of the spill write)",
        "0x0030    mov r3  ; waits 100 cycles for 0x0010, line 11 (operands of the spill write)",
        "0x0040    mov r4  ; waits 7 cycles for 0x0010, a.cl:11 (token of the spill write)  ; inlined at a.cl:12",
    ]


def test_one_line() -> None:
    lines = listing(LineChoice(None, 11))
    assert lines[2] == "  IGC's estimate, one thread alone, loops once: 6 issue cycles, 137 wait cycles, 96% waits"
    assert [line.strip() for line in lines if "waits 30 for" in line] == [
        "issues for 1 cycle, waits 30 for the prologue (global read)"
    ]
    assert listing(LineChoice(None, 12345)) == []


def test_without_lines_the_instructions_tell() -> None:
    lines = listing(has_lines=False)
    assert lines[3] == "  IGC's estimate, one thread alone, loops once: 6 issue cycles, 137 wait cycles, 96% waits"
    assert [line.strip() for line in lines if ";" in line] == [
        "0x0010    mov r1  ; waits 30 cycles for 0x0000, no line (global read)",
        "0x0030    mov r3  ; waits 100 cycles for 0x0010, no line (operands of the spill write)",
        "0x0040    mov r4  ; waits 7 cycles for 0x0010, no line (token of the spill write)",
    ]


def test_waits_that_are_not_known_are_said_to_be() -> None:
    lines = listing(has_waits=False)
    assert lines[2] == "  waits are unknown on Gen9"
    assert not [line for line in lines if "cycle" in line]
    table = [rendered(line) for line in costliest_table(*waiting(has_waits=False), 3, "wait", has_waits=True)]
    assert table[-2:] == ["  waits are unknown on Gen9", ""]
    document = json.loads(costliest_kernel(*waiting(has_waits=False), 3, "wait", has_waits=True))
    assert (document["waits"]["reason"], document["waits"]["wait_cycles"], document["lines"]) == (
        "waits are unknown on Gen9",
        None,
        None,
    )
    listed = json.loads(kernel_json(waiting(has_waits=False)[1], is_placed=True, has_waits=True))
    assert (listed["waits"]["estimate"], listed["waits"]["lines"]) == (None, None)
    assert "cycle" not in listed["instructions"][0]
    assert csv_cells(waiting(has_waits=False)[1]) == [("", "", "", "", "")] * 5


def test_the_lines_that_wait_longest() -> None:
    table = [rendered(line) for line in costliest_table(*waiting(), 2, "wait", has_waits=True)]
    heading = next(line for line in table if line.startswith("  line"))
    assert heading.split()[-8:] == ["issue", "cycles", "wait", "cycles", "waits", "most", "for", "source"]
    lines = [line for line in table if line.startswith("  a.cl:")]
    assert [line.split()[0] for line in lines] == ["a.cl:40", "a.cl:11"]
    assert lines[0].endswith("1          100  100 for line 11 (operands of the spill write)  line 40")
    document = json.loads(costliest_kernel(*waiting(), 9, "wait", has_waits=True))
    parts = [document[key] for key in ("other_lines", "prologue", "inherited", "without_line")]
    parts += [line["costs"] for line in document["lines"]]
    for key in ("issue_cycles", "wait_cycles"):
        assert sum(part[key] for part in parts) == document["costs"][key] == document["waits"][key]
    assert document["lines"][0]["waits_for"] == [
        {
            "path": "a.cl",
            "line": 11,
            "origin": None,
            "operation": "spill write",
            "why": "read",
            "cycles": 100,
            "rows": 1,
            "certain": 1,
        }
    ]


def test_nobody_who_does_not_ask_gets_cycles() -> None:
    program, kernel = waiting()
    annotated(program, kernel)
    kernel_json(kernel, is_placed=True)
    costliest_table(program, kernel, 3, "instructions")
    costliest_kernel(program, kernel, 3, "instructions")
    assert not {"waits", "waits_reason"} & set(vars(kernel))


def test_json_and_csv_of_instructions() -> None:
    _, kernel = waiting()
    document = json.loads(kernel_json(kernel, is_placed=True, has_waits=True))
    cycles = [(each["cycle"], each["issue_cycles"], each["wait"]) for each in document["instructions"]]
    assert cycles == [
        (0, 1, None),
        (31, 1, {"cycles": 30, "for": 0, "why": "written"}),
        (32, 1, None),
        (133, 1, {"cycles": 100, "for": 16, "why": "read"}),
        (141, 2, {"cycles": 7, "for": 16, "why": "taken"}),
    ]
    assert [(line["line"], line["issue_cycles"], line["wait_cycles"]) for line in document["waits"]["lines"]] == [
        (10, 1, 0), (11, 1, 30), (40, 1, 100),
    ]  # fmt: skip
    assert [(line["count"], line["certain"]) for line in document["waits"]["lines"]] == [(1, 1)] * 3
    rows = [line.split(",")[-len(CSV_COLUMNS) :] for line in csv_lines(*waiting(), None, csv_cells(kernel))]
    assert rows[1] == ["31", "1", "30", "0", "written"]
    assert rows[2] == ["32", "1", "0", "", ""]
    only = json.loads(kernel_json(kernel, LineChoice(None, 11), is_placed=True, has_waits=True))
    assert [each["cycle"] for each in only["instructions"]] == [31]


@pytest.mark.parametrize("words", [("--waits", "--offset", "0"), ("--waits", "--pressure")])
def test_what_does_not_go_together(words: tuple[str, ...], kernlens: Kernlens) -> None:
    done = kernlens("annotate", "x.bin", *words)
    assert (done.status, done.out) == (2, "")
    assert "--waits" in done.err

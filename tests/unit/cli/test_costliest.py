"""``annotate --top`` and ``inspect --sort``: the costliest lines first, and the kernels with most of a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernlens.cli.annotate import FORMATS
from kernlens.cli.answers.costliest import costliest_kernel, costliest_program, costliest_table
from kernlens.cli.answers.overview import program_overview
from kernlens.model.figures import COSTS, CYCLES, FIGURES, LINE_COLUMNS, LINE_ORDERS, PRESSURES, WAIT_COLUMNS
from kernlens.model.instruction_kind import Access, InstructionKind
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel
from kernlens.model.program import Kernels, Program
from kernlens.report.program_document import inspect_document
from kernlens.report.style import rendered
from kernlens.report.table import table
from tests.unit.conftest import Kernlens
from tests.unit.report.test_listing import listed_program
from tests.writers.instruction_records import record
from tests.writers.programs import SOURCE

MATH, MOVE = InstructionKind("math"), InstructionKind("move")
LOAD = InstructionKind("global", Access("load", "load", 4, 4, 16, "flat", 256))
SPILL = InstructionKind("scratch", Access("store", "store", 32, 4, 1, "scratch", 128, is_spill=True))
FILL = InstructionKind("scratch", Access("load", "load", 32, 1, 1, "scratch", 32, is_spill=True))

#: The lines of the kernel's instructions: the prologue, 11, 10, 40, none.
KINDS = (LOAD, SPILL, LOAD, MATH, MOVE)


def costing(kinds: tuple[InstructionKind, ...] = KINDS, *, has_lines: bool = True) -> tuple[Program, Kernel]:
    program, kernel = listed_program(has_lines)
    records = b"".join(record(offset=index * 16) for index in range(len(kinds)))
    kernel.instructions = IntelInstructions(records, [""], list, classify=lambda _: list(kinds))
    return program, kernel


def lines_of(order: str, count: int = 9, kinds: tuple[InstructionKind, ...] = KINDS) -> list[str]:
    return [rendered(line) for line in costliest_table(*costing(kinds), count, order)]


def test_the_table() -> None:
    assert lines_of("memory", 2) == [
        "k  p on no device yet",
        "  SIMD16, 128 GRFs available, no spill, 5 instructions in 80 bytes",
        "  2 global memory, 1 math, 1 move, 1 scratch memory",
        "  bytes at most, if each instruction runs once with all lanes active: global 512 read, scratch 128 written",
        "  1 spill store of 128 bytes, 0 fill loads of 0",
        "",
        "  line            instructions      %  sends  memory bytes  spill stores  spill/fill bytes  math  source",
        "  a.cl:10                    1  20.00      1           256             0                 0     0  line 10",
        "  a.cl:11                    1  20.00      1           128             1               128     0  line 11",
        "  1 other line               1  20.00      0             0             0                 0     1",
        "  prologue                   1  20.00      1           256             0                 0     0",
        "  without a line             1  20.00      0             0             0                 0     0",
        "",
    ]


@pytest.mark.parametrize(
    ("order", "first"),
    [("instructions", ["10", "11", "40"]), ("memory", ["10", "11"]), ("spill", ["11"]), ("math", ["40"])],
)
def test_the_orders(order: str, first: list[str]) -> None:
    document = json.loads(costliest_kernel(*costing(), 9, order))
    assert [str(line["line"]) for line in document["lines"]] == first
    shown = [line.split()[0] for line in lines_of(order) if line.startswith("  a.cl")]
    assert shown == [f"a.cl:{line}" for line in first]


def test_nothing_of_what_was_asked_for() -> None:
    (words, _) = lines_of("math", kinds=(LOAD, MOVE, MOVE, MOVE, MOVE))[-2:]
    assert words.startswith("  No line has any instruction of the math unit ("), "floats may be computed all the same"
    assert lines_of("spill", kinds=(LOAD, MATH, MATH, MATH, MOVE))[-2:] == ["  No line has any spill/fill bytes.", ""]


def test_a_kernel_without_lines() -> None:
    lines = [rendered(line) for line in costliest_table(*costing(has_lines=False), 3, "instructions")]
    assert lines[-2:] == ["  No source lines: built without debug data", ""]
    assert "  2 global memory, 1 math, 1 move, 1 scratch memory" in lines
    document = json.loads(costliest_kernel(*costing(has_lines=False), 3, "instructions"))
    assert (document["lines"], document["costs"]["instructions"]) == (None, 5)


def test_what_the_document_adds_up_to() -> None:
    document = json.loads(costliest_kernel(*costing(), 1, "instructions"))
    parts = [document[key] for key in ("other_lines", "prologue", "inherited", "without_line")]
    parts += [line["costs"] for line in document["lines"]]
    assert len(parts) == 5
    assert {key: sum(part[key] for part in parts) for key in document["costs"]} == document["costs"]
    assert document["lines"][0]["source"] == "line 10"
    assert document["lines"][0]["path"] == "a.cl"


def test_each_figure_has_an_origin() -> None:
    origins = costliest_program(costing()[0])["origins"]
    keys = [figure.key for figure in (*FIGURES, *PRESSURES, *COSTS)]
    assert list(origins) == keys
    assert {origins[key] for key in ("simd", "spill_bytes")} == {None}
    assert {origins[key] for key in ("code_size", "instructions", "spill_stores", "spill_load_bytes")} == {"binary"}
    assert origins["global_load_bytes"] == "upper bound"


def test_columns_are_sums_of_costs() -> None:
    keys = {"instructions", *(figure.key for figure in COSTS)}
    assert all(keys.issuperset(column.keys) for column in LINE_COLUMNS)
    assert [column.keys for column in WAIT_COLUMNS] == [(key,) for key in CYCLES]
    assert list(LINE_ORDERS) == ["instructions", "memory", "spill", "math", "wait"]


def ask(kernlens: Kernlens, *words: str | Path) -> Any:
    (program,) = kernlens("annotate", *words, "--json").document["programs"]
    return program


def test_the_command(kernlens: Kernlens, file: Path) -> None:
    (file.parent / "scale.cl").write_text(SOURCE)
    text = kernlens("annotate", file, "--kernel", "scale", "--top", "1").out
    assert "  scale.cl:2 " in text
    assert "1 other line" in text
    assert "mov r0" not in text
    document = kernlens("annotate", file, "--kernel", "scale", "--top", "1", "--json").document
    assert document["by"] == "instructions"
    (kernel,) = document["programs"][0]["kernels"]
    assert [(line["line"], line["costs"]["instructions"]) for line in kernel["lines"]] == [(2, 2)]
    assert kernel["lines"][0]["source"] == SOURCE.split("\n")[1].strip()
    assert "instructions" not in kernel
    assert ask(kernlens, file, "--top", "1", "--sort", "spill")["kernels"][0]["lines"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--sort", "math"),
        ("--top", "0"),
        ("--top", "3", "--sort", "colour"),
        ("--top", "3", "--line", "2"),
        ("--top", "3", "--offset", "0"),
        *(("--top", "3", "--format", name) for name in FORMATS if name not in ("text", "json")),
    ],
)
def test_what_does_not_go_together(words: tuple[str, ...], kernlens: Kernlens, file: Path) -> None:
    done = kernlens("annotate", file, *words)
    assert (done.status, done.out) == (2, "")


def test_nothing_is_classified_for_a_plain_listing(
    kernlens: Kernlens, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def classify(instructions: IntelInstructions) -> None:
        raise AssertionError("the kinds of instructions are not printed")

    monkeypatch.setattr(IntelInstructions, "kinds", property(classify))
    for words in ((), ("--json",), ("--line", "2"), ("--format", "csv")):
        assert kernlens("annotate", file, *words).status == 0
    assert kernlens("inspect", file).status == 0


def test_nothing_is_rendered_for_the_table(kernlens: Kernlens, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.writers.programs import decoded

    asked = []

    def decode(*words: Any, texts: bool, **others: Any) -> list[IntelInstructions]:
        asked.append(texts)
        return decoded(*words, **others)

    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decode)
    kernlens("annotate", file, "--top", "1")
    kernlens("annotate", file)
    assert asked == [False, True]


def two_kernels() -> Program:
    program, much = costing()
    less, unknown = costing((MATH,) * 5)[1], costing()[1]
    for name, kernel, size in (("less", less, 3), ("much", much, 70), ("unknown", unknown, None)):
        kernel.name = name
        # Resources are frozen, and read once.
        kernel.resources = type(kernel.resources)(spill_bytes=size)
    return Program(
        "p", "raw", Kernels({"unknown": unknown, "less": less, "much": much}), find_sources=program.find_sources
    )


def test_kernels_in_order_of_a_figure(kernlens: Kernlens, file: Path) -> None:
    from kernlens.model.figures import figure_named

    program = two_kernels()
    for name in ("spill", "spill_bytes"):
        (listed,) = inspect_document([], [program], figure_named(name))["programs"]
        assert [kernel["name"] for kernel in listed["kernels"]] == ["much", "less", "unknown"]
    overview = [rendered(line) for line in program_overview(program, figure_named("math_instructions"))]
    assert "math instructions" in overview[1]
    assert [line.split()[0] for line in overview[2:5]] == ["less", "unknown", "much"]
    (listed,) = inspect_document([], [program], figure_named("spill-stores"))["programs"]
    assert [kernel["spill_stores"] for kernel in listed["kernels"]] == [1, 1, 0]
    done = kernlens("inspect", file, "--sort", "spil")
    assert (done.status, done.out) == (2, "")
    assert "did you mean spill" in done.err


def test_sorting_a_file_and_a_folder(kernlens: Kernlens, file: Path) -> None:
    whole = kernlens("inspect", file, "--sort", "code bytes", "--json").document["programs"][0]["kernels"]
    assert [kernel["code_size"] for kernel in whole] == sorted((kernel["code_size"] for kernel in whole), reverse=True)
    folder = kernlens("inspect", file.parent, "--sort", "code bytes", "--json").document["programs"][0]["kernels"]
    assert folder == whole
    assert "move instructions" in kernlens("inspect", file.parent, "--sort", "move_instructions").out


def test_top_and_pressure_fit_a_hundred_columns_and_go_together(kernlens: Kernlens, file: Path) -> None:
    long = "int id = get_global_id(0);" * 9
    source = file.parent / "scale.cl"
    source.write_text(f"\n{long}\n{long}\n")
    words = ("annotate", file, "--kernel", "scale")
    for asked in (("--top", "3"), ("--pressure",), ("--top", "3", "--pressure")):
        lines = kernlens(*words, *asked).out.splitlines()
        assert max(map(len, lines)) <= 100, asked
    assert any(line.endswith("…") for line in kernlens(*words, "--top", "3").out.splitlines())
    assert any(line.endswith(long) for line in kernlens(*words, "--top", "3", "--full").out.splitlines())
    both = kernlens(*words, "--top", "3", "--pressure")
    assert (both.status, "Register pressure is not known" in both.out, "  line " in both.out) == (0, True, True)
    (program,) = kernlens(*words, "--top", "3", "--pressure", "--json").document["programs"]
    assert {"costs", "lines", "pressure", "spilled_values"} <= program["kernels"][0].keys()


def test_what_goes_below_has_the_room_that_is_there() -> None:
    headings = ("line", *(f"figure {number}" for number in range(9)), "source")
    lines = list(map(rendered, table(headings, [("a.cl:1", *range(9), "x" * 70)], width=100)))
    assert max(map(len, lines)) <= 100
    assert any(line.split() == ["a.cl:1", "x" * 70] for line in lines)

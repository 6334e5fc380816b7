"""A profiler's samples on a kernel that is written out here: beside lines, as a table, JSON and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence

import pytest

from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.comparison.sample_changes import sample_change
from kernlens.analysis.placed_samples import Blame, PlacedSamples, placed_samples
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.cli.answers.rows import csv_lines
from kernlens.cli.answers.sample_comparison import sample_change_document, sample_change_lines
from kernlens.cli.answers.sample_notes import SampleNotes, sample_sentences
from kernlens.cli.answers.sample_table import sample_cells, sample_columns_of, sampled_table, samples_document
from kernlens.dataclass import replace
from kernlens.errors import NotFoundError
from kernlens.formats.samples.unitrace import read_unitrace
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.explore.sample_columns import sample_columns
from kernlens.report.listing import annotated
from kernlens.report.style import rendered
from kernlens.verbs.sampled import sample_matches
from tests.unit.report.test_listing import listed_program
from tests.writers.stall_samples import REASONS, Device, Row, counts, legacy_stall_samples, stall_samples

#: The instructions are at 0 (prologue), 16 (line 11), 32 (line 10, inlined at line 40), 48 (line 40) and 64 (no line).
ROWS: list[Row] = [
    ("k", 0, counts(Active=1)),
    ("k", 16, counts(Active=2, SbidStall=60)),
    ("k", 32, counts(Active=4)),
    ("k", 48, counts(DistStall=20, SendStall=3)),
    ("k", 64, counts(OtherStall=5)),
    ("k", 72, counts(Active=7)),
    ("void f<a, 2>(int)", 8, counts(Active=9)),
]
TOTAL = sum(sum(numbers) for _, _, numbers in ROWS)
ON_ROWS = TOTAL - 7 - 9


def sampled(rows: Sequence[Row] = ROWS) -> SampledKernels:
    return SampledKernels(read_unitrace(stall_samples(rows).encode()))


def on_kernel(rows: Sequence[Row] = ROWS, has_lines: bool = True) -> tuple[Program, Kernel, PlacedSamples]:
    """Return the kernel with the samples on it; those of waits are laid on rows 0 and 2, as if its code had tokens."""
    program, kernel = listed_program(has_lines)
    placed = placed_samples(sampled(rows), "k", kernel.instructions)
    return (
        program,
        kernel,
        PlacedSamples(
            placed.profiler,
            placed.reasons,
            placed.devices,
            placed.counts,
            placed.unplaced,
            [Blame(1, 0, 30), Blame(1, 2, 30)],
            20,
        ),
    )


def listing(has_lines: bool = True) -> list[str]:
    program, kernel, placed = on_kernel(has_lines=has_lines)
    return [rendered(line) for line in annotated(program, kernel, None, [SampleNotes(kernel, placed)])]


def test_counts_without_a_sample() -> None:
    _, kernel, placed = on_kernel()
    bare = replace(placed, counts={}, unplaced={}, blames=[], unblamed=0)
    assert list(sample_sentences(bare)) == ["no samples of this kernel"]
    counted = replace(bare, measures=("Instructions Executed",), measured={1: (128,)})
    sentence = "no samples of this kernel; unitrace counted what it did all the same"
    assert list(sample_sentences(counted)) == [sentence]
    assert "128 Instructions Executed" in SampleNotes(kernel, counted).of_row(1)


def test_beside_lines_and_instructions() -> None:
    lines = listing()
    assert lines[2:5] == [
        "  95 samples of unitrace: 60 SbidStall, 20 DistStall, 7 Active, 5 OtherStall, 3 SendStall",
        "  7 more samples at offsets where no instruction begins (0x0048): compare with the binary that ran",
        "  20 samples of waits for what the code alone does not tell",
    ]
    assert lines[7].startswith(
        "    line instr      % samples      % | instructions from the line, and % of the kernel's"
    )
    assert (
        next(line for line in lines if line.endswith("| line 11")) == "      11     1  20.0%      62  65.3% | line 11"
    )
    assert next(line for line in lines if "mov r1" in line).endswith(
        "mov r1  ; 62 samples: 60 SbidStall, 2 Active; waits for 0x0000, 0x0020"
    )
    assert "mov r2  ; 4 samples: 4 Active; 30 samples wait for it" in next(line for line in lines if "mov r2" in line)
    assert any("mov r0  ; 1 sample: 1 Active; 30 samples wait for it" in line for line in lines), "of the prologue too"
    assert any("mov r4  ; 5 samples: 5 OtherStall" in line for line in lines), "without a line too"
    beside = next(line for line in lines if line.endswith("| line 9"))
    assert beside.index("|") == lines[7].index("|"), "lines without code are as wide"


def test_without_lines() -> None:
    lines = listing(has_lines=False)
    assert lines[0].startswith("No source lines for k")
    assert any("mov r1  ; 62 samples" in line for line in lines)


def test_the_table_of_the_lines_with_most_samples() -> None:
    program, kernel, placed = on_kernel()
    assert [rendered(line) for line in sampled_table(program, kernel, placed, 2)][6:] == [
        "  line            samples      %  waited for  SbidStall  DistStall  Active  OtherStall  SendStall  source",
        "  a.cl:11              62  65.26           0         60          0       2           0          0  line 11",
        "  a.cl:40              23  24.21           0          0         20       0           0          3  line 40",
        "  1 other line          4   4.21          30          0          0       4           0          0",
        "  prologue              1   1.05           -          0          0       1           0          0",
        "  without a line        5   5.26           -          0          0       0           5          0",
        "",
    ]


def test_samples_are_documents_by_reason_and_line() -> None:
    _, kernel, placed = on_kernel()
    document = json.loads(json.dumps(samples_document(kernel, placed)))
    assert (document["profiler"], document["devices"], document["total"]) == ("unitrace", [None], ON_ROWS)
    assert document["reasons"] == {"Active": 7, "SendStall": 3, "DistStall": 20, "SbidStall": 60, "OtherStall": 5}
    assert document["instructions"][1] == {
        "offset": 16,
        "samples": {"Active": 2, "SbidStall": 60},
        "waits_for": [{"offset": 0, "samples": 30}, {"offset": 32, "samples": 30}],
        "waited_for": 0,
        "measured": {},
    }
    assert [(line["line"], line["total"], line["waited_for"]) for line in document["lines"]] == [
        (11, 62, 0),
        (40, 23, 0),
        (10, 4, 30),
    ]
    assert document["without_instruction"] == [{"offset": 72, "samples": {"Active": 7}}]
    assert document["unknown_producer"] == 20


def test_samples_are_columns_of_the_table() -> None:
    program, kernel, placed = on_kernel()
    laid = placed.laid_on()
    more = (sample_cells(placed, row, laid.get(row, 0)) for row in range(5))
    rows = list(csv.reader(csv_lines(program, kernel, None, more)))
    columns = sample_columns_of([*REASONS[:-1], "=HYPERLINK(1)"])
    assert columns[-2:] == ["'=HYPERLINK(1)", "waited_for"], "names are out of a file"
    assert {len(row) for row in rows} == {11 + len(columns)}
    assert [int(row[11]) for row in rows] == [1, 62, 4, 23, 5]
    assert [int(row[-1]) for row in rows] == [30, 0, 30, 0, 0]


def test_columns_of_the_viewer() -> None:
    _, _, placed = on_kernel()
    columns = sample_columns(placed)
    assert columns is not None
    assert columns["rows"]["row"] == [0, 1, 1, 1, 1]
    assert columns["rows"]["counts"][1] == list(counts(Active=2, SbidStall=60))
    assert columns["blamed"] == {"row": [1, 0], "back": [1, -1], "samples": [30, 30]}
    assert (columns["total"], columns["unblamed"]) == (ON_ROWS, 20)
    assert columns["unplaced"] == {"offset": [72], "samples": [7]}
    assert columns["reasons"][5] == {"name": "SbidStall", "stall": True}
    _, kernel = listed_program()
    assert sample_columns(placed_samples(sampled(), "other", kernel.instructions)) is None


def test_two_sides() -> None:
    program, kernel, _ = on_kernel()
    fewer = [(name, offset, counts(Active=1)) for name, offset, _ in ROWS]
    change = sample_change(KernelPair(program, program, kernel, kernel), sampled(), sampled(fewer))
    assert change is not None
    cells = [rendered(line).split() for line in sample_change_lines(change)]
    assert ["SbidStall", "60", "63.16", "0", "0.00"] in cells
    assert ["a.cl:11", "62", "65.26", "1", "20.00", "line", "11"] in cells
    document = sample_change_document(change)
    assert document["lines"][0] == {"path": "a.cl", "old_line": 11, "new_line": 11, "old": 62, "new": 1}
    assert sample_change(KernelPair(program, program, kernel, kernel), sampled(ROWS[-1:]), sampled(ROWS[-1:])) is None


SCALE = "_ZN3rng5scaleIfLi16EEEvPT_i"
SYCL = "_ZTSZ4mainEUlT_E_"


def test_kernels_by_their_demangled_names() -> None:
    rows: list[Row] = [
        ("void rng::scale<float, 16>(float*, int)", 8, counts(Active=1)),
        ("main::{lambda(auto:1)#1}", 8, counts(Active=2)),
        ("plain", 8, counts(Active=3)),
        ("absent<a, b>", 8, counts(Active=4)),
    ]
    kernels = sampled(rows)
    assert [[each.total for each in kernels.of(name)] for name in (SCALE, SYCL, "plain")] == [[1], [2], [3]]
    assert [each.name for each in kernels.without([SCALE, SYCL, "plain"])] == ["absent<a, b>"]
    assert [each.total for each in sampled([(SCALE, 8, counts(Active=5))]).of(SCALE)] == [5], "not demangled"
    assert sampled([("void rng::scale<float,16> (float *,int)", 8, counts(Active=6))]).of(SCALE), "blanks do not count"


def test_several_devices_are_summed() -> None:
    text = legacy_stall_samples(
        [Device(0, [("k", 16, counts(Active=1))]), Device(3, [("k", 16, counts(Active=2)), ("j", 0, counts(Active=1))])]
    )
    samples, (_, kernel) = read_unitrace(text.encode()), listed_program()
    both = placed_samples(SampledKernels(samples), "k", kernel.instructions)
    assert (both.devices, both.total) == ((0, 3), 3)


def test_what_is_not_shown_is_named() -> None:
    program, _ = listed_program()
    matches = sample_matches(sampled(), [program, program])
    assert list(matches.warnings()) == [
        "9 samples at 1 address not shown, of 1 kernel that the input does not hold: void f<a, 2>(int)",
        "several programs hold a kernel of the same name, and each is shown with all samples of that name: k; choose a"
        " program with --device",
    ]
    with pytest.raises(NotFoundError, match=r"they are of void f<a, 2>\(int\); the input holds k"):
        sample_matches(sampled(ROWS[-1:]), [program])

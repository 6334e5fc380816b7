"""How many instructions each line has: the same in every answer, on real kernels with the compile's stages and without."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.comparison.kernel_changes import Comparison
from kernlens.analysis.comparison.line_changes import NEIGHBOURS, WITHOUT_LINE
from kernlens.analysis.comparison.pairs import pair
from kernlens.analysis.likely_cause import costliest_cause
from kernlens.cli.answers.costliest import costliest_kernel, costliest_table
from kernlens.cli.answers.rows import HEADING, csv_lines
from kernlens.loading import open_build
from kernlens.model.build import HeldParts
from kernlens.model.figures import FIGURES
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.report.explore import explore_document
from kernlens.report.listing import annotated
from kernlens.report.program_document import kernel_json
from kernlens.report.style import rendered
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.explore_reader import KernelChunk, unpacked

#: (path, line) -> instructions; and how many instructions only stand under each line.
Counts = tuple[Counter[tuple[str, int]], Counter[tuple[str, int]]]
ALL = 1_000_000
#: Flags of the explore document: a row's place is that of another row.
PROLOGUE, INHERITED, LOST = 1, 2, 4
REMARK = "its neighbour's line: the compiler gives it none"


@pytest.fixture(scope="module", params=["dg2", "bmg"])
def compiled(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    """darktable's denoiseprofile, with its stages."""
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    source = darktable_kernels / "denoiseprofile.cl"
    return kernlens.stages(source, request.param, toolchain=NEWEST if request.param == "bmg" else SYSTEM)


@pytest.fixture(scope="module", params=["stages", "no stages"])
def program(request: pytest.FixtureRequest, compiled: Pipeline) -> Program:
    """The program with the stages of its compile, and without."""
    (only,) = (each for each in compiled.programs if each.kernels)
    if request.param == "no stages":
        (only,) = _without_stages(only)
    return only


def _without_stages(program: Program) -> list[Program]:
    build = program.build
    parts = HeldParts(binary=build.binary, debug=build.debug, sources=build.sources)
    return [each for each in open_build(replace(build, parts=parts)) if each.kernels]


def of_json(program: Program, kernel: Kernel) -> Counts:
    own: Counter[tuple[str, int]] = Counter()
    inherited: Counter[tuple[str, int]] = Counter()
    for entry in json.loads(kernel_json(kernel, is_placed=True))["instructions"]:
        if entry["line_origin"] in ("table", "uncertain", "stage"):
            own[entry["path"], entry["line"]] += 1
        elif entry["line_origin"] == "inherited":
            inherited[entry["path"], entry["line"]] += 1
    return own, inherited


def of_csv(program: Program, kernel: Kernel) -> Counts:
    own: Counter[tuple[str, int]] = Counter()
    inherited: Counter[tuple[str, int]] = Counter()
    for row in csv.DictReader(io.StringIO("\n".join([HEADING, *csv_lines(program, kernel)]))):
        if row["line_origin"] in ("table", "uncertain", "stage"):
            own[row["path"], int(row["line"])] += 1
        elif row["line_origin"] == "inherited":
            inherited[row["path"], int(row["line"])] += 1
    return own, inherited


def of_text(program: Program, kernel: Kernel) -> Counts:
    own: Counter[tuple[str, int]] = Counter()
    inherited: Counter[tuple[str, int]] = Counter()
    paths = sorted({path for path, _ in (*of_json(program, kernel)[0], *of_json(program, kernel)[1])})
    here = ("", 0)
    for row in map(rendered, annotated(program, kernel)):
        if (path := row.strip().partition("  (source text")[0]) in paths:
            here = path, 0
        elif counted := re.match(r"  +(\d+) +(\d+) +\d+\.\d% +[ \d]*\|", row):
            here = here[0], int(counted[1])
            if int(counted[2]):
                own[here] += int(counted[2])
        elif REMARK in row:
            inherited[here] += 1
    return own, inherited


def of_top_json(program: Program, kernel: Kernel) -> Counts:
    answer = json.loads(costliest_kernel(program, kernel, ALL, "instructions"))
    own = Counter({(line["path"], line["line"]): line["costs"]["instructions"] for line in answer["lines"]})
    inherited = Counter(
        {(line["path"], line["line"]): line["inherited"] for line in answer["lines"] if line["inherited"]}
    )
    # What stands under lines that have no instruction of their own is in the sum alone.
    bare = of_json(program, kernel)[1]
    inherited += Counter({line: count for line, count in bare.items() if line not in own})
    assert sum(inherited.values()) == answer["inherited"]["instructions"]
    return own, inherited


def certain_of_json(program: Program, kernel: Kernel) -> Counter[tuple[str, int]]:
    entries = json.loads(kernel_json(kernel, is_placed=True))["instructions"]
    return Counter((each["path"], each["line"]) for each in entries if each["line_origin"] in ("table", "stage"))


def test_certain_counts_are_the_same_everywhere(program: Program) -> None:
    for kernel in program.kernels.values():
        certain = certain_of_json(program, kernel)
        answer = json.loads(costliest_kernel(program, kernel, ALL, "instructions"))
        top = Counter({(line["path"], line["line"]): line["certain"] for line in answer["lines"]})
        assert +top == certain
        assert kernel.source_map is not None
        assert +Counter({line: code.certain for line, code in kernel.source_map.lines.items()}) == certain
        lines = sum(line["costs"]["instructions"] for line in answer["lines"])
        if lines > certain.total():
            assert any(f"{certain.total():,} of {lines:,} instructions" in row for row in annotated(program, kernel))


def of_page(program: Program, kernel: Kernel) -> Counts:
    """As the viewer counts: rows whose flags say that the place is their own."""
    document = explore_document([program])
    columns = document.index["programs"][0]["kernels"]
    chunk = KernelChunk(unpacked(document.chunks[columns["chunk"][columns["name"].index(kernel.name)]]))
    own: Counter[tuple[str, int]] = Counter()
    inherited: Counter[tuple[str, int]] = Counter()
    for place, flags in zip(chunk.places, chunk.flags, strict=True):
        if place is not None and not flags & (PROLOGUE | INHERITED | LOST):
            own[place.path, place.line] += 1
        elif place is not None and flags & INHERITED:
            inherited[place.path, place.line] += 1
    return own, inherited


@pytest.mark.parametrize("answer", [of_csv, of_text, of_top_json, of_page])
def test_every_answer_counts_a_line_alike(program: Program, answer: Callable[[Program, Kernel], Counts]) -> None:
    has_inherited = False
    for kernel in list(program.entry_kernels.values())[:6]:
        expected = of_json(program, kernel)
        assert answer(program, kernel) == expected, kernel.name
        has_inherited = has_inherited or bool(expected[1])
    assert has_inherited == bool(program.build.snapshots)


def test_the_costliest_line_of_the_table_and_of_check(program: Program) -> None:
    (figure,) = (each for each in FIGURES if each.key == "instructions")
    for kernel in list(program.entry_kernels.values())[:6]:
        own, inherited = of_json(program, kernel)
        most = max(own.values())
        cause = costliest_cause(program, kernel, figure)
        assert not isinstance(cause, str)
        assert cause.count == own[cause.path, cause.line] == most
        rows = [rendered(row).split() for row in costliest_table(program, kernel, 1, "instructions")]
        assert [row[1] for row in rows if row[:1] and row[0].endswith(f":{cause.line}") and len(row) > 5] == [
            f"{most:,}"
        ]
        apart = [row for row in rows if row[:4] == ["under", "a", "neighbour's", "line"]]
        assert [row[4] for row in apart] == ([f"{sum(inherited.values()):,}"] if inherited else [])


def test_a_comparison_counts_a_line_alike(compiled: Pipeline, darktable_kernels: Path, tmp_path: Path) -> None:
    """Of a kernel and an edited one: the figures of each changed line are those of both sides."""
    (old,) = (each for each in compiled.programs if each.kernels)
    text = (darktable_kernels / "denoiseprofile.cl").read_text()
    edited = tmp_path / "denoiseprofile.cl"
    edited.write_text(text.replace("fmax(0.0f, ", "fmax(0.5f, "))
    assert edited.read_text() != text
    options = f"-I {darktable_kernels}"
    device = str(old.device.name if old.device else "")
    toolchain = str(old.build.toolchain.name if old.build.toolchain else "")
    pipeline = kernlens.stages(edited, device, options=options, toolchain=toolchain)
    (new,) = (each for each in pipeline.programs if each.kernels)
    changes = 0
    for both in pair([old], [new]).kernels:
        change = Comparison().kernel_change(both)
        old_own, old_inherited = of_json(old, both.old)
        new_own, new_inherited = of_json(new, both.new)
        by_number = [Counter[int](), Counter[int]()]
        for side, own in zip(by_number, (old_own, new_own), strict=True):
            for (path, line), count in own.items():
                if path.endswith("denoiseprofile.cl"):
                    side[line] += count
        for changed in change.lines:
            if changed.key == NEIGHBOURS:
                assert (len(changed.old), len(changed.new)) == (
                    sum(old_inherited.values()),
                    sum(new_inherited.values()),
                )
            elif changed.key not in WITHOUT_LINE and changed.key.path.endswith("denoiseprofile.cl"):
                changes += 1
                assert (len(changed.old), len(changed.new)) == (
                    by_number[0][changed.key.old],
                    by_number[1][changed.key.new],
                )
    assert changes

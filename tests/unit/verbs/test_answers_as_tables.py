"""Answers as tables: what data frames take of them, what notebooks show, and what is said where a library is missing."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.answers import Annotation, Sweep, SweepRow, Table
from kernlens.errors import UnknownKernelError, UnsupportedError
from kernlens.model.build import Build, HeldParts
from kernlens.model.figures import COSTS, FIGURES, PRESSURES, STATED
from kernlens.model.program import Kernels, Program
from kernlens.model.stages import IGC_2, held
from tests.unit.analysis.test_comparison import SOURCE, with_code
from tests.unit.conftest import Kernlens
from tests.unit.model.test_representations import markup

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow packs tables")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a kernel ``scale`` of 3 instructions, the same with 5, and its source."""
    monkeypatch.chdir(tmp_path)
    Path("small.bin").write_bytes(with_code(48))
    Path("large.bin").write_bytes(with_code(80, simd=8))
    Path("scale.cl").write_text(SOURCE)
    return tmp_path


def taken(answer: Any) -> Any:
    """The answer as pyarrow takes it from anybody's stream."""
    assert not isinstance(answer, pyarrow.Table)
    return pyarrow.table(answer)


def test_annotate_says_what_the_command_prints(folder: Path, kernlens: Kernlens) -> None:
    done = kernlens("annotate", "small.bin")
    import kernlens as package

    annotation = package.annotate("small.bin")
    assert isinstance(annotation, Annotation)
    assert f"{annotation}\n" == done.out
    assert str(package.annotate(package.load("small.bin"), kernel="sc*")) == str(annotation)
    assert repr(annotation) == "<Annotation of scale>"
    with pytest.raises(UnknownKernelError, match="there is no kernel 'scal0'"):
        package.annotate("small.bin", kernel="scal0")
    names, text = markup(re.sub(r' class="[\w ]*"| open(?=>)', "", annotation._repr_html_()))
    assert "a[id] *= 2;" in text
    assert "script" not in names


def test_the_lines_and_instructions_of_annotate(folder: Path, kernlens: Kernlens) -> None:
    import kernlens as package

    annotation = package.annotate(["small.bin", "large.bin"])
    lines = taken(annotation)
    assert lines.column_names[:9] == [
        *("program", "device", "kernel", "path", "line", "source", "certain", "inherited", "instructions"),
    ]
    assert lines.column_names[9:] == [cost.key for cost in COSTS]
    per_kernel = dict.fromkeys(("small", "large"), 0)
    for row in annotation.lines:
        per_kernel[str(row["program"])] += int(row["instructions"] or 0)
    assert per_kernel == {"small": 3, "large": 5}
    assert ("scale.cl", 3, "a[id] *= 2;", 1) in {
        (row["path"], row["line"], row["source"], row["certain"]) for row in annotation.lines
    }
    rows = kernlens("annotate", "small.bin", "--format", "csv").out.splitlines()
    instructions = package.annotate("small.bin").instructions
    assert rows[0] == ",".join(instructions.columns)
    assert [row.split(",")[3] for row in rows[1:]] == [str(offset) for offset in instructions["offset"]]


def test_the_tables_of_kernels_and_instructions(folder: Path) -> None:
    (program,) = kernlens.load("small.bin")
    kernels = taken(program.kernels)
    costs = ["instructions", *(cost.key for cost in COSTS)]
    assert kernels.column_names == ["kernel", *(figure.key for figure in STATED), *costs, "lines"]
    assert kernels["instructions"].to_pylist() == [len(program.kernels["scale"].instructions)]
    assert (kernels["kernel"].to_pylist(), kernels["simd"].to_pylist()) == (["scale"], [16])
    assert kernels["spill_bytes"].type == pyarrow.int64(), "a figure that is not known keeps its type"
    instructions = taken(program.kernels["scale"].instructions)
    assert instructions["offset"].to_pylist() == [0, 16, 32]
    assert instructions["kind"].to_pylist() == [kind.name for kind in program.kernels["scale"].instructions.kinds]


def test_the_tables_of_diff_and_check(folder: Path) -> None:
    difference = kernlens.diff("small.bin", "large.bin")
    rows = taken(difference).to_pylist()
    assert {"kernel": "scale", "program": "large", "change": "changed", "figure": "simd", "old": 16, "new": 8} in rows
    names, text = markup(re.sub(r' (?:class|id|href)="[\w#-]*"| open(?=>)', "", difference._repr_html_()))
    assert "1 kernel compared, 1 differs" in text
    assert "script" not in names
    verdict = kernlens.check("large.bin", max_code_size=64, max_spill_bytes=0)
    finding_rows = taken(verdict).to_pylist()
    assert [(row["rule"], row["value"], row["limit"], row["state"], row["line"]) for row in finding_rows] == [
        ("max-spill-bytes", 0, 0, "passed", None),
        ("max-code-size", 80, 64, "failed", 3),
    ]
    assert markup(verdict._repr_html_())[1].startswith("Verdict not ok: 1 failed, 1 passed kernel program")


def test_the_table_of_stages() -> None:
    snapshot = held(IGC_2.stage("visa"), b"text", "text", "<k>", seconds=0.25)
    program = Program("p", "stages", Kernels({}), Build("p", "dg2", parts=HeldParts(snapshots=(snapshot,))))
    pipeline = kernlens.stages(program)
    (row,) = taken(pipeline).to_pylist()
    assert row == {
        **{"stage": "visa", "kernel": "<k>", "form": "text", "attempt": 1, "bytes": 4, "seconds": 0.25, "failure": None}
    }
    assert "visa <k> text 1 4 0.250000 -" in markup(pipeline._repr_html_())[1]


def test_the_table_of_a_sweep() -> None:
    count = len(FIGURES) + len(COSTS)
    known = SweepRow("a.cl", "dg2", "system", "IGC 1", "", "k", tuple(range(count)))
    failed = SweepRow("a\udcff.cl", "bmg", "system", "", "-g", None, reason="it does not compile")
    rows = taken(Sweep([known, failed]).table).to_pylist()
    assert (rows[0]["simd"], rows[0]["reason"], rows[1]["simd"], rows[1]["reason"]) == (
        *(0, None, None),
        "it does not compile",
    )
    assert rows[1]["source"] == "a\\udcff.cl"
    with_pressure = Sweep([SweepRow("a.cl", "dg2", "system", "", "", "k", tuple(range(count + len(PRESSURES))))])
    assert with_pressure.table.columns["live_grfs"] == (count,)
    assert "not compile" in markup(Sweep([known, failed])._repr_html_())[1]


def test_data_frames(folder: Path) -> None:
    frames = [pytest.importorskip(name, reason=f"{name} takes tables") for name in ("pandas", "polars")]
    annotation = kernlens.annotate("small.bin")
    by_pandas, by_polars = annotation.to_pandas(), frames[1].DataFrame(annotation.lines)
    assert list(by_pandas.columns) == by_polars.columns
    assert by_pandas["instructions"].sum() == by_polars["instructions"].sum() == 3
    assert str(by_pandas["line"].dtype) == "Int64"


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.of_rows({"a": str, "b": int}, [("x", 1), ("y", None)])
    assert (len(table), list(table), repr(table)) == (
        *(2, [{"a": "x", "b": 1}, {"a": "y", "b": None}]),
        "<Table of 2 rows: a, b>",
    )
    for name, call, words in (
        ("pyarrow", table.to_arrow, "pip install pyarrow"),
        ("pyarrow", table.__arrow_c_stream__, "pip install pyarrow"),
        ("pandas", table.to_pandas, "pip install pandas"),
    ):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UnsupportedError, match=words):
            call()


def test_an_empty_table_has_its_columns() -> None:
    table = Table.of_rows({"a": str, "b": int}, [])
    assert (len(table), taken(table).column_names, taken(table).num_rows) == (0, ["a", "b"], 0)
    assert markup(table._repr_html_())[1] == "a b"

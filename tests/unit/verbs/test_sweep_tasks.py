"""What a worker of a cluster answers, and what the client makes of an answer, whoever has sent it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.sweep_row import measured_figures
from kernlens.toolchain.compile_cache import packed
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, measured
from kernlens.verbs.sweep.tasks import done_there, result_of, task_for
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: Path) -> Cell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    Path("scale.cl").write_text(SOURCE)
    return Cell(3, "scale.cl", "-DN=1", CompileJob(Path("scale.cl"), "skl", toolchain(), "-gline-tables-only -DN=1"))


@pytest.mark.parametrize("request_", [Wanted(""), Wanted("", build=True, pressure=True)])
def test_a_worker_answers_what_a_compile_here_yields(
    cell: Cell, request_: Wanted, tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It works in another folder, and reads the sources where they are."""
    asked = Wanted(str(tmp_path), request_.build, request_.pressure)
    here = measured(cell, asked, None, lambda child: None)
    task = task_for(cell, asked)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    before = calls(compiler)
    answer = done_there(task)
    monkeypatch.chdir(tmp_path)
    there = result_of(cell, answer, asked)
    assert isinstance(there, Measured)
    assert (there.number, there.rows) == (3, here.rows)
    assert calls(compiler) == before + 1
    if here.build is not None and there.build is not None:
        assert (there.build.binary, there.build.path, there.build.sources) == (
            here.build.binary, "scale.cl", here.build.sources
        )  # fmt: skip


def test_a_worker_of_another_kind_does_not_compile(
    cell: Cell, tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Wanted(str(tmp_path))
    task = json.loads(task_for(cell, asked))

    def reason(**change: str) -> str:
        result = result_of(cell, done_there(json.dumps(task | {"conditions": task["conditions"] | change})), asked)
        assert isinstance(result, str)
        return result.partition(": ")[2]

    assert reason(kernlens="0.1").endswith(" there, not 0.1: make both the same")
    title = cell.job.toolchain.title
    assert reason(**{"the toolchain system": "NEO 1"}) == (
        f"the toolchain system is {title} there, not NEO 1: make both the same"
    )
    monkeypatch.setenv("IGC_EnableZEBinary", "1")
    assert reason() == "the variable IGC_EnableZEBinary is 1 there, not set: make both the same"
    monkeypatch.setenv("IGC_ShaderDumpEnable", "1")
    assert "IGC_ShaderDumpEnable is set: unset it" in reason()
    assert calls(compiler) == 0
    for wrong in ("{}", "[]", "3"):
        assert b'"failed"' in done_there(wrong)


def _rows(**change: Any) -> bytes:
    row = {
        "kernel": "k",
        "values": [1] * len(measured_figures()),
        "reason": "",
        "own": [["vgprs", 8]],
        "code": "ab",
        "warnings": ["a.cl:1:2: it is odd"],
        "loops": None,
        "nest": "",
    } | change
    return json.dumps({"rows": [list(row.values())]}).encode() + b"\n"


@pytest.mark.parametrize(
    "answer",
    [
        pickle.dumps({"rows": []}),
        b"",
        b"{}\n",
        b"[]\n",
        b'{"rows": []}\n',
        b'{"rows": [[1, 2]]}\n',
        _rows(loops=1, nest="8;1,2"),
        _rows(loops=2, nest="8;1,2,3"),
        None,
        "text",
        b"\xff\n",
    ],
)
def test_what_is_no_answer_fails_its_cell_alone(answer: object, cell: Cell) -> None:
    assert isinstance(result_of(cell, _rows(), Wanted("")), Measured)
    result = result_of(cell, answer, Wanted(""))
    assert isinstance(result, str)
    assert result.startswith("a worker's answer cannot be read: ")


def test_what_is_no_build_fails_its_cell_alone(cell: Cell) -> None:
    asked = Wanted("", build=True)
    build = measured(cell, asked, None, lambda child: None).build
    assert build is not None
    assert isinstance(result_of(cell, _rows() + packed(build), asked), Measured)
    for body in (b"", b"no zstd", packed(build)[:-5]):
        assert isinstance(result_of(cell, _rows() + body, asked), str)

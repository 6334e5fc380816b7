"""What a worker of a cluster answers, and what the client makes of an answer, whoever has sent it."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.sweep_row import measured_figures
from kernlens.toolchain.compile_cache import packed
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.toolchain.sources.parcels import parcel_for
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, measured
from kernlens.verbs.sweep.tasks import Unfit, answer_key, done_there, is_kept, result_of, task_for
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: Path) -> Cell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    Path("scale.cl").write_text(SOURCE)
    return Cell(3, "scale.cl", "-DN=1", CompileJob(Path("scale.cl"), "skl", toolchain(), "-gline-tables-only -DN=1"))


@pytest.mark.parametrize("request_", [Wanted(""), Wanted("", order="instructions", build=True, pressure=True)])
def test_a_worker_answers_what_a_compile_here_yields(
    cell: Cell, request_: Wanted, tmp_path: Path, compiler: Path
) -> None:
    asked = Wanted(str(tmp_path), request_.order, request_.build, request_.pressure)
    here = measured(cell, asked, None, lambda child: None)
    task, parcel = task_for(cell, asked), parcel_for(cell.job.source, cell.job.options)
    before = calls(compiler)
    answer = done_there(parcel, task, True)
    there = result_of(cell, answer, asked)
    assert isinstance(there, Measured)
    assert (there.number, there.rows) == (3, here.rows)
    assert calls(compiler) == before + 1
    assert done_there(parcel, task, True) == answer
    assert calls(compiler) == before + 1, "the worker has it in its cache"
    assert is_kept(answer)
    assert answer_key(hashlib.sha256(parcel).hexdigest(), task, cell.job.toolchain, cell.job.device) is not None
    if here.build is not None and there.build is not None:
        assert (there.build.binary, there.build.path, there.build.sources) == (
            here.build.binary, "scale.cl", here.build.sources
        )  # fmt: skip


def test_a_worker_of_another_kind_is_unfit(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Wanted(str(tmp_path))
    parcel = parcel_for(cell.job.source, cell.job.options)
    task = json.loads(task_for(cell, asked))

    def reason(**change: object) -> tuple[str, str]:
        result = result_of(cell, done_there(parcel, json.dumps(task | change), False), asked)
        assert isinstance(result, Unfit)
        return result.scope, result.reason

    assert reason(version="0.1")[1].endswith("there, not 0.1: install the same version")
    assert reason(title="NEO 1") == ("toolchain system", f"the toolchain system is {cell.job.toolchain.title} there, not NEO 1:"
                                     " install the same")  # fmt: skip
    monkeypatch.setenv("IGC_EnableZEBinary", "1")
    assert reason() == ("", "other variables that steer the compiler are set there: IGC_EnableZEBinary")
    monkeypatch.setenv("IGC_ShaderDumpEnable", "1")
    assert "IGC_ShaderDumpEnable is set: unset it" in reason()[1]
    for wrong in ("{}", "[]", "3"):
        answer = done_there(parcel, wrong, False)
        assert b'"failed"' in answer or b'"unfit"' in answer


def _rows(**change: Any) -> bytes:
    row = {
        "kernel": "k",
        "values": [1] * len(measured_figures()),
        "reason": "",
        "lines": [],
        "own": [["vgprs", 8]],
        "code": "ab",
        "warnings": ["a.cl:1:2: it is odd"],
        "loops": None,
    } | change
    return json.dumps({"lasting": True, "rows": [list(row.values())]}).encode() + b"\n"


@pytest.mark.parametrize(
    "answer",
    [
        pickle.dumps({"rows": []}), b"", b"{}\n", b"[]\n", b'{"rows": []}\n', b'{"rows": [[1, 2]]}\n', None, "text",
        _rows(values=[1]), _rows(values=["x"] * len(measured_figures())), _rows(kernel=3), _rows(reason=None),
        _rows(lines=[["a.cl", "1", "", 1, "", []]]), _rows(own=[["vgprs", "8"]]),
        _rows(code=1), _rows(warnings=[1]), _rows(own=[["simd", 8]]), _rows(own=[[[], 8]]),
        _rows(lines=[["a.cl", 1, "", 1, "", [5]]]), _rows(loops="2"),
        b'{"unfit": {"worker": 1, "host": "", "scope": "", "reason": ""}}\n', b'{"unfit": {"worker": ""}}\n',
        b'{"unfit": {"worker": "", "host": "", "scope": "other", "reason": ""}}\n', b'{"failed": 3}\n', b"\xff\n",
    ],
)  # fmt: skip
def test_hostile_answers_fail_their_cell_alone(answer: object, cell: Cell) -> None:
    assert isinstance(result_of(cell, _rows(), Wanted("")), Measured)
    result = result_of(cell, answer, Wanted(""))
    assert isinstance(result, str)
    assert result.startswith("a worker's answer cannot be read: ")


def test_hostile_builds(cell: Cell) -> None:
    asked = Wanted("", build=True)
    build = measured(cell, asked, None, lambda child: None).build
    assert build is not None
    assert isinstance(result_of(cell, _rows() + packed(build), asked), Measured)
    for body in (b"", b"no zstd", packed(build)[:-5]):
        assert isinstance(result_of(cell, _rows() + body, asked), str)

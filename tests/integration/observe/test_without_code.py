"""Recordings of kernels that were observed and never compiled: what they did is compared, advised on and shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernlens.loading.open import open_file
from kernlens.model.stage_text import NoStages
from kernlens.report.explore import explore_document
from kernlens.report.explore.kernel_chunk import kernel_document
from tests.documents import check_printed
from tests.integration.capture.capture_fixtures import MAIN
from tests.integration.observe.test_capture_observe import SOURCE, captured, pytestmark  # noqa: F401


def built(folder: Path, source: str) -> str:
    """Return a program of this source."""
    (folder / "app.c").write_text(source)
    words = ["gcc", "-std=gnu11", "-o", str(folder / "app"), str(folder / "app.c"), "-lOpenCL", "-lpthread"]
    subprocess.run(words, check=True, timeout=60)
    return str(folder / "app")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recordings of an application before and after an edit: rows are read where columns were."""
    result = tmp_path_factory.mktemp("without")
    text = SOURCE.read_text()
    edited = text.replace("out[x * 64 + y] = in[y * 64 + x]", "out[y * 64 + x] = in[y * 64 + x]")
    assert edited != text
    for name, source in (("old", text), ("new", edited)):
        own = result / name
        own.mkdir()
        captured(own, built(own, source), "launches").recording.rename(result / f"{name}.klens")
    return result


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [*MAIN, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )
    assert not done.stderr, done.stderr
    check_printed(list(words), done.stdout)
    return done.returncode, done.stdout


def document(folder: Path, *words: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(run(folder, *words, "--json")[1])
    return whole


def test_diff_compares_what_they_did(folder: Path) -> None:
    status, text = run(folder, "diff", "old.klens", "new.klens")
    assert status == 1
    assert "1 differs" in text
    assert "units of memory in all, before" in text
    assert "what they did on data is all that is compared" in text
    (kernel,) = document(folder, "diff", "old.klens", "new.klens")["kernels"]
    assert (kernel["name"], kernel["same_instructions"], kernel["figures"]) == ("transpose", None, [])
    (line,) = (each for each in kernel["behaviour"]["lines"] if each["units_per_request"]["old"])
    assert line["units_per_request"]["new"] < line["units_per_request"]["old"]
    assert "in[y * 64 + x]" in line["new_text"]
    status, text = run(folder, "diff", "old.klens", "old.klens")
    assert (status, "all equal" in text) == (0, True)


def test_advice_begins_with_what_they_waste(folder: Path) -> None:
    status, text = run(folder, "advise", "old.klens")
    assert status == 0
    assert "scattered access" in text
    assert "1 cause of waste on data, no advice" in text
    kernels = {each["kernel"]: each for each in document(folder, "advise", "old.klens")["kernels"]}
    assert [cause["kind"] for cause in kernels["transpose"]["causes"]] == ["scattered access"]
    assert kernels["add"]["causes"] == []
    assert "no advice" in run(folder, "advise", "new.klens")[1]


def test_the_page_shows_their_source_lines(folder: Path) -> None:
    status, written = run(folder, "report", "old.klens", "-o", "old.html")
    assert (status, written.startswith("written: old.html (")) == (0, True)
    (program,) = open_file(folder / "old.klens").counted_code()
    chunk = kernel_document(program, program.kernels["transpose"], NoStages())
    assert chunk["code"] is None
    assert "no machine code was compiled" in chunk["missing"]["code"]
    observed = chunk["observed"]
    assert len(observed["line"]) == len(chunk["places"]["line"]) > 0
    files = {source.path for source in program.sources}
    assert {chunk["files"][file] for file in observed["file"]} <= files
    ((request, *_),) = (each for each in observed["requests"] if each)
    assert len(request["lanes"]) == len(request["at"]) == 32
    whole = explore_document([program])
    (entry,) = whole.index["programs"]
    assert set(entry["kernels"]["instructions"]) == {None}
    first = whole.index["start"][0]
    assert (first["title"], first["row"]) == (
        "scattered access",
        entry["kernels"]["name"].index("transpose"),
    )

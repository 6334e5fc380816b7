"""What ``kernlens serve`` tells editors of source lines: figures, and the compiler's messages."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, WRONG, Server, serving

DOCUMENT = json.loads((files("kernlens") / "explorer" / "openapi.json").read_text())
#: Two kernels that share a function, in a text with line ends of Windows.
TWO = """float scaled(float value)\r
{\r
  return sin(value) * 3.0f;\r
}\r
kernel void first(global float *data) { data[get_global_id(0)] = scaled(data[0]); }\r
kernel void second(global float *data) { data[get_global_id(0)] = scaled(data[1]); }\r
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "two.cl").write_text(TWO, newline="")
    (folder / "wrong.cl").write_text(WRONG)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving("two.cl", "wrong.cl", "--device", "dg2", folder=folder) as started:
        yield started


def lines(server: Server, program: str) -> Any:
    """The answer on a program, of the form that openapi.json says."""
    answer = server.get("/api/lines", params={"program": program})
    assert answer.status_code == 200, answer.text
    jsonschema_rs.Draft202012Validator({**DOCUMENT["components"]["schemas"]["Lines"]}).validate(answer.json())
    return answer.json()


def test_figures_are_those_of_annotate(server: Server, folder: Path) -> None:
    (program, _) = server.index()["programs"]
    (file,) = lines(server, program["id"])["files"]
    for words in (
        ("stages", "two.cl", "--device", "dg2", "-o", "two.klens"),
        ("annotate", "two.klens", "--waits", "--json"),
    ):
        printed = subprocess.run([*MAIN, *words], cwd=folder, capture_output=True, check=True, timeout=120).stdout
    (listed,) = json.loads(printed)["programs"]
    counts: Counter[tuple[int, str]] = Counter()
    waits: dict[tuple[int, str], int] = {}
    for kernel in listed["kernels"]:
        own = [each for each in kernel["instructions"] if each["line_origin"] in ("table", "uncertain", "stage")]
        counts.update((each["line"], kernel["name"]) for each in own)
        for line in kernel["waits"]["lines"]:
            waits[line["line"], kernel["name"]] = line["wait_cycles"]
    assert {(row["line"], row["kernel"]): row["instructions"] for row in file["lines"]} == counts
    assert {(row["line"], row["kernel"]): row["wait_cycles"] for row in file["lines"]} == waits
    assert {row["kernel"] for row in file["lines"] if row["line"] == 3} == {"first", "second"}
    assert file["path"].endswith("two.cl")
    assert file["sha256"] == hashlib.sha256(TWO.replace("\r\n", "\n").encode()).hexdigest()


def test_a_build_that_failed_has_messages_with_places(server: Server) -> None:
    (_, failed) = server.index()["programs"]
    told = lines(server, failed["id"])
    (error,) = [each for each in told["diagnostics"] if each["severity"] == "error"]
    assert (error["line"], error["column"]) == (3, 29)
    assert "missing" in error["message"]
    assert error["path"].endswith("wrong.cl")
    assert told["files"] == []


def test_results_of_compiles_have_figures_too(server: Server) -> None:
    text = SOURCE.replace("2.0f", "3.0f")
    (program,) = server.compiled(text)["index"]["programs"]
    (file,) = lines(server, program["id"])["files"]
    assert file["path"] == "a.cl"
    assert file["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert {row["line"] for row in file["lines"]} == {3, 4}


def test_who_names_no_program_hears_it(server: Server) -> None:
    for words, status in (({}, 400), ({"program": ["a", "b"]}, 400), ({"program": "0123456789abcdef"}, 404)):
        answer = server.get("/api/lines", params=words)
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "next"}

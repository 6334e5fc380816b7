"""``POST /api/report``: what a page shows as one file, of what was read and of what was compiled there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.explore_reader import Page
from tests.integration.serve.explorer_fixtures import SOURCE, WRONG, Server, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("some")
    (folder / "twice.cl").write_text(SOURCE + SOURCE.replace("twice", "again"))
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(folder / "twice.cl", "--device", "dg2") as server:
        yield server


def body(*programs: tuple[str, list[str]], **changed: Any) -> dict[str, Any]:
    chosen = [{"id": program, "kernels": kernels} for program, kernels in programs]
    return {"programs": chosen, "state": "#k=again", "only_size": False} | changed


def test_what_was_read_and_what_was_compiled_are_in_one_file(server: Server, folder: Path) -> None:
    (read,) = server.index()["programs"]
    compiled = server.compiled(
        SOURCE.replace("twice", "again").replace("2.0f", "sqrt(data[1])"), path=read["files"][0]["path"]
    )
    (edited,) = compiled["index"]["programs"]
    asked = body((edited["id"], ["again"]), (read["id"], ["again"]))
    asked["programs"][0]["version"] = "2 line 3"
    size = server.client.post("/api/report", json=asked | {"only_size": True}).json()["size"]
    before = sorted(folder.iterdir())
    answer = server.client.post("/api/report", json=asked)
    assert len(answer.content) == size
    assert answer.headers["content-type"] == "application/octet-stream", "no page of this server"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert sorted(folder.iterdir()) == before
    report = Page(answer.text)
    assert 'data-state="#k=again"' in answer.text
    assert [(each["id"], each["kernels"]["name"]) for each in report.index["programs"]] == [
        (edited["id"], ["again"]),
        (read["id"], ["again"]),
    ]
    assert [each["beside"] for each in report.index["programs"]] == [{"0": "2 line 3"}, {}]
    for program in report.index["programs"]:
        (chunk,) = program["kernels"]["chunk"]
        assert report.chunk(chunk) == server.chunk(chunk)
        assert report.chunk(program["files"][0]["chunk"])["text"]
    assert server.token not in answer.text
    assert "/kernlens-" not in answer.text, "no temporary folder"


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"programs": []}, 400, "programs must be a list of 1 to 64"),
        ({"programs": [{"id": "0", "kernels": ["a"]}] * 65}, 400, "programs must be a list of 1 to 64"),
        ({"programs": [{"id": "0", "kernels": ["a"] * 65}]}, 400, "programs[0].kernels must be a list"),
        ({"programs": [{"id": "0", "kernels": [1]}]}, 400, "programs[0].kernels is no text"),
        ({"programs": [{"id": "0", "kernels": [], "version": "x" * 201}]}, 400, "programs[0].version is no text"),
        (
            {"programs": [{"id": "../../etc/passwd", "kernels": ["a"]}]},
            404,
            "there is no program ../../etc/passwd among those that are served, nor among",
        ),
        ({"state": "x" * 20_000}, 400, "state is no text"),
        ({"state": "a\nb"}, 400, "state contains a control character"),
        ({"only_size": 1}, 400, "only_size must be true or false"),
        ({"path": "/tmp/x.html"}, 400, "unknown key 'path'"),
    ],
)
def test_what_is_refused(server: Server, changed: dict[str, Any], status: int, words: str) -> None:
    answer = server.client.post("/api/report", json=body(("0", ["again"])) | changed)
    assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text


def test_a_build_that_failed_has_its_log(tmp_path: Path) -> None:
    (tmp_path / "wrong.cl").write_text(WRONG)
    with serving(tmp_path / "wrong.cl", "--device", "dg2") as server:
        (failed,) = server.index()["programs"]
        report = Page(server.client.post("/api/report", json=body((failed["id"], []))).text)
    assert "missing" in report.chunk(report.index["programs"][0]["log"])["text"]


def test_it_needs_the_token_and_json(server: Server) -> None:
    asked = body((server.index()["programs"][0]["id"], ["again"]))
    for token in ("none", "a" * 22):
        answer = server.client.post("/api/report", json=asked, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
    assert server.client.post("/api/report", data={"a": "b"}).status_code == 415
    assert server.client.get("/api/report").status_code == 405


def test_a_report_that_is_too_large_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlens.explorer import saved_report
    from kernlens.explorer.compile_work import Results
    from kernlens.explorer.responses import RefusedError
    from kernlens.explorer.served import SourceBuild, open_served
    from kernlens.toolchain.confinement import Limits

    build = SourceBuild("dg2", "system", "")
    served = open_served(
        [str(folder / "twice.cl")], source_build=build, include=(), limits=Limits(seconds=60), source_roots=()
    )
    asked = saved_report.report_request(body((served.ids[0], ["again"])))
    whole = saved_report.report_bytes(served, Results(), asked)
    monkeypatch.setattr(saved_report, "SIZE_LIMIT", len(whole) - 1)
    with pytest.raises(RefusedError, match="larger than") as refusal:
        saved_report.report_bytes(served, Results(), asked)
    assert refusal.value.status == 413

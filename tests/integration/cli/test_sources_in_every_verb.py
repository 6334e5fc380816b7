"""Every verb that opens a path takes a real source, and answers as for the recording that ``compile`` makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.explore_reader import Page
from tests.integration.cli.test_cli import kernlens

#: The verbs with one path, each with the words that it needs beside it.
VERBS = {
    "annotate": (),
    "annotate --top": ("--top", "5"),
    "annotate --csv": ("--format", "csv"),
    "inspect": (),
    "disasm": (),
    "disasm --editable": ("--editable", "--kernel", "convolve"),
    "symbols": (),
    "link": (),
    "check": ("--max-instructions", "100"),
    "advise": (),
}
WITHOUT_JSON = ("annotate --csv", "disasm --editable")
SOURCE = "blurs.cl"


@pytest.fixture(scope="module")
def folder(darktable_kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source, what it includes, and the recording of it."""
    path = tmp_path_factory.mktemp("sources")
    for name in (SOURCE, "common.h"):
        (path / name).write_bytes((darktable_kernels / name).read_bytes())
    done = kernlens("compile", SOURCE, "--device", "dg2", "-o", "blurs.klens", cwd=path)
    assert done.returncode == 0, done.stderr
    return path


def alike(text: str, folder: Path) -> str:
    return text.replace(f"{folder}/", "").replace("blurs.klens", SOURCE)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_source_is_answered_as_its_recording(verb: str, form: tuple[str, ...], folder: Path) -> None:
    if form and verb in WITHOUT_JSON:
        form = ()
    words = (*VERBS[verb], *form)
    of_source = kernlens(verb.split()[0], SOURCE, "--device", "dg2", *words, cwd=folder)
    of_recording = kernlens(verb.split()[0], "blurs.klens", *words, cwd=folder)
    assert of_source.returncode in (0, 1), of_source.stderr
    assert len(of_source.stdout) > 20
    assert of_source.returncode == of_recording.returncode
    assert alike(of_source.stdout, folder) == alike(of_recording.stdout, folder)


def snapshots(text: str) -> Iterator[tuple[str, str, str]]:
    for pipeline in json.loads(text)["pipelines"]:
        for each in pipeline["snapshots"]:
            yield each["stage"], each["form"], each["kernel"]


def test_stages_of_a_source_are_those_of_its_recording(folder: Path) -> None:
    of_source = kernlens("stages", SOURCE, "--device", "dg2", "--json", cwd=folder)
    of_recording = kernlens("stages", "blurs.klens", "--json", cwd=folder)
    assert set(snapshots(of_source.stdout)) == set(snapshots(of_recording.stdout))


def test_a_source_and_its_recording_do_not_differ(folder: Path) -> None:
    done = kernlens("diff", SOURCE, "blurs.klens", "--device", "dg2", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_sweep_measures_what_compile_does(folder: Path) -> None:
    compiled = kernlens("compile", SOURCE, "--device", "dg2", "-o", "again.klens", "--json", cwd=folder)
    swept = kernlens("sweep", SOURCE, "--device", "dg2", "--json", cwd=folder)
    (kernel,) = json.loads(compiled.stdout)["programs"][0]["kernels"]
    (row,) = json.loads(swept.stdout)["rows"]
    assert row["figures"].items() & kernel.items() >= {("code_size", kernel["code_size"]), ("simd", kernel["simd"])}


def stated_sources(value: Any) -> Iterator[str]:
    """Yield the paths that a document has for ``source`` of programs, rows, findings and failed builds."""
    if isinstance(value, list):
        for each in value:
            yield from stated_sources(each)
    elif isinstance(value, dict):
        if "source" in value and "line" not in value:
            yield value["source"]
        for each in value.values():
            yield from stated_sources(each)


@pytest.mark.parametrize(
    "words",
    [("check", "--max-instructions", "1"), ("compile", "-o", "other.klens"), ("sweep",)],
    ids=lambda words: words[0],
)
def test_a_source_has_the_path_that_was_given(words: tuple[str, ...], folder: Path) -> None:
    (folder / "below").mkdir(exist_ok=True)
    (folder / "wrong.cl").write_text("kernel void wrong( {\n")
    paths = [f"../{SOURCE}", "../wrong.cl"]
    done = kernlens(words[0], *paths, "--device", "dg2", *words[1:], "--json", cwd=folder / "below")
    stated = set(stated_sources(json.loads(done.stdout)))
    assert "../wrong.cl" in stated
    assert stated <= set(paths)


def test_a_recording_has_whole_paths(folder: Path) -> None:
    done = kernlens("check", "blurs.klens", "--max-instructions", "1", "--json", cwd=folder)
    assert set(stated_sources(json.loads(done.stdout))) == {str(folder / SOURCE)}


@pytest.mark.parametrize("verb", ["report", "serve"])
def test_pages_show_the_kernels_of_a_source(verb: str, folder: Path) -> None:
    def title(path: str) -> Any:
        if verb == "report":
            done = kernlens("report", path, "--device", "dg2", "-o", f"{path}.html", cwd=folder)
            assert done.returncode == 0, done.stderr
            programs = Page((folder / f"{path}.html").read_text("utf-8")).index["programs"]
            return [list(program["kernels"]) for program in programs]
        done = kernlens("serve", path, "--device", "dg2", "--no-browser", "--idle-timeout", "0.1", "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["title"].replace("klens", "cl")

    assert title(SOURCE) == title("blurs.klens") != []


def test_a_source_that_does_not_compile(folder: Path) -> None:
    (folder / "broken.cl").write_text("kernel void f(global int *a) { a[0] = undefined_thing; }\n")
    for verb in ("annotate", "inspect", "disasm", "symbols", "link", "check", "advise"):
        done = kernlens(verb, "broken.cl", "--device", "dg2", cwd=folder)
        assert done.returncode == 3, verb
        assert "use of undeclared identifier 'undefined_thing'" in done.stderr

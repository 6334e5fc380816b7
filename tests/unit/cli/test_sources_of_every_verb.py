"""PATH may be a source in every verb: it is compiled, with the cache, and answered as what it is compiled to is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.unit.conftest import Done, Kernlens
from tests.writers.programs import spirv

#: The verbs that open a path, each with the words that it needs beside that.
VERBS = {
    "annotate": (),
    "inspect": (),
    "disasm": (),
    "symbols": (),
    "link": (),
    "extract": ("-o", "parts"),
    "report": ("-o", "page.html"),
    "check": ("--max-instructions", "100"),
    "advise": (),
}
#: Those that compile a source, and say something else of what is compiled.
COMPILERS = {"compile": (), "sweep": (), "stages": (), "serve": ("--no-browser", "--idle-timeout", "0.1")}
SOURCE = "kernel void scale(global float *a, float b) { a[get_global_id(0)] *= b; }\n"


@pytest.fixture
def source(compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    path = Path("scale.cl")
    path.write_text(SOURCE)
    return path


def with_gpus(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr("kernlens.toolchain.gpus.devices_here", lambda: list(names))


def renamed(done: Done) -> str:
    """Return an answer with the source's name in place of the recording's, and without sizes of what has the name in it."""
    out = done.out.replace("scale.klens", "scale.cl").replace(f"{Path.cwd()}/", "")
    return re.sub(r"\([0-9,]+ bytes\)", "(so many bytes)", out)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_source_is_answered_as_what_it_is_compiled_to(verb: str, form: str, kernlens: Kernlens, source: Path) -> None:
    assert kernlens("compile", source, "--device", "skl", "-o", "scale.klens").status == 0
    words = (*VERBS[verb], *(["--json"] if form == "json" else []))
    of_source = kernlens(verb, source, "--device", "skl", *words)
    of_recording = kernlens(verb, "scale.klens", *words)
    assert of_source.status in (0, 1), of_source.err
    assert of_source.status == of_recording.status
    if verb == "report" and form == "json":  # Its title is the name of the file.
        assert of_source.document["page"] == "page.html"
        return
    assert renamed(of_source) == renamed(of_recording)


@pytest.mark.parametrize("verb", VERBS)
def test_a_compile_is_taken_from_the_cache(verb: str, kernlens: Kernlens, source: Path, compiler: Path) -> None:
    calls = compiler.parent / "calls"

    def compiles() -> int:
        return sum("compile" in line for line in calls.read_text().splitlines())

    for _ in range(2):
        assert kernlens(verb, source, "--device", "skl", *VERBS[verb]).status in (0, 1)
    assert compiles() == 1
    if verb != "check":
        assert kernlens(verb, source, "--device", "skl", "--no-cache", *VERBS[verb]).status in (0, 1)
        assert compiles() == 2


@pytest.mark.parametrize("verb", [*VERBS, *COMPILERS])
def test_without_a_device_all_verbs_ask_for_one_alike(verb: str, kernlens: Kernlens, source: Path) -> None:
    done = kernlens(verb, source, *VERBS.get(verb, COMPILERS.get(verb, ())))
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith(
        "\n\nError: no target device for scale.cl: add --device D, such as dg2, pvc or tgllp (kernlens devices lists all)\n"
    )


@pytest.mark.parametrize("verb", [*VERBS, "compile", "sweep"])
def test_the_gpu_of_this_machine_is_the_device(
    verb: str, kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpus(monkeypatch, "skl")
    done = kernlens(verb, source, *VERBS.get(verb, ()))
    assert done.status in (0, 1), done.err
    sentence = "kernlens: scale.cl is compiled for skl, the GPU of this machine; --device D names another\n"
    assert sentence in done.err


def test_of_several_gpus_one_is_to_be_named(kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, "skl", "dg2")
    done = kernlens("annotate", source)
    assert done.status == 2
    assert "no target device for scale.cl: this machine has 2 GPUs; add --device D, such as skl or dg2" in done.err


@pytest.mark.parametrize("verb", ["annotate", "inspect", "disasm", "report", "extract"])
@pytest.mark.parametrize("option", ["--build-options", "--toolchain"])
def test_options_of_compiles_are_refused_beside_what_is_compiled(
    verb: str, option: str, kernlens: Kernlens, file: Path, source: Path
) -> None:
    done = kernlens(verb, file, option, "-cl-mad-enable", *VERBS[verb])
    assert (done.status, done.out) == (2, "")
    assert f"{option} is for sources, but {file} is already compiled" in done.err


@pytest.mark.parametrize("verb", ["annotate", "disasm", "report", "advise"])
def test_spirv_is_compiled_where_machine_code_is_asked_for(verb: str, kernlens: Kernlens, source: Path) -> None:
    Path("module.spv").write_bytes(spirv())
    done = kernlens(verb, "module.spv", "--device", "skl", *VERBS[verb])
    assert done.status == 0, done.err


@pytest.mark.parametrize("verb", ["inspect", "symbols", "link"])
def test_spirv_is_shown_as_it_is_where_that_answers(verb: str, kernlens: Kernlens, source: Path) -> None:
    Path("module.spv").write_bytes(spirv())
    done = kernlens(verb, "module.spv", "--json")
    assert done.status == 0, done.err


@pytest.mark.parametrize("verb", ["annotate", "inspect", "disasm", "symbols", "link", "check", "advise"])
def test_a_folder_of_sources_is_each_of_them(verb: str, kernlens: Kernlens, source: Path) -> None:
    os.mkdir("kernels")
    for name in ("one", "two"):
        Path(f"kernels/{name}.cl").write_text(SOURCE)
    done = kernlens(verb, "kernels", "--device", "skl", "--json", *VERBS[verb])
    assert done.status in (0, 1), done.err
    assert '"one' in done.out or "one:" in done.out or ":one" in done.out
    assert '"two' in done.out or "two:" in done.out or ":two" in done.out


def test_what_people_name_by_mistake_is_no_source(kernlens: Kernlens, source: Path) -> None:
    Path("x.cl").write_bytes(b"%PDF-1.7\n")
    done = kernlens("annotate", "x.cl", "--device", "skl")
    assert "x.cl is a PDF document, not a GPU binary" in done.err


@pytest.mark.parametrize("verb", VERBS)
def test_a_source_that_does_not_compile_has_the_compilers_words(
    verb: str, kernlens: Kernlens, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.write_text("kernel void broken() { broken }\n")
    done = kernlens(verb, source, "--device", "skl", *VERBS[verb])
    assert done.status == 3
    assert "scale.cl does not compile for skl" in done.err


def test_a_text_that_is_no_source_is_called_what_it_is_taken_for(kernlens: Kernlens, source: Path) -> None:
    Path("notes.txt").write_text("to do\n")
    assert "for notes.txt, a text that is taken for OpenCL C: add --device D" in kernlens("annotate", "notes.txt").err

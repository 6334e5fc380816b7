"""Folders are answered one file at a time: what is in memory does not grow with the number of files."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernlens.cli import listings
from kernlens.loading.open import Contents, Folder
from tests.unit.conftest import Kernlens
from tests.whole import before_release
from tests.writers.programs import binary

VERBS = (
    ("inspect",),
    ("inspect", "--json"),
    ("annotate",),
    ("annotate", "--json"),
    ("annotate", "--format", "csv"),
    ("disasm",),
)
#: The forms that each run reads many files in: one of every reading of code. The others print the same otherwise.
EACH_RUN = (("inspect",), ("annotate", "--json"), ("disasm",))


@pytest.fixture
def folder(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(listings, "_TOGETHER", 1)
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def fill(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number:04}.bin").write_bytes(binary(kernel=f"kernel{number}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [pytest.param(words, id=" ".join(words), marks=() if words in EACH_RUN else before_release) for words in VERBS],
)
def test_memory_does_not_grow_with_the_files(
    words: tuple[str, ...], kernlens: Kernlens, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = []
    for count in (20, 500):
        fill(folder, count)
        kernlens(*words, folder)  # What is imported and kept for good is there then.
        with monkeypatch.context() as patched:
            patched.setattr("kernlens.cli.output._write", lambda text: None)
            tracemalloc.start()
            done = kernlens(*words, folder)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert (done.status, done.err) == (0, "")
    # The names and sizes of 480 files, no more.
    assert peaks[1] - peaks[0] < 480 * 1000, peaks


def test_the_choice_is_checked_before_anything_is_shown(kernlens: Kernlens, folder: Path) -> None:
    fill(folder, 3)
    done = kernlens("annotate", folder, "--kernel", "kernel1", "--kernel", "kernel9")
    assert (done.status, done.out) == (2, "")
    assert "there is no kernel 'kernel9'; the binary holds kernel" in done.err
    for verb in ("annotate", "inspect"):
        done = kernlens(verb, folder, "--device", "dg2")
        assert (done.status, done.out) == (2, "")
        assert "the file contains no program for dg2" in done.err


@pytest.mark.parametrize("words", VERBS[2:], ids=" ".join)
def test_kernels_are_chosen_by_their_names_in_cxx(words: tuple[str, ...], kernlens: Kernlens, folder: Path) -> None:
    """As in a file, where the listing shows that name, too."""
    fill(folder, 1)
    (folder / "cxx.bin").write_bytes(binary(kernel="_Z5scalePf"))
    by_binary = kernlens(*words, folder, "--kernel", "_Z5scalePf")
    assert "scale" in by_binary.out
    assert kernlens(*words, folder, "--kernel", "scale(float*)") == by_binary
    assert kernlens(*words, folder / "cxx.bin", "--kernel", "scale(float*)") == by_binary


def test_no_more_is_opened_for_the_choice_than_it_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kernlens: Kernlens
) -> None:
    fill(folder, 9)
    opened = []
    real = Folder.files

    def files(self: Folder, paths: Iterable[str] | None = None) -> Iterator[Contents]:
        for path in real(self, paths):
            opened.append(path.path)
            yield path

    monkeypatch.setattr(Folder, "files", files)
    assert kernlens("annotate", folder, "--kernel", "kernel0").status == 0
    assert len(opened) == 1 + 1 + 9  # Whether there is any, whether there is this kernel, the answer.


def without_accesses(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without what a folder is not asked of its kernels: the accesses of their code."""
    for program in document["programs"]:
        for kernel in program.get("kernels", ()):
            for key in ("accesses", "accesses_reason"):
                kernel.pop(key, None)
    return document


@pytest.mark.parametrize("verb", ["inspect", "annotate", "disasm"])
def test_a_folder_holds_what_its_files_do(verb: str, kernlens: Kernlens, folder: Path) -> None:
    fill(folder, 3)
    paths = sorted(folder.iterdir())
    documents = [without_accesses(kernlens(verb, path, "--json").document) for path in paths]
    expected = {
        key: [entry for document in documents for entry in document[key]] for key in documents[0] if key != "schema"
    }
    assert without_accesses(kernlens(verb, folder, "--json").document) == {"schema": 1, **expected}
    if verb != "inspect":
        assert kernlens(verb, folder).out == "".join(kernlens(verb, path).out for path in paths)


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "kernlens", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kernlens ")


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "reason"), [(1500, ""), (3000, "File name too long")])
def test_a_deep_folder_is_read_as_far_as_it_has_paths(
    levels: int, reason: str, tmp_path: Path, kernlens: Kernlens
) -> None:
    top = tmp_path / "deep"
    top.mkdir()
    inside = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=inside)
        outside, inside = inside, os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(outside)
    with os.fdopen(os.open("scale.bin", os.O_WRONLY | os.O_CREAT, dir_fd=inside), "wb") as file:
        file.write(binary())
    os.close(inside)
    try:
        done = kernlens("inspect", top, "--json")
    finally:
        subprocess.run(["rm", "-rf", top], check=True)
    assert done.status == (2 if reason else 0)
    assert reason in done.err
    assert "fault of kernlens" not in done.err


@pytest.mark.slow
def test_parts_are_written_into_a_deep_folder(file: Path, tmp_path: Path, kernlens: Kernlens) -> None:
    target = tmp_path / "out" / ("d/" * 1500)
    done = kernlens("extract", file, "-o", target)
    try:
        assert (done.status, done.err) == (0, "")
        assert any(target.iterdir())
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "out"], check=True)

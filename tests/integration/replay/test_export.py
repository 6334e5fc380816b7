"""``kernlens replay --export``: what is written builds with gcc alone, runs without kernlens, and verifies itself."""

from __future__ import annotations

import getpass
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.errors import OutputError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.kept_launch import ImageForm, KeptArgument, KeptLaunch, KeptMemory
from kernlens.verbs.replay.export import export
from kernlens.verbs.replay.replay import replay
from tests.integration.replay.test_replay import (  # noqa: F401
    FIRST,
    IMAGES,
    LISTS,
    OF_IMAGES,
    SECOND,
    by_hand,
    recording,
    with_indirect,
)
from tests.writers.kept_launches import READ_ONLY, WRITE_ONLY, content, record_launches

pytestmark = pytest.mark.skipif(
    not Path("/etc/OpenCL/vendors/pocl.icd").exists() or not shutil.which("gcc"), reason="no PoCL or gcc"
)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def verify(folder: Path, answer: str = "equal", status: int = 0) -> None:
    """Build it and run both programs."""
    built = run(folder, "make", "replay", "CFLAGS=-std=gnu11 -O1 -Wall -Wextra -Werror")
    assert built.returncode == 0, built.stderr
    for words in (["./replay"], [sys.executable, "-I", "replay.py"]):
        done = run(folder, *words)
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (status, [answer]), done.stderr + done.stdout


@pytest.mark.parametrize(("kernel", "number"), [("scale", 2), ("where", 1), ("where", 2), ("parts", 1), ("pairs", 1)])
def test_a_launch_verifies_itself(kernel: str, number: int, recording: Path, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "out"
    exported = export(recording, folder, kernel=kernel, launch=number)
    assert {"replay.c", "replay.py", "Makefile", "README.md", "program.cl"} <= set(exported.files)
    verify(folder)
    own = [str(recording.parent), str(tmp_path), str(Path.home()), os.uname().nodename, f"/{getpass.getuser()}/"]
    for file in exported.files:
        text = (folder / file).read_bytes()
        assert [each for each in own if len(each) > 1 and each.encode() in text] == [], file


def test_a_difference_is_told(recording: Path, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "out"
    export(recording, folder, kernel="scale", launch=1)
    program = folder / "program.cl"
    program.write_text(program.read_text().replace("+ 1.0f", "+ 2.0f"))
    verify(folder, "different", 1)


def test_images_and_pointers(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    form = ImageForm(0x10B5, 0x10DA, 0x10F1, 4, 1, 1, 1, element_size=4)
    path = by_hand(
        tmp_path, IMAGES, "shift",
        OF_IMAGES,
        [
            KeptMemory("image", 16, READ_ONLY, image=form, before=content(bytes(range(16)))),
            KeptMemory("image", 16, WRITE_ONLY, image=form, before=content(bytes(16)), after=content(
                bytes([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 13, 14, 15, 16]))),
        ],
        global_size=(4, 1), global_offset=(0, 0),
    )  # fmt: skip
    export(path, tmp_path / "images")
    verify(tmp_path / "images")
    first, second = struct.pack("<QqQq", SECOND, 5, 0, 1), struct.pack("<Qq", FIRST + 16, 7)
    path = by_hand(
        tmp_path / "second", LISTS, "walk", [KeptArgument("pointer", memory=0), KeptArgument("memory", memory=2)],
        [
            KeptMemory("svm", 32, 1, FIRST, before=content(first), after=content(first[:24] + struct.pack("<Q", FIRST))),
            KeptMemory("svm", 16, 1, SECOND, before=content(second), after=content(second)),
            KeptMemory("buffer", 8, 1, before=content(bytes(8)), after=content(struct.pack("<q", 13))),
        ],
        global_size=(1,),
    )  # fmt: skip
    with_indirect(path)
    export(path, tmp_path / "lists")
    verify(tmp_path / "lists")


def test_a_folder_that_is_not_empty_stays(recording: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "mine").write_text("x")
    with pytest.raises(OutputError, match="not an empty folder"):
        export(recording, tmp_path, kernel="scale")
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_included_files_and_folders_of_the_machine(tmp_path: Path) -> None:
    """The recording has what the program includes: it is built from that, and the reproducer brings it along."""
    home = tmp_path / "home" / "include"
    source = '#include "own/by.h"\nkernel void k(global int *out) { out[get_global_id(0)] = BY + MORE; }\n'
    sources = (Source(f"{tmp_path}/home/k.cl", source), Source(f"{home}/own/by.h", "#define BY 40\n"))
    build = Build(
        "k", "nothing", options=f"-I {home} -DMORE=2 -s {tmp_path}/home/k.cl", parts=HeldParts(sources=sources)
    )
    after = content(struct.pack("<4i", 42, 42, 42, 42))
    memory = (KeptMemory("buffer", 16, 1, before=content(bytes(16)), after=after),)
    launch = KeptLaunch("k", 1, 1, (4,), None, (0,), (KeptArgument("memory", memory=0),), memory)
    path = record_launches(tmp_path / "a.klens", replace(build, options=f"-I {home} -DMORE=2"), launch)
    assert replay(path, runs=0)[0].is_equal
    exported = export(record_launches(tmp_path / "b.klens", build, launch), tmp_path / "out")
    assert "include/own/by.h" in exported.files
    verify(tmp_path / "out")
    assert [file for file in exported.files if str(tmp_path).encode() in (tmp_path / "out" / file).read_bytes()] == []


def test_a_tolerance_and_words_that_are_no_numbers(recording: Path, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "out"
    export(recording, folder, kernel="scale", launch=1)
    program = folder / "program.cl"
    program.write_text(program.read_text().replace("* factor + 1.0f", "* factor * 1.00001f + 1.0f"))
    verify(folder, "different", 1)
    programs = ["./replay"], [sys.executable, "-I", "replay.py"]
    for words, status, answer in (
        (["-t", "1e-4"], 0, "equal"),
        (["-t", "1e-7"], 1, "different"),
        (["-t", "0"], 1, "different"),
        *(
            (each, 2, "")
            for each in (["PoCL"], ["0", "x"], ["-t", "much"], ["-t", "-1"], ["0", "0", "0"], ["-1"], [""])
        ),
    ):
        for each in programs:
            done = run(folder, *each, *words)
            assert (done.returncode, done.stdout.splitlines()[-1:]) == (status, [answer] if answer else []), (
                each,
                words,
            )
            assert done.stderr.startswith("usage: replay") == (status == 2)

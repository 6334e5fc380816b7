"""Mistakes of beginners: what docs/troubleshooting.md says that kernlens answers is what it answers.

Where messages were changed on purpose, ``KERNLENS_WRITE_ANSWERS=1`` writes the answers into the page; read its diff.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import pytest

from kernlens.toolchain import packages
from tests.tree import ROOT
from tests.unit.conftest import Done, Kernlens, kernlens

__all__ = ["kernlens"]

PAGE = ROOT / "docs" / "troubleshooting.md"
HEADING = "## Mistakes and their answers"
BLUR = """kernel void blur(global const float *in, global float *out, int width) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = -2; k <= 2; k++)
    sum += in[clamp(i + k, 0, width - 1)];
  out[i] = sum / 5;
}
"""
#: What the folder holds that the page's commands are typed in.
TEXTS = {
    "blur.cl": BLUR,
    "broken.cl": "kernel void bad(global float *out) {\n  out[get_global_id(0)] = 1.0f\n}\n",
    "include.cl": '#include "missing.h"\nkernel void k(global float *out) { out[0] = 1; }\n',
    "functions.cl": "float half_of(float x) { return x / 2; }\n",
    "empty.cl": "",
    "nothing.klens": "",
    "notes.txt": "to do\n",
    "k.cu": "__global__ void k(float *out) { out[0] = 1; }\n",
    "script.sh": "echo\n",
    "main.c": "int main(void) { return 0; }\n",
}
#: OpCapability Shader, OpMemoryModel Logical GLSL450.
VULKAN = struct.pack("<10I", 0x07230203, 0x00010000, 0, 10, 0, 2 << 16 | 17, 1, 3 << 16 | 14, 0, 1)
#: In the page, what a command needs that this machine has.
WITHOUT_COMPILER = "# no compiler is installed"


def documented() -> Iterator[tuple[str, str]]:
    """Yield each command of the page's part, and the message below it with its lines joined."""
    section = PAGE.read_text("utf-8").partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL):
        for part in block.split("$ kernlens ")[1:]:
            command, _, answer = part.partition("\n")
            yield command, " ".join(answer.split())


DOCUMENTED = list(documented())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as somebody has it who begins."""
    folder = tmp_path_factory.mktemp("first") / "kernels"
    (folder / "empty").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    (folder / "vulkan.spv").write_bytes(VULKAN)
    subprocess.run(["gcc", "-c", "main.c", "-o", "main.o"], cwd=folder, check=True, timeout=60)
    subprocess.run(["gcc", "main.c", "-o", "app"], cwd=folder, check=True, timeout=60)
    subprocess.run(["gcc", "-static", "main.c", "-o", "static_app"], cwd=folder, check=True, timeout=60)
    return folder


@pytest.fixture
def typed(folder: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> Kernlens:
    """Return what runs a command in the folder, on Debian 12 without another toolchain."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(packages, "_packages", lambda: ("intel-opencl-icd", "clang-15", "llvm-spirv-15", "libigc1"))
    if not (folder / "blur.klens").exists():
        assert kernlens("compile", "blur.cl", "--device", "dg2,skl", "-o", "blur.klens").status == 0
        for name, device in (("blur", "dg2"), ("other", "skl")):
            (folder / "one.cl").write_text(BLUR.replace("blur", name))
            assert kernlens("compile", "one.cl", "--device", device, "-o", f"{name}-one.klens").status == 0
        merged = kernlens("recording", "merge", "blur-one.klens", "other-one.klens", "-o", "two.klens")
        assert merged.status == 0
        for name in ("one.cl", "blur-one.klens", "other-one.klens"):
            (folder / name).unlink()
        content = (folder / "blur.klens").read_bytes()
        (folder / "cut.klens").write_bytes(content[:8000])
        damaged = bytes(
            byte ^ 0x55 if index >= 4096 and index % 97 == 0 else byte for index, byte in enumerate(content)
        )
        (folder / "damaged.klens").write_bytes(damaged)

    def run(*words: str | os.PathLike[str]) -> Done:
        done = kernlens(*words)
        for name in folder.glob("*.klens"):
            if name.name not in ("blur.klens", "two.klens", "cut.klens", "damaged.klens", "nothing.klens"):
                name.unlink()
        return done

    return run


def test_there_are_forty() -> None:
    assert len(DOCUMENTED) >= 40
    assert len(dict(DOCUMENTED)) == len(DOCUMENTED), "a command stands there twice"


@pytest.mark.parametrize(("command", "answer"), DOCUMENTED, ids=[command for command, _ in DOCUMENTED])
def test_a_mistake_is_answered_as_the_page_says(
    command: str, answer: str, typed: Kernlens, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page leaves out the usage above a usage error, and the folder's own path is ``/home/me/kernels`` there."""
    words = shlex.split(command.removesuffix(WITHOUT_COMPILER))
    if command.endswith(WITHOUT_COMPILER):
        monkeypatch.setenv("PATH", str(tmp_path))
    done = typed(*words)
    assert "Traceback" not in done.err
    told = re.sub(r"^Usage: .*?(?=Error: )", "", done.err, flags=re.DOTALL)
    told = told.replace(str(folder), "/home/me/kernels")
    if os.environ.get("KERNLENS_WRITE_ANSWERS"):
        _write(command, told)
        return
    told = " ".join(told.split())
    assert _without_sizes(told) == _without_sizes(answer)


def _write(command: str, told: str) -> None:
    """Put the answer below its command in the page, its lines folded."""
    before, typed, rest = PAGE.read_text("utf-8").partition(f"$ kernlens {command}\n")
    end = min(rest.index(mark) for mark in ("$ kernlens ", "```") if mark in rest)
    lines = [
        line
        for row in told.splitlines()
        for line in ([row] if len(row) < 99 else wrap(row, 96, break_on_hyphens=False))
    ]
    PAGE.write_text(before + typed + "".join(f"{line}\n" for line in lines) + rest[end:], "utf-8")


def _without_sizes(text: str) -> str:
    """Return the text without the size of a recording, which differs from machine to machine."""
    return re.sub(r"of [\d,]+ bytes", "of N bytes", text)


def test_each_answer_is_short_and_says_what_to_do() -> None:
    """A sentence and a next step: no words of a library, no traceback, and no more than 60 words of kernlens's own."""
    for command, answer in DOCUMENTED:
        assert not re.search(r"malformed|sqlite|Errno|Traceback|click", answer, re.IGNORECASE), command
        for message in re.findall(r"kernlens: (.*?)(?= kernlens: |$)", answer):
            assert len(message.split()) <= 60, command

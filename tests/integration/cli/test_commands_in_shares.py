"""Commands that share their work among processes print what one process does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus.build import build
from tests.corpus.manifest import programs
from tests.writers.ar import archive, member
from tests.writers.programs import binary

PROGRAM = "import sys; from kernlens.cli import main, shares; shares.processors = lambda: {}; shares.LEAST = 1000; main.main()"
WORDS = (("annotate",), ("annotate", "--json"), ("annotate", "--format", "csv"), ("disasm", "--json"), ("symbols",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three programs, and between them one that is damaged."""
    folder = tmp_path_factory.mktemp("folder")
    chosen = [program for program in programs() if program.name.startswith("darktable/")][:3]
    built, failed = build(chosen)
    assert not failed
    for number, entry in enumerate(image for image in built if image.device == "dg2"):
        content = entry.binary.read_bytes()
        (folder / f"{number}.bin").write_bytes(content)
        (folder / f"{number}-cut.bin").write_bytes(content[:-100])
    return folder


def answer(processors: int, *words: str | Path) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-c", PROGRAM.format(processors), *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_folder(words: tuple[str, ...], folder: Path) -> None:
    alone = answer(1, *words, folder)
    assert alone[0] == 2
    assert alone[2].startswith(b"kernlens: 3 files of the folder")
    assert len(alone[1]) > 1_000
    for processors in (2, 3):
        assert answer(processors, *words, folder) == alone


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_file(words: tuple[str, ...], folder: Path) -> None:
    alone = answer(1, *words, folder / "0.bin")
    assert alone[0] == 0
    for processors in (2, 3):
        assert answer(processors, *words, folder / "0.bin") == alone


def test_a_line_that_no_share_has(folder: Path) -> None:
    alone = answer(1, "annotate", folder / "0.bin", "--line", "99999")
    assert alone[0] == 1
    assert answer(3, "annotate", folder / "0.bin", "--line", "99999") == alone


def test_a_library_of_many_programs(tmp_path: Path) -> None:
    """Some of them damaged: each is named where it stands."""
    members = [member(f"m{number}/", binary() if number % 100 else binary()[:-40]) for number in range(700)]
    path = tmp_path / "many.a"
    path.write_bytes(archive(members))
    alone = answer(1, "inspect", path)
    assert alone[1].count(b"scale") >= 690
    for processors in (2, 3):
        assert answer(processors, "inspect", path) == alone
    shared = PROGRAM.format(2).replace("main.main()", "shares._side_by_side = lambda *_: sys.exit(77); main.main()")
    assert subprocess.run([sys.executable, "-c", shared, "inspect", path], capture_output=True).returncode == 77

"""Libraries of LLVM bitcode, which are one stage: AMD's device libraries, and archives of them, against llvm-dis."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.test_cli import kernlens

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
DISASSEMBLER = shutil.which("llvm-dis-15")
MODULES = ("oclc_daz_opt_off.bc", "oclc_daz_opt_on.bc")

pytestmark = pytest.mark.skipif(
    DISASSEMBLER is None or not LIBRARIES.is_dir(), reason="needs rocm-device-libs and llvm-15: apt install both"
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.a"
    subprocess.run(["ar", "rc", path, *(LIBRARIES / name for name in MODULES)], check=True)
    return path


def expected(name: str) -> str:
    words = [str(DISASSEMBLER), "-o", "-", str(LIBRARIES / name)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.partition("\n")[2]


def test_a_module_is_shown_as_llvm_dis_shows_it() -> None:
    shown = kernlens("stages", LIBRARIES / MODULES[0], "--stage", "llvm-library", "--form", "text").stdout
    assert shown.partition("\n")[2] == expected(MODULES[0])


def test_each_module_of_an_archive_is_shown(archive: Path) -> None:
    document = json.loads(kernlens("stages", archive, "--json").stdout)
    assert [each["snapshots"][0]["size"] for each in document["pipelines"]] == [
        (LIBRARIES / name).stat().st_size for name in MODULES
    ]
    texts = json.loads(kernlens("stages", archive, "--stage", "llvm-library", "--json").stdout)["snapshots"]
    assert [each["text"].partition("\n")[2] for each in texts] == [expected(name) for name in MODULES]


def test_an_archive_of_more_than_bitcode_is_a_finished_binary(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("text")
    subprocess.run(["ar", "r", archive, tmp_path / "other.txt"], check=True, capture_output=True)
    done = kernlens("stages", archive)
    assert done.returncode == 2
    assert "is a finished binary, which contains no stages" in done.stderr

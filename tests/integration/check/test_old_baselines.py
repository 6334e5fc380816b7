"""Baselines that kernlens 0.1.0 wrote give the verdicts that they gave.

``tests/data/baselines_0.1.0.tar.xz`` has two recordings by that version (schema 2): ``window.cl`` by Debian 12's compiler,
which spills, and ``blur.cl`` by the newest one, whose hash behind the code 0.1.0 counted as four instructions. The compiler's
path was cut from their commands.
"""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

import kernlens as package
from tests.integration.toolchain.toolchain_fixtures import newest, system
from tests.tree import ROOT
from tests.warm_commands import kernlens

__all__ = ["newest", "system"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with both baselines, and with the sources as they hold them."""
    with tarfile.open(ROOT / "tests/data/baselines_0.1.0.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    for name in ("blur", "window"):
        (program,) = package.load(tmp_path / f"{name}.klens")
        (tmp_path / f"{name}.cl").write_text(program.sources[0].text)
    return tmp_path


def checked(folder: Path, name: str, toolchain: str) -> subprocess.CompletedProcess[str]:
    words = ("--device", "dg2", "--toolchain", toolchain, "--baseline", f"{name}.klens")
    return kernlens("check", f"{name}.cl", *words, cwd=folder)


@pytest.mark.usefixtures("system")
def test_a_kernel_that_spills_is_as_before(old: Path) -> None:
    done = checked(old, "window", "system")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spill stores and fill loads are checked instead" in done.stdout
    source = old / "window.cl"
    source.write_text(source.read_text().replace("ROWS 32", "ROWS 48"))
    done = checked(old, "window", "system")
    assert done.returncode == 1
    assert "baseline-spill-stores: spill stores 109 -> " in done.stdout


@pytest.mark.usefixtures("newest")
def test_the_hash_of_the_newest_compiler_is_counted_on_neither_side(old: Path) -> None:
    done = checked(old, "blur", "newest")
    assert done.returncode == 0, done.stdout + done.stderr
    source = old / "blur.cl"
    source.write_text(source.read_text().replace("native_exp(sum", "exp(sum"))
    done = checked(old, "blur", "newest")
    assert done.returncode == 1
    assert "instructions 184 -> 206, at most 184 (tolerance 0)" in done.stdout

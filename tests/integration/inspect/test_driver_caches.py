"""What Intel's driver keeps of OpenCL programs between runs: ``inspect`` and its kin open the files, and their folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.loading import load
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.toolchain.toolchain_fixtures import each, newest, system
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["each", "kernlens", "newest", "system"]

MAIN = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]


@pytest.fixture
def cache(each: Toolchain, tmp_path: Path) -> Path:
    """The cache of a driver that has built clinfo's program; 22.43 obeys one variable, its successors the others."""
    folder = tmp_path / "cache"
    folder.mkdir()
    variables = {"cl_cache_dir": str(folder), "NEO_CACHE_PERSISTENT": "1", "NEO_CACHE_DIR": str(folder)}
    words = ["run", "--simulate", "dg2", "--toolchain", each.name, "--", "clinfo"]
    subprocess.run([*MAIN, *words], env={**os.environ, **variables}, check=True, capture_output=True, cwd=tmp_path)
    return folder


def test_the_folder_and_its_files(each: Toolchain, cache: Path, kernlens: Kernlens) -> None:
    (program,) = load(cache)
    assert program.format == ("patch-tokens" if each.name == "system" else "zebin")
    assert program.device is not None
    assert program.device.name == "dg2"
    assert list(program.kernels.keys()) == ["sum"]
    assert bool(program.spirv) is (each.name != "system")
    (file,) = cache.rglob("*.cl_cache")
    (cache / "cl_cache.XpoTPM").write_bytes(b"")  # what a driver that was killed leaves
    for path in (cache, file):
        for verb in ("inspect", "disasm", "annotate"):
            done = kernlens(verb, path)
            assert (done.status, "sum" in done.out, "Traceback" in done.err) == (0, True, False), done.err

"""The folder that compilers write their stages into: when its disk is full, and when it cannot be made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.errors import OutputError
from kernlens.pipeline.igc import snapshots
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.stage_fixtures import small
from tests.integration.toolchain_fixtures import system

__all__ = ["small", "system"]

FULL_DISK = """\
import sys
from pathlib import Path
from kernlens.pipeline.igc import snapshots
from kernlens.toolchain.toolchains import toolchain
build = snapshots(sys.argv[1], "skl", "-gline-tables-only", toolchain(), dump_folder=Path(sys.argv[2]))
assert build.ok and build.binary, build.reason
for one in build.snapshots:
    print(one.stage, one.failure or "whole")
"""


def test_a_full_disk_fails_the_snapshots_and_not_the_build(small: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=96k none {disk} && exec {sys.executable} -c '{FULL_DISK}' {small} {disk}"
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode and ("unshare" in done.stderr or "mount:" in done.stderr):
        pytest.skip(f"no file system of its own can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines
    assert all("the disk of the dump folder is full" in line for line in lines)
    assert any(line.startswith("llvm-codegen ") for line in lines)


def test_a_dump_folder_that_cannot_be_made(small: Path, system: Toolchain) -> None:
    with pytest.raises(OutputError, match="point TMPDIR at one that is writable"):
        snapshots(small, "skl", "", system, dump_folder=Path("/proc/1/nowhere"))

"""Stages that cannot be had: sources that do not compile, forms that a compiler lacks, disks that are full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import NotFoundError, OutputError, ToolError, UnsupportedError
from kernlens.pipeline.compile_stages import compile_stages
from kernlens.pipeline.igc import snapshots
from kernlens.toolchain.toolchains import NEWEST, Toolchain
from tests.integration.stages.stage_fixtures import small
from tests.integration.toolchain.toolchain_fixtures import newest, system

__all__ = ["newest", "small", "system"]


@pytest.mark.parametrize("device", ["skl", "pocl"])
def test_what_does_not_compile_is_a_tool_error_with_the_log(device: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cl"
    broken.write_text("kernel void broken( {")
    with pytest.raises(ToolError, match="does not compile") as caught:
        kernlens.stages(broken, device)
    assert "error" in caught.value.log
    assert not compile_stages(broken, device).build.ok


def test_what_a_compiler_lacks(small: Path, newest: Toolchain) -> None:
    del newest
    pipeline = kernlens.stages(small, "bmg", toolchain=NEWEST)
    # IGC 2 has no binary vISA: the stage's only form is chosen instead.
    assert pipeline.choose("visa", form="binary")[0].form == "text"
    with pytest.raises(NotFoundError, match="has no kernel 'other'; it has: scale"):
        pipeline.choose("visa", "other")
    with pytest.raises(UnsupportedError, match="does not show its single passes"):
        kernlens.stages(small, "pocl", all_passes=True)
    with pytest.raises(NotFoundError, match=r"no source file"):
        kernlens.stages(small.with_name("missing.cl"), "pocl")
    spirv = small.with_suffix(".spv")
    spirv.write_bytes(pipeline.choose("spirv", form="binary")[0].content)
    from_spirv = kernlens.stages(spirv, "bmg", toolchain=NEWEST)
    with pytest.raises(NotFoundError, match="no stage 'source'"):
        from_spirv.choose("source")
    assert from_spirv.choose("llvm-codegen")


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

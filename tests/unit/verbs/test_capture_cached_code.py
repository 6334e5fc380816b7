"""A capture on NVIDIA's driver: PTX is the binary, and the machine code comes from the driver's compute cache."""

from __future__ import annotations

import struct
from contextlib import closing
from pathlib import Path

import pytest

from kernlens.loading import load
from kernlens.verbs.capture.caches import cache_folder
from kernlens.verbs.capture.capture import recover
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.spool import Spool
from tests.nvidia_files import LINES_ENTRY, OPENCL, entry, opencl, unpack
from tests.writers.spooled import BUILD, fields
from tests.writers.spooled import entry as spooled

PTX = "program_with_nv_line_info.ptx"


def captured(path: Path, binary: bytes) -> Path:
    """The folder of a killed capture of one build on NVIDIA's driver."""
    build = (
        *(("operation", b"build"), ("status", bytes(8)), ("program", struct.pack("<QQ", 1, 1))),
        *(
            ("source", opencl("program.cl")),
            ("device", bytes(8)),
            ("device name", b"NVIDIA H100"),
            ("platform", b"NVIDIA CUDA"),
        ),
        *(("built", struct.pack("<Q", 1)), ("binary", binary)),
    )
    with closing(Spool.make(path)) as spool:
        (spool.folder / "1-2.builds").write_bytes(spooled(BUILD, 1, fields(*build)))
        return spool.folder


def test_the_code_of_the_cache_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_CACHE_PATH", str(unpack(OPENCL, tmp_path) / "ComputeCache"))
    done = recover(captured(tmp_path / "x.klens", opencl(PTX)))
    assert sorted(kernel.name for kernel in done.kernels) == ["mandel", "matmul", "saxpy"]
    (program,) = load(tmp_path / "x.klens")
    assert (program.format, str(program.device), program.build.device) == ("cubin", "sm_90", "sm_90")
    assert program.build.binary == opencl(PTX)
    contents = {each.stage: each.content for each in program.build.snapshots}
    assert contents == {"ptx": opencl(PTX).rstrip(b"\0"), "sass": bytes(entry(LINES_ENTRY).result)}
    assert bytes(program.binary) == contents["sass"]
    # The driver calls the nameless source <kernel>.
    (source,) = program.sources
    assert source.text == opencl("program.cl").decode()


def test_without_an_entry_the_ptx_is_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path))
    done = recover(captured(tmp_path / "x.klens", opencl(PTX)))
    assert done.kernels == ()
    (program,) = load(tmp_path / "x.klens")
    assert (program.format, [each.stage for each in program.build.snapshots]) == ("ptx", ["ptx"])
    assert [symbol.name for symbol in program.symbols] == ["saxpy", "matmul", "mandel"]


def test_the_cache_is_that_of_the_application(tmp_path: Path) -> None:
    own = {"HOME": "/home/user", "CUDA_CACHE_PATH": "/elsewhere"}
    assert Changes().cache_variables(own, tmp_path) == own
    fresh = Changes(fresh_cache=True).cache_variables(own, tmp_path)
    assert fresh["CUDA_CACHE_PATH"] == f"{cache_folder(tmp_path)}/cuda"

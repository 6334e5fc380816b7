"""A capture on NVIDIA's driver: PTX is the binary, and the machine code comes from the driver's compute cache."""

from __future__ import annotations

import struct
from contextlib import closing
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.loading import load
from kernlens.model.build import Build, HeldParts
from kernlens.model.stage import BINARY
from kernlens.model.stages import NVIDIA, held
from kernlens.verbs.capture.caches import cache_folder
from kernlens.verbs.capture.capture import recover
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.second_builds import Findings, SecondBuildResult
from kernlens.verbs.capture.spool import Spool
from tests.nvidia_files import LINES_ENTRY, OPENCL, PLAIN_ENTRY, entry, opencl, unpack
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


def built(ptx: str, *entries: str) -> Build:
    cubins = tuple(held(NVIDIA.stage("sass"), bytes(entry(name).result), BINARY) for name in entries)
    parts = HeldParts(binary=opencl(ptx), snapshots=cubins)
    return Build(name="program-1", device="sm_90", ok=True, parts=parts)


def test_machine_code_of_the_cache_is_compared() -> None:
    """The driver's binary is PTX, which has no code: that of the caches is compared, or nothing is said to be the same."""
    findings = Findings()
    own, plain = built(PTX, LINES_ENTRY), built("program.ptx", PLAIN_ENTRY)
    _, same = findings.add(
        replace(own, parts=HeldParts(binary=own.binary)), SecondBuildResult(plain=plain), own.snapshots
    )
    assert same == {"mandel": True, "matmul": True, "saxpy": True}
    assert findings.sentences(same.items()) == [
        "with the added options the machine code of all 3 kernels is the same as without"
    ]


@pytest.mark.parametrize("lacks", ["own", "plain", "both"])
def test_without_machine_code_nothing_is_the_same(lacks: str) -> None:
    findings = Findings()
    own = built(PTX, *([LINES_ENTRY] if lacks == "plain" else []))
    plain = built("program.ptx", *([PLAIN_ENTRY] if lacks == "own" else []))
    _, same = findings.add(own, SecondBuildResult(plain=plain))
    assert same == {}
    assert findings.sentences(()) == [
        "whether the added options changed the machine code of program-1 is not known: the driver kept no machine code of it in"
        " its cache, or several"
    ]

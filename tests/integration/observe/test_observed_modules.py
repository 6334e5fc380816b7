"""An unmodified application that makes its program from SPIR-V, on the interpreter."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.toolchain.oclgrind import oclgrind
from kernlens.verbs.capture.capture import capture
from kernlens.verbs.observe.observe import observe
from tests.integration.layers.opencl_layer_fixtures import pocl
from tests.integration.observe.test_capture_observe import behaviours, builds, captured
from tests.tree import ROOT

pytestmark = [
    pytest.mark.skipif(
        not Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so").exists(), reason="no Oclgrind 21.10 (Debian 12's oclgrind)"
    ),
    pytest.mark.skipif(not Path("/usr/bin/llvm-spirv-14").exists(), reason="no llvm-spirv-14"),
]
SOURCE = """\
kernel void transpose(global const int *in, global int *out, int side)
{
  int x = get_global_id(0), y = get_global_id(1);
  int value =
    in[y * side + x];
  out[x * side + y] = value + 3;
}
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("from_il") / "app"
    source = Path(__file__).parent / "sources" / "from_il.c"
    words = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(path), str(source), "-lOpenCL"]
    subprocess.run(words, check=True, timeout=60)
    return path


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SPIR-V with lines."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "k.cl").write_text(SOURCE)
    bitcode = oclgrind().build(str(folder / "k.cl"), "", str(folder))
    (folder / "k.bc").write_bytes(bitcode)
    subprocess.run(["llvm-spirv-14", folder / "k.bc", "-o", folder / "k.spv"], check=True, timeout=60)
    return folder / "k.spv"


@pytest.mark.parametrize("words", [(), ("ext",)])
@pytest.mark.parametrize("device", ["h100", "dg2"])
def test_its_results_and_counts(words: tuple[str, ...], device: str, app: Path, module: Path, tmp_path: Path) -> None:
    plain = captured(
        tmp_path, str(app), str(module.with_suffix(".cl")), "source", options=(), on=pocl(tmp_path / "pocl")
    )
    done = captured(tmp_path, str(app), str(module), *words, options=("--observe", "--device", device))
    assert (plain.status, done.status) == (0, 0), done.out + done.err
    assert done.out.splitlines()[:3] == ["offered: 1", "version: 1", "il: 1"]
    assert done.out.splitlines()[3] == plain.out.splitlines()[3]
    every = builds(done)
    assert every[0].spirv == module.read_bytes()
    (launch,) = behaviours(every[-1])["transpose"]
    assert (launch.is_counted, launch.device) == (True, device)
    arguments = ["ramp:int:4096", "zeros:int:4096", "64"]
    alone = observe(
        module, size=[64, 64], group=[16, 4], arguments=arguments, device=device, sub_group=launch.machine.width
    )
    assert [(each.place.line, each.requests, each.units) for each in launch.lines] == [
        (each.place.line, each.requests, each.units) for each in alone.lines
    ]
    assert [each.place.line for each in launch.lines if each.requests] == [5, 6]


def test_what_is_no_module_is_refused_and_said(app: Path, module: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.spv"
    broken.write_bytes(module.read_bytes()[:40] + b"\xff" * 400)
    done = captured(tmp_path, str(app), str(broken), options=("--observe",))
    assert (done.status, "program: -30" in done.out) == (3, True)
    assert "llvm-spirv made no program of SPIR-V for Oclgrind, so the application got none: " in done.err


def test_that_no_translator_is_there_is_said(
    app: Path, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernlens.toolchain.oclgrind._tool", lambda *_: None)
    done = capture([str(app), str(module)], tmp_path / "x.klens", observe=True)
    assert (done.recording, done.exit_status != 0) == (None, True)
    assert done.reason.endswith(
        "; the interpreter offers no SPIR-V, as llvm-spirv of LLVM 14, which translates SPIR-V, is not installed: apt install"
        " llvm-spirv-14, or kernlens toolchain add oclgrind"
    )


@pytest.mark.skipif(shutil.which("llvm-spirv-15") is None, reason="no clang-15 and llvm-spirv-15")
def test_a_module_counts_as_its_source(tmp_path: Path) -> None:
    source, module = ROOT / "examples" / "transpose.cl", tmp_path / "t.spv"
    clang = [
        "clang-15",
        "-c",
        "-target",
        "spir64",
        "-cl-std=CL1.2",
        "-Xclang",
        "-finclude-default-header",
        "-emit-llvm",
    ]
    more = ["-Xclang", "-no-opaque-pointers", "-gline-tables-only", "-O1", "-Xclang", "-disable-llvm-passes"]
    subprocess.run([*clang, *more, str(source), "-o", str(tmp_path / "t.bc")], check=True, timeout=60)
    subprocess.run(["llvm-spirv-15", str(tmp_path / "t.bc"), "-o", str(module)], check=True, timeout=60)
    counts = []
    for path in (source, module):
        observed = observe(
            path,
            kernel="transpose_tiled",
            size=[64, 64],
            group=[16, 16],
            arguments=["random:float:4096", "zeros:float:4096"],
        )
        counts.append(
            [
                (each.place.line, each.requests, each.units, each.local_requests)
                for each in observed.lines
                if each.requests
            ]
        )
    assert counts[0] == counts[1]
    assert len(counts[0]) == 2

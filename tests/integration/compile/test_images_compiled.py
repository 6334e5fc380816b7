"""SPIR-V in a library, compiled by the real compilers: the machine code is that of the module alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import zstandard

from kernlens.loading import open_build
from kernlens.recording.reader import Recording
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.toolchain.toolchain_fixtures import each, newest, scale, system
from tests.unit.conftest import Kernlens, kernlens
from tests.unit.formats.test_offload_bundle import host, table
from tests.writers.sycl_hosts import MISC, REQUIREMENTS, WrittenImage, assembly, numbers

__all__ = ["each", "kernlens", "newest", "scale", "system"]


def test_machine_code_is_that_of_the_module(
    each: Toolchain, scale: Path, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spirv = compile_source(scale, "dg2", "", each).spirv
    packed = zstandard.ZstdCompressor().compress(spirv)
    Path("lib.so").write_bytes(host(table((0x2000, len(spirv))), images=packed).build())
    Path("0.spv").write_bytes(spirv)
    if each.name != "system":
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(each.root))
    words = ("--device", "dg2", "--toolchain", each.name, "--no-lines")
    done = kernlens("compile", "lib.so", "--kernel", "sc*", *words)
    assert done.status == 0, done.err
    (build,) = Recording("lib.klens").builds()
    alone = compile_source("0.spv", "dg2", "", each)
    assert build.spirv == alone.spirv == spirv
    assert build.binary == alone.binary
    done = kernlens("compile", "lib.klens", *words, "-o", "again.klens")
    assert done.status == 0, done.err
    assert Recording("again.klens").builds()[0].binary == alone.binary
    kernlens("compile", "lib.so", "--kernel", "sc*", *words, "--build-options", "-cl-opt-disable")
    done = kernlens("compile", "lib.klens", *words, "-o", "again.klens")
    assert "the recorded options -cl-opt-disable are used again, before those given here" in done.err
    builds = [*Recording("lib.klens").builds(), *Recording("again.klens").builds()]
    assert builds[0].binary == builds[1].binary != alone.binary


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc makes the library")
def test_images_are_compiled_as_the_sycl_runtime_builds_them(
    each: Toolchain, scale: Path, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor's options decide over the register file: without them kernels seem to spill that do not."""
    monkeypatch.chdir(tmp_path)
    spirv = compile_source(scale, "dg2", "", each).spirv
    images = [
        WrittenImage(spirv, ("scale",), compile_options="-internal_options -cl-intel-256-GRF-per-thread"),
        WrittenImage(spirv, ("scale",), properties={MISC: {"sycl-grf-size": 256, "optLevel": 3}}),
        WrittenImage(spirv, ("scale",), properties={REQUIREMENTS: {"aspects": numbers(6)}}),
    ]
    Path("lib.s").write_text(assembly(images))
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "lib.so", "lib.s"], check=True)
    if each.name != "system":
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(each.root))
    done = kernlens("compile", "lib.so", "--kernel", "scale", "--device", "dg2", "--toolchain", each.name, "--no-lines")
    assert done.status == 0, done.err
    builds = Recording("lib.klens").builds()
    assert [build.options for build in builds] == [
        "-internal_options -cl-intel-256-GRF-per-thread",
        "-ze-opt-large-register-file -ze-opt-level=2",
        "",
    ]
    programs = [program for build in builds for program in open_build(build)]
    assert [program.kernels["scale"].resources.grf_count for program in programs] == [256, 256, 128]
    assert "before those given here: -internal_options -cl-intel-256-GRF-per-thread (dg2); -ze-opt-large" in done.err
    assert "the SYCL runtime does not run sycl-spir64.2 on dg2: it requires the aspect fp64" in done.err

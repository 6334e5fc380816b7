"""SPIR-V in a library, compiled by the real compilers: the machine code is that of the module alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from kernlens.recording.reader import Recording
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.toolchain.toolchain_fixtures import each, newest, scale, system
from tests.unit.conftest import Kernlens, kernlens
from tests.unit.formats.test_offload_bundle import host, table

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

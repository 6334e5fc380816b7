"""The cache of compiles for AMD's GPUs: what tells them apart, and that the second one starts no compiler."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import ToolError
from kernlens.toolchain import amd_clang
from kernlens.toolchain.amd_clang import toolchain_for
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.compile_keys import compile_key
from kernlens.toolchain.toolchains import Toolchain, find_toolchains

TOOLCHAINS = [each for each in find_toolchains() if amd_compiler(each) is not None]
pytestmark = pytest.mark.skipif(
    not TOOLCHAINS, reason="no clang with lld and the ROCm device libraries (rocm-device-libs, lld-15)"
)
DEVICE = "gfx1030"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that includes a header, in a working folder of its own."""
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "by.h").write_text("#define BY 2\n")
    path = tmp_path / "twice.cl"
    path.write_text('#include "by.h"\nkernel void twice(global int *out) { out[get_global_id(0)] *= BY; }\n')
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def chosen() -> Toolchain:
    return TOOLCHAINS[0]


def key(source: Path, chosen: Toolchain, device: str = DEVICE, options: str = "-g") -> str | None:
    return compile_key(source, device, options, chosen)


def test_the_second_compile_starts_no_compiler(
    source: Path, chosen: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = kernlens.compile(source, DEVICE, toolchain=chosen.name)
    monkeypatch.setattr(amd_clang, "run", lambda *words, **how: pytest.fail("a compiler was started"))
    (second,) = kernlens.compile(source, DEVICE, toolchain=chosen.name)
    assert bytes(first.binary) == bytes(second.binary)
    assert second.build.toolchain_title == first.build.toolchain_title
    assert [each.path for each in second.build.sources] == [each.path for each in first.build.sources]


def test_keys_tell_compiles_apart(source: Path, chosen: Toolchain) -> None:
    keys = [key(source, chosen), key(source, chosen, "gfx900"), key(source, chosen, options="-g -DBY=3")]
    (source.parent / "by.h").write_text("#define BY 3\n")
    keys.append(key(source, chosen))
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_what_is_not_known_has_no_key(source: Path, chosen: Toolchain) -> None:
    assert key(source, chosen, options="-g --config=mine.cfg") is None
    assert key(source, chosen, options="-include other.h") is None
    # clang includes it in every program, from the first folder that has it.
    (source.parent / "opencl-c-base.h").write_text("")
    assert key(source, chosen) is None


def test_a_refused_source_is_compiled_again(source: Path, chosen: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    source.write_text("kernel void twice(global int *out) { out[0] = nothing; }")
    with pytest.raises(ToolError):
        kernlens.compile(source, DEVICE, toolchain=chosen.name)
    assert not [each for _, _, files in os.walk(source.parent / "cache") for each in files]


@pytest.mark.parametrize(
    ("name", "processor"), [("mi200", "gfx90a"), ("NAVI21", "gfx1030"), ("vega20:xnack-", "gfx906")]
)
def test_names_that_devices_lists_compile(source: Path, chosen: Toolchain, name: str, processor: str) -> None:
    (program,) = kernlens.compile(source, name, toolchain=chosen.name)
    assert program.build.device.partition(":")[0] == processor
    assert f"-mcpu={processor}" in program.build.command
    pipeline = kernlens.stages(source, name, toolchain=chosen.name)
    assert pipeline.build.device == program.build.device
    assert toolchain_for(name) is not None

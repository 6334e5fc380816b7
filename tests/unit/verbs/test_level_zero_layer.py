"""Which drivers the Level Zero loader is told to open when an application is captured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.capture import level_zero_layer
from tests.unit.conftest import Kernlens

LAYER = Path("/made/up/libkernlens_level_zero_layer.so")
GPU, NPU = "libze_intel_gpu.so.1", "libze_intel_npu.so.1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder of libraries that there is, and a dynamic loader's list beside it; the layer was built."""
    libraries = tmp_path / "lib"
    libraries.mkdir()
    monkeypatch.setattr(level_zero_layer, "find_layer", lambda layer: LAYER)
    monkeypatch.setattr(level_zero_layer, "SYSTEM_LIBRARY_FOLDERS", (str(libraries),))
    monkeypatch.setattr(level_zero_layer, "_LIBRARY_CACHE", tmp_path / "cache")
    return libraries


def turned_on(**environment: str) -> dict[str, str]:
    level_zero_layer.turn_on_level_zero(environment, Toolchain("system", None, None, None, None))
    return environment


def test_one_driver(folder: Path) -> None:
    (folder / GPU).touch()
    assert turned_on() == {"ZE_ENABLE_ALT_DRIVERS": str(LAYER)}


def test_another_driver_stays_beside_it(folder: Path) -> None:
    """And the loader is to take tables, which handles would pass by."""
    (folder / GPU).touch()
    (folder.parent / "cache").write_bytes(b"x\0" + NPU.encode() + b"\0/opt/" + NPU.encode() + b"\0")
    expected = {"ZE_ENABLE_ALT_DRIVERS": f"{LAYER},{NPU}", "ZE_ENABLE_LOADER_DRIVER_DDI_PATH": "0"}
    assert turned_on() == expected
    chosen = {"ZE_ENABLE_LOADER_DRIVER_DDI_PATH": "1"}
    assert turned_on(**chosen) == expected | chosen


def test_a_longer_name_is_another_library(folder: Path) -> None:
    (folder.parent / "cache").write_bytes(GPU.encode() + b".3.24595\0")
    assert turned_on() == {}


def test_drivers_that_the_user_names(folder: Path) -> None:
    (folder / GPU).touch()
    for named in ("", "mine.so", f"/opt/{GPU}"):
        assert turned_on(ZE_ENABLE_ALT_DRIVERS=named) == {"ZE_ENABLE_ALT_DRIVERS": named}
    assert turned_on(ZE_ENABLE_ALT_DRIVERS=GPU) == {"ZE_ENABLE_ALT_DRIVERS": str(LAYER)}


def test_what_layer_prints(kernlens: Kernlens, folder: Path, tmp_path: Path) -> None:
    """For programs that something else starts: the same variables, which --unset takes away; others of the user's stay."""
    for name in (GPU, NPU):
        (folder / name).touch()
    words = ("layer", "--capture", tmp_path / "x.klens")
    on, off = kernlens(*words).out, kernlens(*words, "--unset").out
    assert kernlens(*words, "--json").document["environment"].items() >= turned_on().items()

    def variables(*lines: str, **environment: str) -> dict[str, str]:
        script = "\n".join(["set -e", *lines, "env"])
        done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True, env=environment)
        result = dict(line.split("=", 1) for line in done.stdout.splitlines())
        return {name: value for name, value in result.items() if name.startswith(("ZE_", "KERNLENS_", "OPENCL_"))}

    paths = {"PATH": os.environ["PATH"]}
    assert variables(on, **paths).items() >= turned_on().items()
    assert variables(on, off, **paths) == {}
    own = {"ZE_ENABLE_ALT_DRIVERS": "mine.so"}
    assert variables(off, **paths, **own) == own


def test_no_driver_and_no_layer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turned_on() == {}
    (folder / GPU).touch()
    monkeypatch.setattr(level_zero_layer, "find_layer", lambda layer: None)
    assert turned_on() == {}
    assert "kernlens doctor" in level_zero_layer.why_not_recorded()

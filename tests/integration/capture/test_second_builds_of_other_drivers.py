"""A confined second build sees the devices and drivers of every vendor: those that vendors' files name, wherever they lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.toolchain.confinement import Confinement, Limits
from kernlens.toolchain.loaders import driver_files
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.shown_files import is_offered

#: A driver's own call, and another library's.
DRIVER = "int needed(void);\nint driver(void) { return needed(); }\n"
NEEDED = "int needed(void) { return 42; }\n"
#: Loads the driver, and tells of other paths whether they are there.
LOOK = """\
import ctypes, json, os, sys
print(json.dumps([ctypes.CDLL(sys.argv[1]).driver(), [os.path.exists(path) for path in sys.argv[2:]]]))
"""

pytestmark = pytest.mark.skipif(not is_offered(), reason="this machine cannot confine")


def library(path: Path, text: str, *options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["gcc", "-shared", "-fPIC", "-x", "c", "-o", str(path), "-", *options]
    subprocess.run(words, input=text, text=True, check=True, timeout=60)
    return path


def test_a_driver_that_a_vendors_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = library(tmp_path / "opt/rocm/llvm/lib/libneeded.so", NEEDED)
    driver = library(
        tmp_path / "opt/rocm/lib/libamdocl64.so",
        DRIVER,
        f"-L{needed.parent}",
        "-lneeded",
        f"-Wl,-rpath,{needed.parent}",
    )
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors/amd.icd").write_text(f"{driver}\n")
    (tmp_path / "private").write_text("")
    monkeypatch.setattr(driver_files, "_DEVICES", ("/dev/tt?",))
    variables = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path / "vendors")}
    python = os.path.realpath(sys.executable)
    devices = [path for path in ("/dev/tty",) if os.path.exists(path)]
    with temporary_folder() as folder, Confinement(folder, Limits(), []) as confined:
        asked = [str(driver), *devices, str(tmp_path / "private"), "/dev/ptmx"]
        words = confined.command([python, "-I", "-c", LOOK, *asked], variables, of_driver=True)
        done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [42, [*(True for _ in devices), False, False]]


def test_the_devices_of_every_vendor() -> None:
    """Those of NVIDIA have numbers, and helpers of their own: nvidia0, nvidiactl, nvidia-uvm."""
    assert {"/dev/dri", "/dev/kfd", "/dev/nvidia*"} <= {*driver_files._DEVICES}

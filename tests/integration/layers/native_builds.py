"""The native parts, built otherwise than for users: by setup.py, into a folder of their own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from tests.tree import ROOT

PARTS = (
    "_decoder.abi3.so",
    "native/libkernlens_opencl_layer.so",
    "native/libkernlens_level_zero_layer.so",
    "native/kernlens_second_build",
    "native/kernlens_confine",
    "native/kernlens_demangler",
    "native/kernlens_disassembler",
    "native/kernlens_assembler",
    "native/kernlens_interpreter",
    "native/libkernlens_observer.so",
)


def build(folder: Path, compiler: tuple[str, ...], flags: str = "") -> Path:
    """Build all of ``native/`` and return the folder with ``PARTS`` in it."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--parallel", "2"]
    done = subprocess.run(
        [*command, "--build-lib", str(folder / "lib"), "--build-temp", str(folder / "temp")],
        cwd=ROOT,
        env={**os.environ, "CC": " ".join(compiler), "CFLAGS": flags},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    built = folder / "lib" / "kernlens"
    missing = [part for part in PARTS if not (built / part).exists()]
    assert done.returncode == 0, done.stderr
    assert not missing, f"not built: {missing}\n{done.stderr}"
    return built


def build_once(factory: pytest.TempPathFactory, name: str, compiler: tuple[str, ...]) -> Path:
    """Build as :func:`build` does, once for all processes of a test run: the first that asks builds, the others wait for it."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    done = folder / f"{name}.done"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            done.write_text(str(build(folder / name, compiler)))
        return Path(done.read_text())


def as_package(built: Path, folder: Path) -> Path:
    """Copy the Python package, with the decoder of ``built`` in it; return what PYTHONPATH has to name."""
    package = Path(kernlens.__file__).parent
    shutil.copytree(package, folder / "kernlens", ignore=shutil.ignore_patterns("*.so", "native", "__pycache__"))
    shutil.copy2(built / PARTS[0], folder / "kernlens")
    return folder

"""The native parts, built otherwise than for users: by setup.py, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import kernlens

ROOT = Path(__file__).parents[2]
PARTS = (
    "_decoder.abi3.so",
    "native/libkernlens_opencl_layer.so",
    "native/libkernlens_level_zero_layer.so",
    "native/kernlens_second_build",
)


def build(folder: Path, compiler: tuple[str, ...], flags: str = "") -> Path:
    """Builds all of ``native/`` and returns the folder with ``PARTS`` in it."""
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


def as_package(built: Path, folder: Path) -> Path:
    """A copy of the Python package with the decoder of ``built`` in it; returns what PYTHONPATH has to name."""
    package = Path(kernlens.__file__).parent
    shutil.copytree(package, folder / "kernlens", ignore=shutil.ignore_patterns("*.so", "native", "__pycache__"))
    shutil.copy2(built / PARTS[0], folder / "kernlens")
    return folder

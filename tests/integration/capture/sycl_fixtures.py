"""SYCL of our own: a host (sycl/host.cpp) that compiles SYCL source text at run time, and kernels for it (sycl/*.cpp).

The compiler is the library of the package intel-sycl-rt. A build takes about 3 s of processor time. It works on simulated
devices: the driver compiles the SPIR-V that it gets, over Level Zero or OpenCL.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernlens.toolchain.toolchains import NEWEST
from tests.integration.capture.capture_fixtures import MAIN, Done
from tests.made_once import once

SYCL = Path(__file__).parent / "sycl"
#: Kernels of every kind of name with a header of their own beside them, and explicit SIMD kernels.
KERNELS, ESIMD = SYCL / "kernels.cpp", SYCL / "esimd.cpp"
_PACKAGE = "intel-sycl-rt"


@dataclass(frozen=True)
class SyclHost:
    """The host program."""

    program: Path

    def captured(
        self,
        work: Path,
        source: Path,
        *options: str,
        device: str = "dg2",
        toolchain: str = NEWEST,
        interface: str = "level_zero",
        launched: tuple[str, ...] = (),
        capture: tuple[str, ...] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Done:
        """Capture the host while it compiles ``source`` with these options of the SYCL compiler (``-g``), and launches the
        free functions ``launched``. ``interface`` is ``level_zero`` or ``opencl``, ``capture`` more options of the capture."""
        recording = work / f"{source.stem}.klens"
        words = [str(self.program), *(word for name in launched for word in ("--launch", name)), str(source), *options]
        simulated = ("--simulate", device, "--toolchain", toolchain)
        done = subprocess.run(
            [*MAIN, "capture", *simulated, *capture, "-o", str(recording), "--", *words],
            cwd=work,
            env={**os.environ, "ONEAPI_DEVICE_SELECTOR": f"{interface}:gpu", **(variables or {})},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, recording)


@pytest.fixture(scope="session")
def sycl_host(tmp_path_factory: pytest.TempPathFactory, newest_root: Path) -> SyclHost:
    """Return the host program, compiled once for all processes of a test run."""
    headers, library = _compiler()
    if shutil.which("g++") is None:
        pytest.skip("a SYCL host: g++ is not installed")

    def fill(folder: Path) -> None:
        # Its dynamic loader may be that of another root, which passes over LD_LIBRARY_PATH.
        link = ["-L", str(library), f"-Wl,-rpath,{library}", "-lsycl"]
        words = ["-std=c++17", "-isystem", str(headers), str(SYCL / "host.cpp"), *link, "-o", str(folder / "sycl-host")]
        subprocess.run(["g++", *words], check=True, timeout=600)

    return SyclHost(once(tmp_path_factory, "sycl-host", fill) / "sycl-host")


def _compiler() -> tuple[Path, Path]:
    """Return the folders of the SYCL headers and libraries of the package; the test is skipped where it is not installed."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"a SYCL compiler: {_PACKAGE} is not installed (the extra 'test' brings it, on Linux x86-64)")
    paths = {file.name: Path(str(file.locate())).resolve() for file in files}
    return paths["sycl.hpp"].parent.parent, paths["libsycl-jit.so"].parent

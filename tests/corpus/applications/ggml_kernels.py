"""The OpenCL kernels of llama.cpp with their host's options: ``python ggml_kernels.py``, which loads all of them.

The host is ggml's own library, built once of the sources in the package llama-cpp-python (``--prepare``): the kernels' options
depend on what the device says of itself, so none are written down here.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "llama-cpp-python==0.3.36"
BUILD = Path(sys.prefix) / "ggml"
OPTIONS = ("GGML_OPENCL=ON", "GGML_OPENCL_EMBED_KERNELS=ON", "GGML_OPENCL_USE_ADRENO_KERNELS=OFF", "GGML_NATIVE=OFF")
MORE = (
    "GGML_OPENMP=OFF",
    "GGML_BUILD_TESTS=OFF",
    "GGML_BUILD_EXAMPLES=OFF",
    "BUILD_SHARED_LIBS=ON",
    "CMAKE_BUILD_TYPE=Release",
)


def prepare() -> None:
    """Build the library."""
    if (BUILD / "src/ggml-opencl/libggml-opencl.so").exists():
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--no-binary",
            ":all:",
        ]
        subprocess.run([*pip, PACKAGE], cwd=folder, check=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        sources = next(folder.glob("*/vendor/llama.cpp/ggml"))
        (sources / "ggml.pc.in").touch()  # The package leaves it out.
        tools = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        defined = [f"-D{option}" for option in (*OPTIONS, *MORE)]
        subprocess.run(["cmake", "-S", sources, "-B", BUILD, "-G", "Ninja", *defined], check=True, env=tools)
        subprocess.run(["ninja", "-C", BUILD, "ggml-opencl"], check=True, env=tools)


def main() -> None:
    """Allocate a buffer on the device, at which the library loads all its kernels."""
    base = ctypes.CDLL(str(BUILD / "src/libggml-base.so"), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(BUILD / "src/ggml-opencl/libggml-opencl.so"), ctypes.RTLD_GLOBAL)
    library.ggml_backend_opencl_init.restype = ctypes.c_void_p
    base.ggml_backend_alloc_buffer.restype = ctypes.c_void_p
    base.ggml_backend_alloc_buffer.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    backend = library.ggml_backend_opencl_init()
    if not backend or not base.ggml_backend_alloc_buffer(backend, 4096):
        sys.exit("ggml has no OpenCL device")
    sys.stdout.flush()
    os._exit(0)  # Its clean-up waits for work that a simulated device never does.


if __name__ == "__main__":
    prepare() if "--prepare" in sys.argv else main()

"""Real files of NVIDIA's compilers, as small as they come (``tests/data/nvidia``).

``opencl_ptx_and_compute_cache.tar.xz``: a program of three kernels on an H100 with driver 580.159.04, its two PTX binaries
(without and with ``-nv-line-info``), and what the driver then held in its compute cache. ``triton_cache.tar.xz``: the cache of
Triton 3.6 after a matrix multiplication on the same machine, and the script. ``inlined.ptx`` is written by hand, with calls
that were inlined; ``inlined.cubin`` is what ``ptxas`` 13.5 -arch=sm_90 -lineinfo made of it.
``opencl_profile.tar.xz``: an OpenCL kernel, the driver's cubin of it, and the source pages of Nsight Compute 2025.3 on that
machine, by instruction (``sass.csv``) and by line (``both.csv``);
``triton_sass.csv`` and ``triton_both.csv`` are those of Triton's matrix multiplication.
"""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from kernlens.formats.compute_cache import CacheEntry, read_cache_entry

FOLDER = Path(__file__).parent / "data" / "nvidia"
OPENCL, TRITON, PROFILE = "opencl_ptx_and_compute_cache", "triton_cache", "opencl_profile"
#: The entries with machine code of the program, without and with lines, and of the driver's own kernels.
PLAIN_ENTRY, LINES_ENTRY, DRIVER_ENTRY = (
    f"ComputeCache/{path}" for path in ("3/5/2beb3bd4af7935", "8/4/94d405b637614c", "c/2/4e46cdfc39972f")
)
#: The entry that holds the PTX of a source.
SOURCE_ENTRY = "ComputeCache/4/2/ae726147532240"


@cache
def archive(name: str) -> dict[str, bytes]:
    """Return the files of an archive by their paths in it."""
    files = {}
    with tarfile.open(FOLDER / f"{name}.tar.xz") as packed:
        for member in packed:
            content = packed.extractfile(member)
            if content is not None:
                files[member.name.removeprefix("./")] = content.read()
    return files


def opencl(name: str) -> bytes:
    """Return a file of the OpenCL program."""
    return archive(OPENCL)[name]


def profiled(name: str) -> bytes:
    """Return a file of the profiled kernels."""
    return archive(PROFILE)[name]


def entry(name: str) -> CacheEntry:
    """Return an entry of the compute cache."""
    return read_cache_entry(memoryview(opencl(name)))


def triton(ending: str) -> bytes:
    """Return the file of Triton's kernel with this ending (``.cubin``)."""
    files = archive(TRITON)
    return next(files[name] for name in sorted(files) if name.endswith(f"/matmul{ending}"))


@cache
def triton_softmax(name: str) -> bytes:
    """Return a file that Triton 3.9 made of one softmax kernel: ``100.cubin`` (for sm_100), ``gfx1100.hsaco``."""
    with tarfile.open(FOLDER.parent / "triton" / "softmax.tar.xz") as packed:
        content = packed.extractfile(f"softmax_kernel_{name}")
        assert content is not None
        return content.read()


def unpack(name: str, folder: Path) -> Path:
    """Write the files of an archive below a folder, which is returned."""
    for path, content in archive(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def inlined(ending: str) -> bytes:
    """Return the program with inlined calls: ``.ptx`` or ``.cubin``."""
    return (FOLDER / f"inlined{ending}").read_bytes()

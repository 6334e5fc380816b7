"""NVIDIA's disassembler, where the user has it: of the CUDA toolkit, or of the Python package nvidia-cuda-nvdisasm.

Its licence lets nobody pass it on, so kernlens neither contains nor fetches it. It gets the bytes of one cubin, in a process
with limits that can open no other file, where the machine can confine one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import metadata

from kernlens import log
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.toolchain.confinement import Confinement, Limits, confinement
from kernlens.toolchain.process import run, temporary_folder
from kernlens.toolchain.shown_files import is_offered

NAME = "nvdisasm"
#: The environment variable that names the program.
VARIABLE = "KERNLENS_NVDISASM"
_HOMES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_USUAL = "/usr/local/cuda/bin"
_PACKAGES = ("nvidia-cuda-nvdisasm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu11", "triton")
#: Text of 1 GB is 4 million instructions.
_LIMITS = Limits(seconds=300.0, memory=8 << 30, file_size=1 << 20, written=2 << 30, output=1 << 30)
_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")


def find_nvdisasm() -> str | None:
    """Return where the program is; None if the user has none."""
    for path in _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        log.debug("toolchain", "no nvdisasm: %s", path)
    return None


def how_to_get_nvdisasm() -> str:
    """Return the command with which a user gets the program."""
    return "pip install nvidia-cuda-nvdisasm   # under NVIDIA's licence"


def nvdisasm_title(path: str) -> str:
    """Return the name and the version of the program."""
    return _title(path, os.stat(path).st_mtime_ns)


def disassemble_cubin(content: bytes | memoryview, symbols: Sequence[int] = ()) -> tuple[str, str]:
    """Return what the program prints of a cubin's code, with the bytes of each instruction, and the program's name and version.
    ``symbols`` are the indexes of functions whose sections alone are printed; none: all. Raises UnsupportedError if the user
    has no nvdisasm, or it does not know the GPU; ToolError if it takes too much."""
    path = find_nvdisasm()
    if path is None:
        raise UnsupportedError(
            f"the instructions of NVIDIA's GPUs are decoded by {NAME}, which is not here, and which kernlens may not contain:"
            f" install the CUDA toolkit or the Python package nvidia-cuda-nvdisasm, or name it with {VARIABLE}"
        )
    title = nvdisasm_title(path)
    with temporary_folder() as folder:
        file = os.path.join(folder, "program.cubin")
        with open(file, "wb") as cubin:
            cubin.write(content)
        chosen = ["-fun", ",".join(map(str, symbols))] if symbols else []
        command = [path, "-c", "-hex", *chosen, file]
        if confinement() is not None:
            done = run(command, timeout=_LIMITS.seconds, output_limit=_LIMITS.output)
        else:
            with Confinement(folder, _LIMITS, () if is_offered() else None):
                done = run(command, timeout=_LIMITS.seconds, output_limit=_LIMITS.output)
    if not done.ok:
        complaint = next((line for line in done.stderr.splitlines() if "fatal" in line or "error" in line), "")
        reason = complaint.partition(":")[2].strip() or done.ending
        raise UnsupportedError(f"{title} does not disassemble this code: {reason}")
    return done.stdout, title


def _candidates() -> Iterator[str]:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        yield chosen
        return
    on_path = shutil.which(NAME)
    if on_path:
        yield on_path
    for home in filter(None, map(os.environ.get, _HOMES)):
        yield os.path.join(home, "bin", NAME)
    yield os.path.join(_USUAL, NAME)
    yield from _packaged()


def _packaged() -> Iterator[str]:
    """Yield the programs of Python packages of this environment."""
    for package in _PACKAGES:
        try:
            files = metadata.files(package) or ()
        except metadata.PackageNotFoundError:
            continue
        yield from (str(file.locate()) for file in files if file.name == NAME)


@lru_cache(maxsize=8)
def _title(path: str, changed: int) -> str:
    try:
        version = _VERSION.search(run([path, "--version"], timeout=30.0).stdout)
    except KernlensError as error:
        raise UnsupportedError(f"{path} does not run: {error}") from error
    return f"{NAME} {version[1]}" if version else NAME

"""Nsight Compute, NVIDIA's profiler of CUDA: its command line ``ncu``, which comes with CUDA's toolkit."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from glob import glob

from kernlens.dataclass import replace
from kernlens.errors import ToolError
from kernlens.toolchain.confinement import Confinement, confinement
from kernlens.toolchain.process import run

#: The word that stands for it, and its program.
NCU = "ncu"
#: How the names of reports end, and where it is installed beside PATH.
REPORT, _INSTALLATIONS = ".ncu-rep", ("/opt/nvidia/nsight-compute/*", "/usr/local/cuda*/nsight-compute*")
#: Bytes of a source page, and seconds that printing it may take.
_MOST_BYTES, _SECONDS = 1 << 28, 300.0


def ncu_path() -> str:
    """Return the path of ncu. Raises ToolError, which says how to get it, if it is not here."""
    path = shutil.which(NCU)
    if path is None:
        raise ToolError(
            "Nsight Compute (ncu) was not found: it comes with NVIDIA's CUDA toolkit; install that, or put its folder on PATH",
            command=NCU,
        )
    return path


def ncu_folders() -> list[str]:
    """Return the folders of installations, whose libraries ncu puts into the process that it profiles: the program on PATH may
    be a script of the toolkit, which starts the one there."""
    return [folder for pattern in _INSTALLATIONS for folder in sorted(glob(pattern)) if os.path.isdir(folder)]


def ncu_words(report: str, sources: str) -> list[str]:
    """Return the command that profiles all kernels of a program into a report, without the ending of its name; ``sources`` is
    a folder with the files that lines are of."""
    words = [ncu_path(), "--set", "full", "--import-source", "yes", "--source-folders", sources]
    return [*words, "--force-overwrite", "--export", report.replace("%", "%%")]


def source_page(report: str) -> bytes:
    """Return the source page of a report, as CSV: the samples and counts of each line, and of each instruction below it."""
    words = [ncu_path(), "--import", report, "--page", "source", "--csv", "--print-source", "cuda,sass"]
    confined = confinement()
    limits = None if confined is None else replace(confined.limits, output=_MOST_BYTES)
    with nullcontext() if confined is None or limits is None else Confinement(confined.folder, limits):
        done = run(words, timeout=_SECONDS, output_limit=_MOST_BYTES)
    if not done.ok:
        last = next((line for line in reversed(done.log.splitlines()) if line.strip()), "it printed nothing")
        raise ToolError(f"ncu {done.ending} when it printed the source page: {last}", command=NCU, log=done.log)
    return done.stdout.encode()

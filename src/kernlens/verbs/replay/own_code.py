"""The machine code of a build that NVIDIA's OpenCL driver made, and how much of it a copy that CUDA made has."""

from __future__ import annotations

from collections import Counter

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.errors import FormatError
from kernlens.formats.cubin.cubin_file import Cubin, read_cubin
from kernlens.model.build import Build
from kernlens.model.stage import BINARY
from kernlens.model.stages import NVIDIA
from kernlens.report.describe import plural

OWN = "the profiled code is OpenCL's own machine code, as its driver kept it"
_COPY = "the profiled code is a rebuilt copy, which CUDA made of the program's PTX with this launch's sizes in it"


def own_code(build: Build) -> Cubin | None:
    """Return the machine code that the driver made of a program, None if the recording has none that can be read."""
    name = NVIDIA.stage("sass").name
    for each in build.snapshots:
        if each.stage == name and each.form == BINARY and each.failure is None:
            return _cubin(each.content)
    return None


def has_lines(code: Cubin) -> bool:
    """Return whether there is a table of lines."""
    return code.elf.section(".debug_line") is not None


def copy_words(kernel: str, own: Cubin | None, copy: bytes) -> str:
    """Return the sentence on a profiled copy: how many instructions of OpenCL's code of the kernel it has."""
    copied = _cubin(copy)
    is_same_gpu = own is not None and copied is not None and own.architecture == copied.architecture
    old, new = _operations(own, kernel), _operations(copied, kernel)
    if not is_same_gpu or not old:
        return f"{_COPY}; the recording has no machine code of this GPU to compare it with"
    common = sum((Counter(old) & Counter(new)).values())
    return (
        f"{_COPY}: of the {plural(len(old), 'instruction')} of OpenCL's own code it has {common:,} by their operations,"
        f" {len(common_pairs(old, new)):,} of them in the same order, and {plural(len(new) - common, 'other')}"
    )


def _operations(code: Cubin | None, kernel: str) -> list[int]:
    return [] if code is None else next((each.operations for each in code.kernels if each.name == kernel), [])


def _cubin(content: bytes) -> Cubin | None:
    try:
        return read_cubin(memoryview(content))
    except FormatError:
        return None

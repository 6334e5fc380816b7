"""A profiler's file of samples, as the user names it."""

from __future__ import annotations

from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.errors import FormatError, KernlensError, NotFoundError
from kernlens.formats.samples.nsight_compute import is_source_page, read_source_page
from kernlens.formats.samples.thread_trace import is_thread_trace, read_thread_trace
from kernlens.formats.samples.unitrace import read_unitrace
from kernlens.toolchain.sources.source_reading import open_regular

#: Bytes of a file, at most: unitrace writes 250 for a row and a kernel's name.
LIMIT = 1 << 30


def open_samples(path: str) -> SampledKernels:
    """Return the samples in a file. Raises KernlensError for a file that has none."""
    with open_regular(path, "file of samples") as file:
        try:
            content = file.read(LIMIT + 1)
        except OSError as error:
            raise KernlensError(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) > LIMIT:
        raise KernlensError(f"{path} is larger than {LIMIT >> 30} GB, which is too much for a file of samples")
    try:
        is_trace = is_thread_trace(content)
        samples = (read_thread_trace if is_trace else read_source_page if is_source_page(content) else read_unitrace)(
            content
        )
    except FormatError as error:
        raise KernlensError(f"{path}: {error}") from error
    if not samples.kernels:
        raise NotFoundError(f"{path} has no row: the profiler took no sample; a shorter --sampling-interval takes more")
    return SampledKernels(samples)

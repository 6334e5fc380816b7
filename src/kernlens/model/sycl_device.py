"""A device as the SYCL runtime sees it: its architecture's name, its aspects, the sizes of its sub-groups."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SyclDevice:
    """A GPU of Intel's behind Level Zero. ``architecture`` is the runtime's name of it (``intel_gpu_pvc``), ``aspects`` are
    numbers of ``sycl::aspect``; None: they were never observed. ``has_own_register_mode`` is true for the one device whose
    images may ask for a register mode by its name (``pvc:``)."""

    name: str
    architecture: str
    sub_group_sizes: frozenset[int]
    aspects: frozenset[int] | None
    largest_work_group: int = 1024
    has_own_register_mode: bool = False


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The SYCL runtime's choice for a kernel on a device. ``program`` names that of the chosen image, None if no image is for
    the device; ``options`` are those that the runtime builds it with; ``reason`` says why the kernel does not run, empty if it
    does; ``note`` is what else is to know."""

    kernel: str
    program: str | None
    options: str = ""
    reason: str = ""
    note: str = ""

"""Figures that only some vendors' binaries state: they stand beside the others where a kernel has them.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from kernlens.model.analysed_figures import PEAK
from kernlens.model.figure import Figure
from kernlens.model.launch_limits import MAX_WORK_GROUP
from kernlens.model.run_figures import OF_RUNS
from kernlens.model.trip_figures import OF_TRIPS


def _of_family(key: str, heading: str, unit: str, meaning: str, origin: str, words: str, **more: Any) -> Figure:
    """Return a figure that some binaries state, by its key among ``KernelResources.stated``."""
    return Figure(
        key=key,
        heading=heading,
        unit=unit,
        meaning=meaning,
        origin=origin,
        read=lambda kernel: kernel.resources.stated.get(key),
        words=words,
        **more,
    )


def _file(key: str, name: str, unit: str, meaning: str, origin: str, words: str) -> Figure:
    """Return the number of registers of a file."""
    read = lambda kernel: kernel.resources.register_files.get(name)  # noqa: E731
    return Figure(
        key, words.removeprefix("{} ").replace("(s)", "s"), unit, meaning, origin, read, words, caused_by=(PEAK,)
    )


def _spilled(key: str, name: str, origin: str) -> Figure:
    """Return the number of registers of a file that were spilled: their bytes are not stated, and not counted here."""
    read = lambda kernel: kernel.resources.spilled_registers.get(name)  # noqa: E731
    words = f"spills {{}} {name}(s)"
    return Figure(
        key, f"{name} spills", "registers", f"registers of the file {name} that were spilled", origin, read, words
    )


# fmt: off
_METADATA = "AMD's code object metadata"
#: What no binary states: local memory whose size is an argument of the launch. Of all vendors' kernels, where it is known.
LAUNCH_SHARED = Figure(
    "launch_shared_bytes", "local memory of launches", "bytes per work-group",
    "local memory (SLM, LDS, shared) that launches ask for, besides what the kernel declares",
    "Triton's metadata beside the binary: `shared` of `K.json`", attrgetter("launch_shared_bytes"),
    "{} byte(s) local memory by the launch",
)
#: Of a kernel that declares local memory for launches which may ask for more of it.
WITHOUT_LAUNCH = "without what launches add, which no binary states"
#: What is known of any vendor's kernel, from beside its binary.
OF_LAUNCHES = (LAUNCH_SHARED, *OF_RUNS, *OF_TRIPS)
#: What some vendors' binaries state, and what lies beside some. A table shows one where a kernel of it has it.
OF_FAMILIES = (
    _file(
        "vgprs", "VGPR", "registers per work-item", "vector registers that a wavefront takes for each work-item",
        f"{_METADATA}: `.vgpr_count`", "{} VGPR(s)",
    ),
    _file(
        "sgprs", "SGPR", "registers per wavefront", "scalar registers that a wavefront takes",
        f"{_METADATA}: `.sgpr_count`", "{} SGPR(s)",
    ),
    _file(
        "agprs", "AGPR", "registers per work-item", "accumulation registers that a wavefront takes for each work-item",
        f"{_METADATA}: `.agpr_count`", "{} AGPR(s)",
    ),
    _spilled("vgpr_spills", "VGPR", f"{_METADATA}: `.vgpr_spill_count`"),
    _spilled("sgpr_spills", "SGPR", f"{_METADATA}: `.sgpr_spill_count`"),
    _file(
        "thread_registers", "registers", "registers per thread", "registers that each thread takes",
        "NVIDIA's cubin: `EIATTR_REGCOUNT`", "{} register(s) per thread",
    ),
    _of_family(
        "lds_bytes", "LDS", "bytes per work-group", "local data share that the kernel declares itself",
        f"{_METADATA}: `.group_segment_fixed_size`", "{} byte(s) LDS", grows_at_launch=True,
    ),
    _of_family(
        "shared_bytes", "shared memory", "bytes per work-group", "shared memory that a kernel declares, not what launches add",
        "NVIDIA's cubin: the size of `.nv.shared.NAME`", "{} byte(s) shared memory", grows_at_launch=True,
    ),
    LAUNCH_SHARED,
    _of_family(
        "private_segment_bytes", "private segment", "bytes per work-item", "spilled values, private memory, stack frames",
        f"{_METADATA}: `.private_segment_fixed_size`", "{} byte(s) private segment",
        akin=("scratch_bytes", "stack_bytes"), counterparts=("scratch_bytes", "stack_bytes"),
    ),
    _of_family(
        "wave_size", "wave size", "work-items", "work-items that execute together: a wavefront",
        f"{_METADATA}: `.wavefront_size`", "wave{}", more_is_better=True,
    ),
    _of_family(
        "occupancy", "occupancy", "wavefronts per SIMD", "the most wavefronts that fit beside one another",
        "the compiler's own statement, else by its rules", "occupancy {}", more_is_better=True,
    ),
    Figure(
        MAX_WORK_GROUP, "largest work-group", "work-items", "work-items of the largest work-group that it may be launched in",
        f"Intel: by the driver's rules, from SIMD and GRF count; {_METADATA}: `.max_flat_workgroup_size`; NVIDIA's cubin:"
        " `EIATTR_MAX_THREADS`", attrgetter("launch_limits.max_work_group"), more_is_better=True,
    ),
    *OF_RUNS,
    *OF_TRIPS,
)
#: What the vendors' published rules give of a core, for any vendor's kernel. No table has it unasked.
OF_CORES = (
    Figure(
        "theoretical_occupancy", "theoretical occupancy", "%", "the share of a core's hardware threads that work-groups of the"
        " required size, else of the best, fill at once, rounded down",
        "computed from the kernel's resources by the vendors' published rules", attrgetter("launch_limits.best_percent"),
        more_is_better=True,
    ),
)
# fmt: on

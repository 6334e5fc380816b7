"""Figures that tables and documents have of every kernel: those that Intel's binaries state, and two counts of all code.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from operator import attrgetter

from kernlens.model.analysed_figures import PEAK
from kernlens.model.figure import Figure

#: The key of the sum of all that a thread has of memory.
THREAD_MEMORY = "scratch_bytes"
PER_THREAD = "bytes per hardware thread"
_ACCESSES = ("scratch_store_bytes", "scratch_load_bytes")
#: The same of other vendors' threads, which are work-items: AMD's, and NVIDIA's.
_OF_OTHERS = ("private_segment_bytes", "stack_bytes")

# fmt: off
FIGURES = (
    Figure(
        key="simd", heading="SIMD", unit="channels",
        meaning="the compiled width: work-items that a hardware thread executes together",
        origin="zebin: `simd_size`; patch tokens: execution environment",
        read=attrgetter("resources.simd"), words="SIMD{}", more_is_better=True, caused_by=(PEAK,), akin=("wave_size",),
    ),
    Figure(
        key="grf_count", heading="GRF count", unit="registers per hardware thread",
        meaning="size of the register file (GRF mode): general registers that the compiler may use, whether it does or not",
        origin="zebin: `grf_count`; patch tokens: execution environment",
        read=attrgetter("resources.grf_count"), words="{} GRF(s) available", caused_by=(PEAK,), former=("registers",),
        akin=("vgprs", "sgprs", "agprs", "thread_registers"), former_counterparts=("vgprs", "thread_registers"),
    ),
    Figure(
        key="spill_bytes", heading="spill bytes", unit=PER_THREAD,
        meaning="memory for spilled values: those that did not fit into registers",
        origin="zebin: `spill_size`, before ze_info 1.39 the size of the spill buffers; unknown if it is not 0 and the kernel"
        " calls functions (`has_stack_calls`): it is then `stack_bytes`; patch tokens: 0 without scratch space, else unknown",
        read=attrgetter("resources.spill_bytes"), words="spills {} byte(s)", zero="no spill",
        unknown="the binary states only their sum with other memory of the thread; count the spills instead: spill_stores"
        " (check --max-spill-stores, annotate --top)",
        caused_by=("spill_store_bytes", "spill_load_bytes"),
        former=("spill_bytes", "spill"), akin=("vgpr_spills", "sgpr_spills"), part_of=THREAD_MEMORY,
    ),
    Figure(
        key="private_bytes", heading="private", unit=PER_THREAD,
        meaning="private memory: variables and arrays of all the thread's work-items that are not in registers",
        origin="zebin: `private_size`, before ze_info 1.39 the private buffers; patch tokens: the stateless private surface,"
        " 0 without any memory of the thread, else unknown",
        read=attrgetter("resources.private_bytes"), words="{} byte(s) private memory",
        unknown="the binary states only their sum with other memory of the thread: scratch (check --max-scratch)",
        caused_by=_ACCESSES, akin=_OF_OTHERS, counterparts=_OF_OTHERS, part_of=THREAD_MEMORY, is_detail=True,
    ),
    Figure(
        key="stack_bytes", heading="stack", unit="bytes per thread",
        meaning="stack of a kernel that calls functions: their frames, with what they save and spill (the thread is a hardware"
        " thread; of NVIDIA's GPUs one work-item, whose whole local memory this is)",
        origin="zebin: `spill_size` of a kernel with `has_stack_calls`, before ze_info 1.39 its scratch buffers; patch tokens:"
        " the scratch slots of such a kernel; NVIDIA's cubin: `EIATTR_FRAME_SIZE`",
        read=attrgetter("resources.stack_bytes"), words="{} byte(s) stack",
        unknown="the binary states only their sum with other memory of the thread: scratch (check --max-scratch)",
        caused_by=_ACCESSES, akin=("private_segment_bytes",), counterparts=("private_segment_bytes",),
        part_of=THREAD_MEMORY, is_detail=True,
    ),
    Figure(
        key=THREAD_MEMORY, heading="scratch", unit=PER_THREAD,
        meaning="all memory of a thread: spilled values, private memory, stack frames, wherever it lies",
        origin="zebin: the sum of the per-thread memory buffers; patch tokens: the scratch slots, which are rounded up to a"
        " power of two, and the stateless private surface",
        read=attrgetter("resources.scratch_bytes"), words="{} byte(s) scratch",
        caused_by=_ACCESSES, akin=_OF_OTHERS, counterparts=_OF_OTHERS,
    ),
    Figure(
        key="slm_bytes", heading="SLM", unit="bytes per work-group",
        meaning="shared local memory that the kernel declares itself",
        origin="zebin: `slm_size`; patch tokens: local surface", akin=("lds_bytes", "shared_bytes"), grows_at_launch=True,
        read=attrgetter("resources.slm_bytes"), words="{} byte(s) SLM", caused_by=("slm_loads", "slm_stores", "slm_atomics"),
    ),
    Figure(
        key="barriers", heading="barriers", unit="barriers per work-group",
        meaning="hardware barriers that a work-group needs",
        origin="zebin: `barrier_count`; patch tokens: execution environment",
        read=attrgetter("resources.barriers"), words="{} barrier(s)",
    ),
    Figure(
        key="instructions", heading="instructions", unit="instructions",
        meaning="machine instructions", origin="counted in the machine code",
        read=attrgetter("instruction_count"), needs_decoding=True, caused_by=("instructions",),
    ),
    Figure(
        key="code_size", heading="code size", unit="bytes",
        meaning="machine code without padding, functions in it included",
        origin="zebin: the kernel's section up to the end of its last function; patch tokens: the unpadded size in the"
        " kernel's header",
        read=attrgetter("code_size"), caused_by=("instructions",), former=("code_size", "code bytes"),
    ),
)
# fmt: on

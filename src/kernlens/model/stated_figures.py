"""Figures that tables and documents have of every kernel: those that Intel's binaries state, and two counts of all code.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from operator import attrgetter

from kernlens.model.analysed_figures import PEAK
from kernlens.model.figure import Figure

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
        akin=("vgprs", "sgprs", "agprs", "thread_registers"),
    ),
    Figure(
        key="spill_bytes", heading="spill bytes", unit="bytes per hardware thread",
        meaning="memory for spilled values: those that did not fit into registers",
        origin="zebin: `spill_size`, before ze_info 1.39 the size of the spill buffers; unknown if it is not 0 and the kernel"
        " calls functions (`has_stack_calls`), whose stack it includes; patch tokens: 0 without scratch space, else unknown",
        read=attrgetter("resources.spill_bytes"), words="spills {} byte(s)", zero="no spill",
        unknown="the binary states only their sum with other memory of the thread; count the spills instead: spill_stores"
        " (check --max-spill-stores, annotate --top)",
        caused_by=("spill_store_bytes", "spill_load_bytes"),
        former=("spill_bytes", "spill"), akin=("vgpr_spills", "sgpr_spills"),
    ),
    Figure(
        key="scratch_bytes", heading="scratch", unit="bytes per hardware thread",
        meaning="all scratch space: spilled values, private memory, stack frames",
        origin="zebin: the sum of the scratch buffers; patch tokens: scratch slots, which are rounded up to a power of two",
        read=attrgetter("resources.scratch_bytes"), words="{} byte(s) scratch",
        caused_by=("scratch_store_bytes", "scratch_load_bytes"), akin=("private_segment_bytes", "stack_bytes"),
    ),
    Figure(
        key="slm_bytes", heading="SLM", unit="bytes per work-group",
        meaning="shared local memory that the kernel declares itself",
        origin="zebin: `slm_size`; patch tokens: local surface", akin=("lds_bytes", "shared_bytes"),
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

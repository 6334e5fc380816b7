"""The build options that kernlens knows by name: those of every OpenCL C compiler, Intel's own, and what some of them change.

Source: OpenCL 3.0, "Compiler Options"; IGC's options.
"""

from __future__ import annotations

FAST_RELAXED = "-cl-fast-relaxed-math"
MAD_ENABLE = "-cl-mad-enable"
UNSAFE_MATH = "-cl-unsafe-math-optimizations"
NOT_OPTIMISED = "-cl-opt-disable"
MORE_REGISTERS = "-cl-intel-256-GRF-per-thread"
LINE_TABLES = "-gline-tables-only"
#: Those that have compilers write line tables. The first is what kernlens adds.
LINE_OPTIONS = (LINE_TABLES, "-g")
#: What every OpenCL C compiler has, and Intel's.
OPENCL_OPTIONS = (
    "-cl-std=CL3.0", "-cl-std=CL2.0", "-cl-std=CL1.2", "-cl-single-precision-constant", "-cl-denorms-are-zero",
    MAD_ENABLE, "-cl-fp32-correctly-rounded-divide-sqrt", NOT_OPTIMISED, "-cl-strict-aliasing",
    "-cl-uniform-work-group-size", "-cl-no-signed-zeros", UNSAFE_MATH, "-cl-finite-math-only",
    FAST_RELAXED, "-cl-kernel-arg-info", "-cl-no-subgroup-ifp", "-Werror", MORE_REGISTERS,
    "-cl-intel-128-GRF-per-thread", "-cl-intel-enable-auto-large-GRF-mode",
)  # fmt: skip
#: What a page offers to complete; any other that names no file is taken too.
OFFERED = (
    *sorted(option for option in OPENCL_OPTIONS if option.startswith("-cl-")),
    *("-g", LINE_TABLES, "-w", "-Werror", "-D NAME=VALUE", "-U NAME"),
)
#: By these a compiler may compute floats in another way as soon as the code around them is another.
FREE_WITH_FLOATS = (MAD_ENABLE, UNSAFE_MATH, FAST_RELAXED, "-ffast-math", "-ffp-contract=fast")
#: How options begin that only Intel's device compilers know.
ONLY_INTEL = ("-cl-intel-", "-ze-", "-igc", "-vc-codegen", "-cl-take-global-address", "-library-compilation")

"""Live OpenCL objects of this process: what a program and its kernels hold, and the stages of its compile.

``kernlens.from_opencl(program)`` makes the same Programs of a live program as ``kernlens.load`` does of files. Here is what
lies below it (the driver's answers as they are), ``cl_codeplay_program_snapshot`` for pyopencl, and simulated devices::

    import os
    from kernlens.opencl import TEXT, kernel_binary, live_builds, request_program_snapshot, simulated_environment

    os.environ.update(simulated_environment("dg2"))  # before anything opens the driver
    import pyopencl

    program = pyopencl.Program(context, source)
    request_program_snapshot(program, device, "llvm-optimized", TEXT, lambda size, content, label, user_data: ...)
    program.build("-gline-tables-only")
    (build,) = live_builds(program)  # source, binary, debug data, options, log; build.missing says why a part is not there
    code = kernel_binary(program.scale)

Programs, kernels and devices are pyopencl's objects, programs and kernels also raw handles (``cl_program``). ``DEFAULT``,
``BINARY`` and ``TEXT`` are the extension's formats.
"""

from __future__ import annotations

from kernlens.model.build import Build
from kernlens.model.kernel import ReportedKernel
from kernlens.pipeline.snapshot_requests import (
    BINARY,
    DEFAULT,
    TEXT,
    SnapshotCallback,
    SnapshotLabel,
    SnapshotWarning,
    request_program_snapshot,
    request_program_snapshot_list,
)
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import OpenCLHandleError
from kernlens.runtime.opencl.kernel_queries import kernel_arguments, kernel_binary
from kernlens.runtime.opencl.program_queries import live_builds
from kernlens.toolchain.simulation import simulated_environment

__all__ = [
    "BINARY", "DEFAULT", "TEXT", "Build", "OpenCLError", "OpenCLHandleError", "ReportedKernel", "SnapshotCallback",
    "SnapshotLabel", "SnapshotWarning", "kernel_arguments", "kernel_binary", "live_builds",
    "request_program_snapshot", "request_program_snapshot_list", "simulated_environment",
]  # fmt: skip

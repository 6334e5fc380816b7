"""OpenCL programs and kernels of the running process: pyopencl's objects or raw handles.

Imports only the standard library, ``kernlens.errors``, ``kernlens.model`` and readers of ``kernlens.formats``.
"""

from __future__ import annotations

from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import OpenCLHandleError
from kernlens.runtime.opencl.kernel_queries import kernel_arguments, kernel_binary
from kernlens.runtime.opencl.program_queries import live_builds

__all__ = ["OpenCLError", "OpenCLHandleError", "kernel_arguments", "kernel_binary", "live_builds"]

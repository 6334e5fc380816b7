"""OpenCL programs and kernels of the running process: pyopencl's objects or raw handles; ``kernlens.opencl`` exports them.

Imports only the standard library, ``kernlens.errors``, ``kernlens.model`` and readers of ``kernlens.formats``.
"""

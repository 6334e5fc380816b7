"""The OpenCL programs and kernels of the running process (``kernlens.opencl`` exports the functions).

This package imports only the standard library, ``kernlens.errors``, ``kernlens.model`` and readers of ``kernlens.formats``.
"""

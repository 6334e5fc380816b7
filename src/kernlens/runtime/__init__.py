"""The readers of live objects: OpenCL programs and kernels, Level Zero modules and kernels."""

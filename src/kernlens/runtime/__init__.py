"""Read live objects: OpenCL programs and kernels, Level Zero modules and kernels."""

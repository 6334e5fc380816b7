"""Launches through CUDA's driver interface, which NVIDIA's profiler sees, and OpenCL's it does not."""

"""Kernels before and after a public change with a stated gain, rebuilt in small."""

"""Cubins, the ELF form of NVIDIA's device binaries."""

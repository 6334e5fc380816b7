"""Zebin, the ELF form of Intel's device binaries."""

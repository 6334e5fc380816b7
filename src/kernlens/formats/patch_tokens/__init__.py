"""Patch-token programs, the older form of Intel's device binaries, and their debug data."""

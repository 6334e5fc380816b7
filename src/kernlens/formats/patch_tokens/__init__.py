"""Patch-token programs, the older form of Intel's device binaries, and their debug data.

The readers are public with all that the format holds, also with what kernlens itself does not ask for (a kernel's heaps
and checksums, each token's fields): for tools of your own.
"""

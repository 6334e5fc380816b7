"""The requests of send instructions to the shared functions, from their descriptors.

Nothing in a descriptor says that a message saves a value that did not fit into the registers, or brings one back. The rules
for it (``_is_spill``) are what IGC's register allocator writes and nothing else in its code does. They agree with the
comments of its assembly dumps on every message of the spilling kernels in ``tests/corpus/spills.py``.
"""

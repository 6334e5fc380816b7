"""Coverage-guided fuzzing of every reader: ``python -m tests.fuzz``; docs/testing.md says how to use it.

A target (``targets.py``) takes the bytes of one input to the readers of one family. Nothing but a KernlensError may come out,
within limits of time and memory (``verdict.py``). ``corpus/TARGET/`` holds where the fuzzer starts from: small real files, and
inputs that found something, each named by what it found. The unit tests replay all of them without the fuzzer.
"""

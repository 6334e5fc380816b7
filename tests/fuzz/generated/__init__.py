"""Generated files of all formats, by the million: ``python -m tests.fuzz.generated --count 1000000``.

The fuzzer follows coverage and makes small inputs; here sizes, counts and offsets of valid files go to their limits, entries
point at the same bytes, containers nest, texts are one token a hundred thousand times.
"""

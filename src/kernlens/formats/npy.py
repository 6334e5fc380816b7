"""NumPy's file of one array (``.npy``). Source: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays"."""

from __future__ import annotations

import re

from kernlens.errors import FormatError

FORMAT = "npy"
_MAGIC = b"\x93NUMPY"
_ORDER, _TYPE = re.compile(rb"'fortran_order':\s*False"), re.compile(rb"'descr':\s*'[<|=][\w]+'")


def array_bytes(content: bytes) -> bytes:
    """Return the elements of the array in a file. Raises FormatError for another file, and for an array in another order than
    C's, or of objects, structures or big-endian numbers."""
    if not content.startswith(_MAGIC) or len(content) < 12:
        raise FormatError("it does not begin as NumPy's files do", format=FORMAT)
    start, size = (10, content[8:10]) if content[6] == 1 else (12, content[8:12])
    end = start + int.from_bytes(size, "little")
    header = content[start:end]
    if end > len(content) or not _ORDER.search(header) or not _TYPE.search(header):
        raise FormatError("it is no array of little-endian numbers in C's order", format=FORMAT)
    return content[end:]

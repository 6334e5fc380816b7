"""Entries of the compute cache of NVIDIA's driver: files ``X/Y/HASH`` below ``~/.nv/ComputeCache``, one for each compile.

The format has no public description; this was told by comparing entries of driver 580.159 with the programs that they are
of. A header of 28 bytes: 0x41 (u32), size of the key (u64), size of the result (u64), a checksum (u64). The key is what was
compiled: of the first half of a build the source, options and the driver's version, and its result is the PTX; of the second
the compiler's date, the architecture (``HOST64sm_90``), the PTX up to a NUL, and options, and its result is a cubin.
"""

from __future__ import annotations

import re
import struct

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError

MAGIC = b"\x41\x00\x00\x00"
_HEADER = struct.Struct("<IQQQ")
HEADER_SIZE = _HEADER.size
#: When the compiler was built, in the C preprocessor's form (``__DATE__`` and ``__TIME__``), and what for.
_STAMP = re.compile(
    rb"(?P<date>[A-Z][a-z]{2} [ \d]\d \d{4})(?P<time>\d\d:\d\d:\d\d)HOST\d\d(?P<sm>sm_\d+[a-z]?)(?=//|\s|\.)"
)
_STAMP_LIMIT = 64
_ELF_MAGIC = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One entry. ``key`` is what was compiled, ``result`` what came of it, at ``result_offset`` of the file.

    ``architecture`` is what the machine code is for, ``ptx`` the text that it was made from, without NUL, and ``compiler`` the
    date of the compiler; they are empty in an entry whose result is no cubin."""

    key: memoryview = field(repr=False)
    result: memoryview = field(repr=False)
    result_offset: int
    architecture: str = ""
    ptx: bytes = field(default=b"", repr=False)
    compiler: str = ""
    options: str = ""

    @property
    def holds_code(self) -> bool:
        """True if the result is a cubin, and the key tells the PTX that it was made from."""
        return bool(self.ptx)


def is_cache_entry(start: bytes, size: int) -> bool:
    """Return whether a file of ``size`` bytes that begins with ``start`` (HEADER_SIZE bytes) is an entry: its sizes add up."""
    if len(start) < HEADER_SIZE or not start.startswith(MAGIC):
        return False
    _, key_size, result_size, _ = _HEADER.unpack_from(start)
    return bool(HEADER_SIZE + key_size + result_size == size)


def read_cache_entry(data: memoryview) -> CacheEntry:
    """Read an entry. Raises FormatError if its header does not add up to the file."""
    if not is_cache_entry(bytes(data[:HEADER_SIZE]), len(data)):
        raise FormatError("the header's sizes are not those of the file", format="compute-cache", offset=0)
    _, key_size, _, _ = _HEADER.unpack_from(data)
    start = HEADER_SIZE + key_size
    key, result = data[HEADER_SIZE:start], data[start:]
    stamp = _STAMP.match(bytes(key[:_STAMP_LIMIT]))
    if stamp is None or result[: len(_ELF_MAGIC)] != _ELF_MAGIC:
        return CacheEntry(key, result, start)
    ptx, end, options = bytes(key[stamp.end() :]).partition(b"\0")
    if not end:
        return CacheEntry(key, result, start)
    return CacheEntry(
        key,
        result,
        start,
        stamp["sm"].decode(),
        ptx,
        f"{stamp['date'].decode()} {stamp['time'].decode()}",
        options.decode("utf-8", "backslashreplace").strip(),
    )

"""The dynamic loader's cache of libraries, ``/etc/ld.so.cache``: which file a library's name means by default.

Source: glibc, ``sysdeps/generic/dl-cache.h``: ``struct cache_file_new`` and ``struct file_entry_new``. ldconfig may put
the older form, ``struct cache_file``, before it.
"""

from __future__ import annotations

import struct

from kernlens.errors import FormatError

_FORMAT = "ld.so.cache"
_OLD_MAGIC, _MAGIC = b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"
#: The older form: magic, padding to 4 bytes, the number of entries, of 12 bytes each; the newer one follows at 8 bytes.
_OLD_HEADER, _OLD_ENTRY = struct.Struct("<12sI"), 12
#: nlibs and len_strings; flags, the place of extensions and what is unused fill the header's 48 bytes.
_COUNTS = struct.Struct("<II")
_HEADER_SIZE = 48
#: flags, key, value, osversion, hwcap: key and value are offsets from the beginning of the newer form.
_ENTRY = struct.Struct("<iIIIQ")
#: Libraries of this form are for 64-bit programs: FLAG_ELF_LIBC6 with FLAG_X8664_LIB64, FLAG_AARCH64_LIB64, or without.
_FLAGS_64_BIT = {0x0303, 0x0A03}
_LONGEST_NAME = 4096


def read_library_cache(data: memoryview, name: str) -> list[str]:
    """Return the files of 64-bit libraries called ``name``, in the cache's order, whose first the loader takes.

    Raises FormatError if the bytes are no cache of glibc's newer form.
    """
    start = 0
    if data[: len(_OLD_MAGIC)] == _OLD_MAGIC:
        if len(data) < _OLD_HEADER.size:
            raise FormatError("it ends within its header", format=_FORMAT, offset=0)
        start = -(-(_OLD_HEADER.size + _OLD_HEADER.unpack_from(data)[1] * _OLD_ENTRY) // 8) * 8
    if data[start : start + len(_MAGIC)] != _MAGIC or len(data) < start + _HEADER_SIZE:
        raise FormatError("it is no cache of libraries in glibc's form", format=_FORMAT, offset=start)
    count, strings = _COUNTS.unpack_from(data, start + len(_MAGIC))
    end = start + _HEADER_SIZE + count * _ENTRY.size
    if end + strings > len(data):
        raise FormatError(
            f"{count} entries and {strings} bytes of names do not fit into its {len(data)} bytes",
            format=_FORMAT,
            offset=start,
        )
    whole = bytes(data)
    name_bytes = name.encode("utf-8", "surrogateescape") + b"\0"
    paths = []
    for flags, key, value, _, _ in _ENTRY.iter_unpack(bytes(whole[start + _HEADER_SIZE : end])):
        if flags in _FLAGS_64_BIT and whole.startswith(name_bytes, start + key):
            stop = whole.find(b"\0", start + value, start + value + _LONGEST_NAME)
            if stop < 0:
                raise FormatError("the name of a library's file does not end", format=_FORMAT, offset=start + value)
            paths.append(whole[start + value : stop].decode("utf-8", "surrogateescape"))
    return list(dict.fromkeys(paths))

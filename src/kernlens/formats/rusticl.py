"""The program binary of Rusticl, Mesa's OpenCL: a header, and the SPIR-V that its front end made.

Source: ``rusticl/core/program.rs`` of Mesa. 22.3 writes version, bytes of SPIR-V, kind of program; later releases a magic
number, version, bytes of the device's name and of SPIR-V, kind, name. All numbers have 32 bits, little-endian.
"""

from __future__ import annotations

import struct

from kernlens.formats.spirv.magic import is_spirv

_MAGIC, _VERSION = b"rusticl\0", 1
_FIRST, _LATER = struct.Struct("<III"), struct.Struct("<8sIIII")


def rusticl_spirv(binary: memoryview) -> memoryview | None:
    """Return the SPIR-V in a program binary; None if that is no binary of Rusticl, or its sizes do not fit."""
    if bytes(binary[: len(_MAGIC)]) == _MAGIC and len(binary) >= _LATER.size:
        _, version, name, size, _ = _LATER.unpack_from(binary)
        start = _LATER.size + name
    elif len(binary) >= _FIRST.size:
        version, size, _ = _FIRST.unpack_from(binary)
        start = _FIRST.size
    else:
        return None
    module = binary[start:]
    return module if version == _VERSION and len(module) == size and is_spirv(module) else None

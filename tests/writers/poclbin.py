"""Program binaries of PoCL, written by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HASH = b"AB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG"


@dataclass
class WrittenKernel:
    """A kernel to write. ``arguments`` are (access, address space, qualifiers, size, name, type name)."""

    name: str
    arguments: Sequence[tuple[int, int, int, int, str, str]] = ()
    local_sizes: Sequence[int] = ()
    required: tuple[int, int, int] = (0, 0, 0)
    attributes: str = ""
    stated: int = 0x1F
    flags: int = 0
    metadata: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)


def write_poclbin(
    kernels: Sequence[WrittenKernel] = (),
    files: Mapping[str, bytes] | None = None,
    *,
    version: int = 9,
    flags: int = 0,
    kernel_count: int | None = None,
) -> bytes:
    """Return a program's binary; ``files`` are the program's own, each an entry."""
    files = {"/program.bc": b"BC\xc0\xde"} if files is None else files
    count = len(kernels) if kernel_count is None else kernel_count
    head = struct.pack("<8sQIIQI41s", b"poclbin\0", 0x1234, version, count, flags, len(files), HASH + b"\0")
    if version >= 10 and flags & 2:
        head += struct.pack("<Q", 64)
    entries = [_file(path, content) for path, content in files.items()]
    return head + b"".join(struct.pack("<Q", len(entry)) + entry for entry in entries) + b"".join(map(_kernel, kernels))


def _kernel(kernel: WrittenKernel) -> bytes:
    arguments = b"".join(
        struct.pack("<IIQII", access, space, qualifiers, 0, size) + _string(name.encode()) + _string(type_name.encode())
        for access, space, qualifiers, size, name, type_name in kernel.arguments
    )
    files = b"".join(_file(path, content) for path, content in kernel.files.items())
    body = _string(kernel.name.encode()) + struct.pack("<II", len(kernel.arguments), len(kernel.local_sizes))
    body += struct.pack("<3Q", *kernel.required) + struct.pack(f"<{len(kernel.local_sizes)}Q", *kernel.local_sizes)
    body += _string(kernel.attributes.encode()) + struct.pack("<II", kernel.stated, kernel.flags) + kernel.metadata
    body += arguments + files
    return struct.pack("<QQI", 20 + len(body), len(files), len(arguments)) + body


def _file(path: str, content: bytes) -> bytes:
    return _string(path.encode()) + _string(content)


def _string(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content

"""Writers of patch-token programs, CTNI debug data and NEO ELFs: small files whose every byte a test can name."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

MAGIC = b"CTNI"
VERSION = 1081
GEN9 = 12


def words(*values: int) -> bytes:
    """Return u32s, little-endian."""
    return struct.pack(f"<{len(values)}I", *values)


def padded(text: str, alignment: int = 4) -> bytes:
    """Make a string with at least one NUL, padded to ``alignment``."""
    encoded = text.encode() + b"\0"
    return encoded + bytes(-len(encoded) % alignment)


def token(number: int, *payload: int | bytes, following: bytes = b"") -> bytes:
    """Make a patch token; ``following`` comes behind it and is not counted in its size, as with tokens 41 and 42."""
    body = b"".join(words(part) if isinstance(part, int) else part for part in payload)
    return words(number, 8 + len(body)) + body + following


def environment(words_of_payload: int = 33, *, simd: int = 16, **fields: int) -> bytes:
    """Return token 23 with a payload of so many u32s; ``fields`` are set by index: ``at5=1`` sets index 5."""
    values = [0] * words_of_payload
    values[3] = simd
    for index, value in fields.items():
        values[int(index.removeprefix("at"))] = value
    return token(23, *values)


def argument_description(
    index: int, name: str, type_name: str, address: str = "__private", access: str = "NONE", qualifier: str = "NONE"
) -> bytes:
    """Return token 26."""
    texts = [padded(text) for text in (address, access, name, type_name, qualifier)]
    return token(26, index, *(len(text) for text in texts), *texts)


def symbol_table(*entries: tuple[int, int, int, str], wide: bool = False) -> bytes:
    """Return token 53; an entry is (kind, offset, size, name). ``wide``: with 8-byte offsets, as newer compilers write it."""
    layout = "<I4xQI1024s4x" if wide else "<III1024s"
    packed = (struct.pack(layout, kind, offset, size, name.encode()) for kind, offset, size, name in entries)
    return token(53, len(entries), *packed)


def relocation_table(*entries: tuple[int, int, str], wide: bool = False) -> bytes:
    """Return token 54; an entry is (kind, offset, symbol)."""
    layout = "<I4xQ1024s" if wide else "<II1024s"
    packed = (struct.pack(layout, kind, offset, name.encode()) for kind, offset, name in entries)
    return token(54, len(entries), *packed)


@dataclass(frozen=True)
class KernelToWrite:
    """A kernel for ``program``; ``padding`` bytes follow the code within the heap."""

    name: str
    code: bytes = bytes(16)
    tokens: Sequence[bytes] = ()
    padding: int = 0
    general: bytes = b""
    dynamic: bytes = b""
    surface: bytes = b""

    def packed(self) -> bytes:
        name = padded(self.name)
        patch_list = b"".join(self.tokens)
        heap = self.code + bytes(self.padding)
        sizes = (len(heap), len(self.general), len(self.dynamic), len(self.surface), len(self.code))
        header = struct.pack("<IQII5I", 0xC0FFEE, 0x1234, len(name), len(patch_list), *sizes)
        return header + name + heap + self.general + self.dynamic + self.surface + patch_list


def program(
    kernels: Sequence[KernelToWrite] = (), tokens: Sequence[bytes] = (), *, render_core: int = GEN9, stepping: int = 9
) -> bytes:
    """Make a whole patch-token program."""
    patch_list = b"".join(tokens)
    header = MAGIC + words(VERSION, render_core, 8, len(kernels), stepping, len(patch_list))
    return header + patch_list + b"".join(kernel.packed() for kernel in kernels)


def debug_data(kernels: Sequence[tuple[str, bytes, bytes]], *, render_core: int = GEN9, stepping: int = 9) -> bytes:
    """Return CTNI debug data; a kernel is (name, vISA part, GenISA part)."""
    header = MAGIC + words(VERSION, 0, render_core, stepping, 0, len(kernels))
    return header + b"".join(
        words(len(padded(name)), len(visa), len(gen_isa)) + padded(name) + visa + gen_isa
        for name, visa, gen_isa in kernels
    )


def neo_elf(sections: Sequence[tuple[int, bytes]], *, type: int = 0xFF04, machine: int = 0) -> bytes:
    """Make a NEO ELF: header, section contents, section headers (a null section first, no names)."""
    contents, headers = b"", bytes(64)
    for section_type, data in sections:
        headers += struct.pack("<IIQQQQIIQQ", 0, section_type, 0, 0, 64 + len(contents), len(data), 0, 0, 1, 0)
        contents += data
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack(
        "<HHIQQQIHHHHHH", type, machine, 1, 0, 0, 64 + len(contents), 0, 64, 0, 0, 64, len(sections) + 1, 0
    )
    return identity + header + contents + headers

"""GPU binaries in the data of a host library without a section for them, as in NVIDIA's libsanitizer-public.so."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import TooManyError
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from tests.nvidia_files import inlined, triton
from tests.unit.formats.test_cuda_containers import fat_entry, fatbin
from tests.writers import code_objects
from tests.writers.elf import ElfWriter

ALLOC, CODE = 2, 6
AMD = code_objects.code_object(
    {"k": code_objects.NOP + code_objects.END}, code_objects.metadata([code_objects.kernel("k", vgpr_count=1)])
)
#: Begins like a cubin, and has no sections.
LOOKALIKE = inlined(".cubin")[:40] + bytes(24)


def library(*sections: tuple[str, bytes, int]) -> memoryview:
    """Return a host library with these sections: name, content, flags."""
    writer = ElfWriter(machine=62, type=3)
    for name, content, flags in sections:
        writer.add(name, content, flags=flags)
    return writer.build()


def test_each_binary_is_a_program() -> None:
    first, second = inlined(".cubin"), triton(".cubin")
    data = b"text" + LOOKALIKE + first + b"\x7fELF" + second + b"\0" * 8 + AMD
    contents = open_bytes(library((".text", first, CODE), (".rodata", data, ALLOC)), "lib.so", Context())
    programs = [(program.name, program.format, len(program.kernels) > 0) for program in contents.programs]
    assert programs == [
        (".rodata.0", "cubin", True),
        (".rodata.1", "cubin", True),
        (".rodata.2", "amd-code-object", True),
    ]
    (host,) = contents.containers
    sizes = [(child.offset - host.children[0].offset, child.size) for child in host.children]
    assert sizes == [
        (0, len(first)),
        (len(first) + 4, len(second)),
        (len(first) + 4 + len(second) + 8, len(AMD)),
    ]


def test_a_fat_binary_is_unpacked() -> None:
    """Its cubin is not listed a second time, and what is no code for GPUs is named."""
    fat = fatbin(fat_entry(inlined(".cubin")), fat_entry(b"NVVM" * 20, kind=8))
    data = fat[:16] + b"\xff" * 16 + fat + triton(".cubin")  # Of the first the entries do not fit.
    data = data.replace(fat[:16], fat[:8] + b"\xff" * 8, 1)
    contents = open_bytes(library((".data", data, ALLOC)), "lib.so", Context())
    assert [program.format for program in contents.programs] == ["cubin", "cubin"]
    (host,) = contents.containers
    assert [(child.kind, child.offset - host.children[0].offset) for child in host.children] == [
        ("fatbin", 0),
        ("cubin", len(fat)),
    ]
    assert [child.name for child in host.children[0].children] == ["cubin.sm_90.0", "kind8.sm_90.0"]


def test_a_library_with_a_section_for_them_is_not_searched() -> None:
    parts = library((".nv_fatbin", fatbin(fat_entry(inlined(".cubin"))), ALLOC), (".rodata", triton(".cubin"), ALLOC))
    (program,) = open_bytes(parts, "lib.so", Context()).programs
    assert set(program.kernels.keys()) == {"k", "k2"}


def test_headers_of_one_table_are_counted() -> None:
    """A file of nothing but beginnings, each of which claims as many sections as there may be."""
    start = bytearray(LOOKALIKE)
    struct.pack_into("<Q", start, 40, 64)
    struct.pack_into("<HHH", start, 58, 64, 0xFEFF, 0)
    with pytest.raises(TooManyError, match="sections are too many"):
        open_bytes(library((".rodata", bytes(start) * 20_000, ALLOC)), "lib.so", Context())

"""Device images inside host ELFs."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.offload_bundle import read_offload_images
from kernlens.loading.identify import identify
from tests.writers.elf import SHT_RELA, ElfWriter, rela

BUNDLE = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64"
ALLOC = 2
IMAGES = b"first" + bytes(11) + b"second"


def table(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def host(entries: bytes, machine: int = 62) -> ElfWriter:
    writer = ElfWriter(machine=machine, type=3)
    writer.add(".text", bytes(32), flags=6, address=0x1000)
    writer.add(BUNDLE, IMAGES, flags=ALLOC, address=0x2000)
    writer.add(".tgtimg", entries, flags=3, address=0x3000)
    return writer


def test_images_by_their_table() -> None:
    data = host(table((0x2000, 5), (0x2010, 6))).build()
    first, second = read_offload_images(data)
    assert (first.name, first.target, bytes(first.data)) == ("sycl-spir64.0", "spir64", b"first")
    assert (second.name, second.target, bytes(second.data)) == ("sycl-spir64.1", "spir64", b"second")
    assert bytes(data[second.offset : second.offset + 6]) == b"second"
    assert identify(data) == "host-elf"


@pytest.mark.parametrize(("machine", "relative"), [(62, 8), (183, 1027)])
def test_addresses_in_dynamic_relocations(machine: int, relative: int) -> None:
    writer = host(table((0, 5), (0, 6)), machine)
    entries = rela((0x3000, 0, relative, 0x2000), (0x3010, 0, relative, 0x2010), (0x3010, 0, 1, 0x1000))
    writer.add(".rela.dyn", entries, type=SHT_RELA, entry_size=24)
    assert [bytes(image.data) for image in read_offload_images(writer.build())] == [b"first", b"second"]


def test_an_image_elsewhere_has_no_target() -> None:
    (image,) = read_offload_images(host(table((0x1008, 8))).build())
    assert (image.name, image.target, bytes(image.data)) == ("image.0", None, bytes(8))


def test_an_object_without_table() -> None:
    writer = ElfWriter(machine=62)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown", b"BC\xc0\xde")
    writer.add("__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu", b"\0")
    (image,) = read_offload_images(writer.build())
    assert (image.target, bytes(image.data)) == ("spir64-unknown-unknown", b"BC\xc0\xde")


def test_no_images() -> None:
    writer = ElfWriter(machine=62)
    writer.add(".text", bytes(8))
    assert read_offload_images(writer.build()) == ()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (table((0x2000, 500)), "image 0 of 500 bytes at address 0x2000 lies in no section"),
        (table((0x2000, 5), (0x10, 5)), "image 1"),
        (table((0, 5)), "address 0x0"),
        (table(((1 << 64) - 1, (1 << 64) - 1)), "lies in no section"),
        (table((0x2000, 5))[:-1], "no whole number of entries"),
        (table(*[(0x2000, 20)] * 1000), "overlap"),
    ],
)
def test_damaged_tables(entries: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_offload_images(host(entries).build())

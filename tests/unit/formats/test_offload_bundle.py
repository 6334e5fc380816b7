"""Device images inside host ELFs."""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kernlens.errors import FormatError
from kernlens.formats import zstd_frame
from kernlens.formats.offload_bundle import read_offload_images
from kernlens.formats.zstd_frame import unpack_frame
from kernlens.loading.identify import identify
from kernlens.model.allowance import Allowance
from tests.limits import memory, processor_time
from tests.unit.conftest import Kernlens
from tests.writers.ar import archive, member
from tests.writers.elf import SHT_RELA, ElfWriter, rela
from tests.writers.programs import spirv

BUNDLE = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64"
ALLOC = 2
IMAGES = b"first" + bytes(11) + b"second"


def table(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def host(entries: bytes, machine: int = 62, images: bytes = IMAGES) -> ElfWriter:
    writer = ElfWriter(machine=machine, type=3)
    writer.add(".text", bytes(32), flags=6, address=0x1000)
    writer.add(BUNDLE, images, flags=ALLOC, address=0x2000)
    writer.add(".tgtimg", entries, flags=3, address=0x3000 + (len(images) & ~0xFFF))
    return writer


def test_images_by_their_table() -> None:
    data = host(table((0x2000, 5), (0x2010, 6))).build()
    first, second = read_offload_images(data)
    assert (first.name, first.target, bytes(first.read())) == ("sycl-spir64.0", "spir64", b"first")
    assert (second.name, second.target, bytes(second.read())) == ("sycl-spir64.1", "spir64", b"second")
    assert bytes(data[second.offset : second.offset + 6]) == b"second"
    assert identify(data) == "host-elf"


@pytest.mark.parametrize(("machine", "relative"), [(62, 8), (183, 1027)])
def test_addresses_in_dynamic_relocations(machine: int, relative: int) -> None:
    writer = host(table((0, 5), (0, 6)), machine)
    entries = rela((0x3000, 0, relative, 0x2000), (0x3010, 0, relative, 0x2010), (0x3010, 0, 1, 0x1000))
    writer.add(".rela.dyn", entries, type=SHT_RELA, entry_size=24)
    assert [bytes(image.read()) for image in read_offload_images(writer.build())] == [b"first", b"second"]


def test_an_image_elsewhere_has_no_target() -> None:
    (image,) = read_offload_images(host(table((0x1008, 8))).build())
    assert (image.name, image.target, bytes(image.read())) == ("image.0", None, bytes(8))


def test_an_object_without_table() -> None:
    writer = ElfWriter(machine=62)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown", b"BC\xc0\xde")
    writer.add("__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu", b"\0")
    (image,) = read_offload_images(writer.build())
    assert (image.target, bytes(image.read())) == ("spir64-unknown-unknown", b"BC\xc0\xde")


def test_no_images() -> None:
    writer = ElfWriter(machine=62)
    writer.add(".text", bytes(8))
    assert read_offload_images(writer.build()) == ()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (table((0x2000, 5))[:-1], "not a whole number of entries"),
        (table(*[(0x2000, 20)] * 1000), "overlap"),
    ],
)
def test_damaged_tables(entries: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_offload_images(host(entries).build())


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ((0x2000, 500), "its 500 bytes reach beyond section"),
        ((0x10, 5), "image 1 of 5 bytes at address 0x10 lies in no section"),
        ((0, 5), "address 0x0"),
        (((1 << 64) - 1, (1 << 64) - 1), "lies in no section"),
    ],
)
def test_an_entry_that_leads_nowhere_hides_no_other(entry: tuple[int, int], reason: str) -> None:
    first, second = read_offload_images(host(table((0x2000, 5), entry)).build())
    assert bytes(first.read()) == b"first"
    assert reason in (second.unreadable or "")
    with pytest.raises(FormatError, match=reason):
        second.read()


def packed(content: bytes, *, write_checksum: bool = False, write_content_size: bool = True) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=write_checksum, write_content_size=write_content_size)
    return compressor.compress(content)


@pytest.mark.parametrize("settings", [{}, {"write_checksum": True}, {"write_content_size": False}])
def test_packed_images(settings: dict[str, bool]) -> None:
    """The table holds what an image unpacks to, which may be more than the whole section."""
    content = [bytes(300_000), b"second image, hardly packed", bytes(5)]
    frames = [packed(content[0], **settings), packed(content[1], **settings), content[2]]
    addresses = [0x2000, 0x2000 + len(frames[0]), 0x2000 + len(frames[0]) + len(frames[1])]
    entries = table(*zip(addresses, map(len, content), strict=True))
    images = read_offload_images(host(entries, images=b"".join(frames)).build())
    assert [bytes(image.read()) for image in images] == content
    assert [bytes(image.stored) for image in images] == frames
    assert [image.unpacked for image in images] == [300_000, len(content[1]), None]


def test_a_frame_that_claims_more_than_may_be_allocated_is_refused() -> None:
    # A magic number, one segment, and 8 bytes that say how much it holds.
    frame = bytes.fromhex("28b52ffd e0") + (1 << 40).to_bytes(8, "little") + bytes.fromhex("010000")
    with (
        memory(1 << 20),
        pytest.raises(FormatError, match=r"claims to contain 1,099,511,627,776 bytes; the limit is 4,096"),
    ):
        unpack_frame(memoryview(frame), 4096)


def test_a_packed_image_in_an_object_without_table() -> None:
    writer = ElfWriter(machine=62)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", packed(b"image" * 100))
    (image,) = read_offload_images(writer.build())
    assert bytes(image.read()) == b"image" * 100


def test_packed_images_share_one_bound() -> None:
    """Each of these alone would be believed; together they are 4,000 times the file. What another reader of the input has
    unpacked counts as well."""
    frame = packed(bytes(12 << 20))
    entries = table(*((0x2000 + index * len(frame), 12 << 20) for index in range(10)))
    file = host(entries, images=frame * 10).build()
    allowance = Allowance(len(file))
    with memory(32 << 20):
        images = read_offload_images(file, allowance)
        assert len(images[0].read()) == 12 << 20
    assert [image.unreadable is None for image in images] == [True, True, *[False] * 8]
    assert "would unpack to 37,748,736" in (images[2].unreadable or "")
    assert not any(image.unreadable is None for image in read_offload_images(file, allowance))


@pytest.mark.parametrize("says_its_size", [True, False])
def test_packed_images_of_all_libraries_in_an_archive_share_one_bound(
    kernlens: Kernlens, tmp_path: Path, says_its_size: bool
) -> None:
    """Neither the number of libraries nor that of frames helps: nothing is unpacked beyond what the archive may unpack to."""
    size = 1 << 20
    frame = packed(bytes(size), write_content_size=says_its_size)
    libraries = [library(tmp_path, *[(frame, size)] * 10).read_bytes() for _ in range(5)]
    path = tmp_path / "libraries.a"
    path.write_bytes(archive([member("m", library) for library in libraries]))
    allowed = Allowance(path.stat().st_size).limit // size
    with memory((allowed + 10) * size):
        images = [
            image for container in kernlens("inspect", path, "--json").document["containers"][0]["containers"]
            for image in container["containers"]
        ]  # fmt: skip
    reasons = [image.get("unreadable", "") for image in images]
    assert [not reason for reason in reasons] == [number < allowed for number in range(50)]
    assert all("would unpack to" in reason for reason in reasons[allowed:])


def test_many_entries_for_one_frame_of_many_blocks() -> None:
    """Frames are walked to find their end, cut off or not: no byte more often than once for the whole table."""
    start = zstandard.ZstdCompressor(write_content_size=False).compress(b"")[:6]
    for end in (b"\1\0\0", b""):
        with processor_time(2), pytest.raises(FormatError, match="overlap"):
            read_offload_images(host(table(*[(0x2000, 5)] * 20_000), images=start + bytes(60_000) + end).build())


def library(tmp_path: Path, *images: tuple[bytes, int]) -> Path:
    """A host library of these images; the number is the size that the table has of each."""
    entries, address = [], 0x2000
    for stored, size in images:
        entries.append((address, size))
        address += len(stored)
    path = tmp_path / "library.so"
    path.write_bytes(host(table(*entries), images=b"".join(stored for stored, _ in images)).build())
    return path


def test_one_unreadable_image_hides_no_other(kernlens: Kernlens, tmp_path: Path) -> None:
    module = bytes(spirv())
    frame, damaged = packed(module), bytearray(packed(module, write_checksum=True))
    damaged[-1] ^= 1
    cut, zebin = module[:-4] + b"\0\0\0\0", b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\xcd\0" + b"\xff" * 44
    path = library(
        tmp_path,
        (module, len(module)),
        (bytes(damaged), len(module)),
        (cut, len(cut)),
        (zebin, len(zebin)),
        (frame, len(module)),
    )
    done = kernlens("inspect", path)
    assert done.status == 0
    assert done.out.count("cannot be read: ") == 3
    assert "cannot be read: zstd, offset 0x0: the frame cannot be unpacked" in done.out
    document = kernlens("inspect", path, "--json").document
    inside = document["containers"][0]["containers"]
    assert [name["kind"] for name in inside] == ["spirv", "unknown", "spirv", "unknown", "spirv"]
    assert ["unreadable" in name for name in inside] == [False, True, False, True, False]
    programs = document["programs"]
    assert [(program["name"], "unreadable" in program) for program in programs] == [
        ("sycl-spir64.0", False),
        ("sycl-spir64.2", True),
        ("sycl-spir64.4", False),
    ]
    assert programs[0]["symbols"] == programs[2]["symbols"] != []
    assert kernlens("extract", path, "-o", tmp_path / "parts").status == 0
    (unpacked,) = (tmp_path / "parts" / "containers").rglob("sycl-spir64.4.spv")
    assert unpacked.read_bytes() == module


def test_nothing_but_unreadable_images(kernlens: Kernlens, tmp_path: Path) -> None:
    """What is read must then say why there is nothing."""
    frame = packed(bytes(spirv()))[:-3]
    path = library(tmp_path, (frame, 1000))
    assert "cannot be read: offload-bundle, offset 0x60: zstd" in kernlens("inspect", path).out
    done = kernlens("disasm", path)
    assert (done.status, "sycl-spir64.0 in" in done.err, "cut off" in done.err) == (2, True, True)


def test_images_are_unpacked_by_one_decompressor(monkeypatch: pytest.MonkeyPatch) -> None:
    decompressors = []

    def counted(**options: Any) -> zstandard.ZstdDecompressor:
        decompressors.append(options)
        return decompressor(**options)

    decompressor = zstandard.ZstdDecompressor
    monkeypatch.setattr(zstd_frame, "_of_thread", threading.local())
    monkeypatch.setattr(zstandard, "ZstdDecompressor", counted)
    frame = memoryview(zstandard.compress(b"content"))
    assert [unpack_frame(frame, 7) for _ in range(5)] == [b"content"] * 5
    assert len(decompressors) == 1

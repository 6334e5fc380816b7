"""Descriptors of SYCL's device images, in libraries that the GNU assembler and linker make, and in damaged ones."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.offload_bundle import read_offload_images
from kernlens.model.sycl_image import SyclImage
from tests.limits import memory, processor_time
from tests.unit.conftest import Kernlens
from tests.writers.elf import ElfWriter
from tests.writers.programs import spirv
from tests.writers.sycl_hosts import MISC, REQUIREMENTS, WrittenImage, assembly, numbers

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc makes the libraries")

FIRST = WrittenImage(
    bytes(spirv()),
    ("_ZTS5First", "_ZTS6Second"),
    compile_options="-cl-intel-256-GRF-per-thread",
    link_options="-library-compilation",
    properties={MISC: {"optLevel": 3}, REQUIREMENTS: {"aspects": numbers(6, 27), "reqd_sub_group_size": 16}},
)
SECOND = WrittenImage(b"not known", ("third",), "spir64_gen", properties={"SYCL/exported symbols": {"third": 1}})


def built(tmp_path: Path, *images: WrittenImage, flags: str = "-shared", **choice: bool) -> Path:
    text, path = tmp_path / "library.s", tmp_path / "library.so"
    text.write_text(assembly(images, **choice))
    subprocess.run(["gcc", *flags.split(), "-nostdlib", "-o", path, text], check=True)
    return path


def described(path: Path) -> list[SyclImage | None]:
    return [image.described for image in read_offload_images(memoryview(path.read_bytes()))]


@pytest.mark.parametrize("flags", ["-shared", "-shared -Wl,-z,pack-relative-relocs", "-no-pie -Wl,-e,registered", "-c"])
@pytest.mark.parametrize("has_table", [True, False])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_that_a_descriptor_says(tmp_path: Path, flags: str, has_table: bool, version: int) -> None:
    """However the pointers are stored: relocations with addends, packed ones, none, and those of an object."""
    first = WrittenImage(**{**FIRST.__dict__, "version": version})
    path = built(tmp_path, first, SECOND, flags=flags, has_table=has_table)
    start, other = described(path)
    assert start is not None
    assert other is not None
    assert (start.version, start.target, start.compile_options) == (version, "spir64", "-cl-intel-256-GRF-per-thread")
    assert (start.link_options, start.entries) == ("-library-compilation", ("_ZTS5First", "_ZTS6Second"))
    assert (start.aspects, start.sub_group_size, start.number("optLevel"), start.is_esimd) == ((6, 27), 16, 3, False)
    assert (other.target, other.entries, other.kernels) == ("spir64_gen", ("third",), ())


def test_images_that_only_their_descriptors_lead_to(tmp_path: Path) -> None:
    path = built(tmp_path, FIRST, SECOND, has_table=False, has_bundles=False)
    images = read_offload_images(memoryview(path.read_bytes()))
    assert [(image.name, image.target) for image in images] == [
        ("sycl-spir64.0", "spir64"),
        ("sycl-spir64_gen.0", "spir64_gen"),
    ]
    assert bytes(images[0].read()) == FIRST.content


def test_inspect_shows_descriptors_and_what_the_runtime_does(kernlens: Kernlens, tmp_path: Path) -> None:
    path = built(tmp_path, FIRST)
    done = kernlens("inspect", path, "--device", "dg2")
    for line in (
        "  SYCL image: target spir64, format not stated, descriptor version 3",
        "  compile options: -cl-intel-256-GRF-per-thread",
        "  link options: -library-compilation",
        "  requires: aspects fp64, atomic64, sub-groups of 16",
        "  properties: optLevel 3",
        "SYCL runtime on dg2, through Level Zero: it runs 0 of 2 kernels",
        "does not run: it requires the aspect fp64, which dg2 does not have",
    ):
        assert line in done.out, line
    # A library has thousands of images: what was asked comes before them.
    assert done.out.splitlines()[1] == "SYCL runtime on dg2, through Level Zero: it runs 0 of 2 kernels"
    document = kernlens("inspect", path, "--device", "pvc", "--json").document
    (program,) = document["programs"]
    assert program["sycl_image"]["properties"][REQUIREMENTS]["aspects"] == "060000001b000000"
    assert document["sycl"][0] == {
        "kernel": "_ZTS5First",
        "program": "sycl-spir64.0",
        "build_options": "-cl-intel-256-GRF-per-thread -ze-opt-level=2 -library-compilation",
        "reason": None,
        "note": None,
    }
    assert "sycl" not in kernlens("inspect", path, "--json").document


@pytest.mark.parametrize("offset", range(8, 88, 8))
@pytest.mark.parametrize("value", [0, 1, 0x3000, 0x7FFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF])
def test_pointers_that_lead_nowhere(tmp_path: Path, offset: int, value: int) -> None:
    """A descriptor without relocations whose pointers are what somebody wrote: the image is there, whatever is not."""
    word = struct.Struct("<Q")
    names = b"spir64\0options\0name\0" + bytes(11)
    head = bytearray(struct.pack("<HBB4x", 3, 4, 0))
    for pointer in (0x2000, 0x2007, 0x2007, 0x4000, 0x4010, 0x3060, 0x3080, 0x3080, 0x3098):
        head += word.pack(pointer)
    word.pack_into(head, offset - 8 or 8, value)
    tables = bytes(16) + word.pack(0x200F) + bytes(16) + word.pack(0x200F) + word.pack(0x3080) + word.pack(0x3098)
    writer = ElfWriter(machine=62, type=3)
    writer.add(".rodata", names, flags=2, address=0x2000)
    writer.add(".data.rel.ro", bytes(head) + tables, flags=3, address=0x3000)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", bytes(16), flags=2, address=0x4000)
    (image,) = read_offload_images(writer.build())
    assert bytes(image.read()) == bytes(16)


def test_many_descriptors_of_one_large_table_are_refused() -> None:
    """Each would cost as much as the largest honest library."""
    word = struct.Struct("<Q")
    tables_at, count = 0x100000, 20_000
    head = struct.pack("<HBB4x", 3, 4, 0)
    pointers = (0x2000, 0, 0, 0x4000, 0x4010, tables_at, tables_at + 32 * count, tables_at, tables_at + 24 * count)
    descriptors = (head + b"".join(map(word.pack, pointers))) * 2000
    writer = ElfWriter(machine=62, type=3)
    writer.add(".rodata", b"spir64\0\0", flags=2, address=0x2000)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", bytes(16), flags=2, address=0x4000)
    writer.add(".data.rel.ro", descriptors, flags=3, address=0x10000)
    writer.add(".data", word.pack(0x2000) * 4 * count, flags=3, address=tables_at)
    data = writer.build()
    with processor_time(3), memory(200 << 20), pytest.raises(FormatError, match="image descriptors are too many"):
        read_offload_images(data)


@pytest.mark.parametrize("words", [(), ("--kernel", "FillBuffer")])
def test_a_host_without_images_says_so(kernlens: Kernlens, tmp_path: Path, words: tuple[str, ...]) -> None:
    """What the SYCL runtime calls "No kernel named ... was found"."""
    writer = ElfWriter(machine=62, type=3)
    writer.add(".text", bytes(16), flags=6, address=0x1000)
    path = tmp_path / "host"
    path.write_bytes(writer.build())
    done = kernlens("inspect", path, "--device", "dg2", *words)
    assert done.status == 2
    assert "contains no program for dg2, nor for another GPU: its host code registers no device image" in done.err


def test_pointers_that_stand_in_relocations_only(tmp_path: Path) -> None:
    """As lld leaves them, which writes no addend where the pointer goes."""
    data = bytearray(built(tmp_path, FIRST).read_bytes())
    elf = read_elf(memoryview(bytes(data)))
    sites = [relocation.offset for relocation in elf.relocations() if relocation.type == 8]
    assert len(sites) > 20
    for section in elf.sections:
        for site in sites:
            if section.flags & 2 and 0 <= site - section.address < section.size:
                struct.pack_into("<Q", data, section.offset + site - section.address, 0)
    (image,) = read_offload_images(memoryview(bytes(data)))
    assert image.described is not None
    assert (image.described.aspects, image.described.entries) == ((6, 27), ("_ZTS5First", "_ZTS6Second"))
    assert bytes(image.read()) == FIRST.content

"""Sections, symbols and relocations equal what GNU readelf prints, on real files of every kind."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.formats.ar import read_ar
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.model.device import IpVersion
from tests.corpus.build import Built

#: A kernel of each sort of argument, a constant table, local memory, a barrier, private memory and printf.
SOURCE = """\
__constant float table[4] = {1, 2, 3, 4};
__kernel void add(__global const float *a, __global float *b, float s, __local int *l)
{
    int i = get_global_id(0);
    l[get_local_id(0)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = a[i] + s * table[i & 3] + l[3];
}
__kernel __attribute__((reqd_work_group_size(16, 2, 1))) __attribute__((intel_reqd_sub_group_size(16)))
void gather(__global const float *a, read_only image2d_t im, sampler_t sm, __global float *b, float4 v)
{
    float x[100];
    for (int i = 0; i < 100; i++)
        x[i] = a[i];
    b[get_global_id(0)] = x[(int)a[0]] + v.x + read_imagef(im, sm, (int2)(0, 0)).x;
    printf("x %d", 3);
}
"""

_SECTION = re.compile(
    r" *\[ *(\d+)\] (.*?) +(\S+) +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) "
    r"+(?:[A-Za-z]+ +)?(\d+) +(\d+) +(\d+)"
)
_SYMBOL = re.compile(r" *(\d+): ([0-9a-f]{16}) +(\S+) (\S+) +(\S+) +\S+ +(?:\[.*\] +)?(\S+) ?(.*)")
_RELOCATION = re.compile(r"([0-9a-f]{16}) +([0-9a-f]{16}) (unrecognized: [0-9a-f]+|\S+) *(.*)")
_TYPES = {
    0: "NULL",
    1: "PROGBITS",
    2: "SYMTAB",
    3: "STRTAB",
    4: "RELA",
    5: "HASH",
    6: "DYNAMIC",
    7: "NOTE",
    8: "NOBITS",
    9: "REL",
    10: "SHLIB",
    11: "DYNSYM",
    14: "INIT_ARRAY",
    15: "FINI_ARRAY",
    0x6FFFFFF6: "GNU_HASH",
    0x6FFFFFFE: "VERNEED",
    0x6FFFFFFF: "VERSYM",
}

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils' readelf is not installed")


def readelf(option: str, path: Path) -> list[str]:
    """What readelf prints; the file's own names may hold any bytes."""
    run = subprocess.run(["readelf", "-W", option, str(path)], capture_output=True, check=True, timeout=120)
    return run.stdout.decode("utf-8", "backslashreplace").splitlines()


def expected_sections(path: Path) -> list[tuple[object, ...]]:
    sections = []
    for line in readelf("-S", path):
        if match := _SECTION.fullmatch(line):
            numbers = [int(text, 16) for text in match.groups()[3:7]] + [int(text) for text in match.groups()[7:]]
            sections.append((int(match[1]), match[2], match[3], *numbers))
    return sections


def own_sections(elf: Elf) -> list[tuple[object, ...]]:
    """In readelf's columns."""
    sections: list[tuple[object, ...]] = []
    for section in elf.sections:
        type_name = f"LOUSER+{section.type - 0x80000000:#x}" if section.type >= 0x80000000 else _TYPES[section.type]
        row = (
            section.address,
            section.offset,
            section.size,
            section.entry_size,
            section.link,
            section.info,
            section.alignment,
        )
        sections.append((section.index, section.name, type_name, *row))
    return sections


def expected_symbols(path: Path, table: str) -> list[tuple[object, ...]]:
    symbols: list[tuple[object, ...]] = []
    here = False
    for line in readelf("-s", path):
        if line.startswith("Symbol table"):
            here = f"'{table}'" in line
        elif here and (match := _SYMBOL.fullmatch(line)):
            size = int(match[3], 0)
            symbols.append(
                (int(match[1]), int(match[2], 16), size, match[4], match[5], match[6], match[7].split("@")[0])
            )
    return symbols


def own_symbols(elf: Elf) -> list[tuple[object, ...]]:
    symbols: list[tuple[object, ...]] = []
    for symbol in elf.symbols():
        place = {0: "UND", 0xFFF1: "ABS", 0xFFF2: "COM"}.get(symbol.section_index, str(symbol.section_index))
        name = symbol.name or (symbol.section or "" if symbol.type == "section" else "")
        kind, binding = {"6": "TLS", "10": "IFUNC"}.get(symbol.type, symbol.type.upper()), symbol.binding.upper()
        symbols.append((symbol.index, symbol.value, symbol.size, kind, binding, place, name.split("@")[0]))
    return symbols


def expected_relocations(path: Path) -> list[tuple[int, int, str]]:
    """Offset, packed symbol and type, and the name with its addend as readelf prints them."""
    relocations = []
    for line in readelf("-r", path):
        if match := _RELOCATION.fullmatch(line.rstrip()):
            name = re.sub(r"^[0-9a-f]{16} *", "", match[4])
            relocations.append((int(match[1], 16), int(match[2], 16), re.sub(r"@\S+", "", name)))
    return relocations


def own_relocations(elf: Elf) -> list[tuple[int, int, str]]:
    relocations = []
    for relocation in elf.relocations():
        name = relocation.symbol
        if relocation.addend is not None:
            sign = "-" if relocation.addend < 0 else "+"
            name = (
                f"{name} {sign} {abs(relocation.addend):x}"
                if relocation.symbol_index
                else f"{relocation.addend & (1 << 64) - 1:x}"
            )
        relocations.append((relocation.offset, (relocation.symbol_index or 0) << 32 | relocation.type, name.strip()))
    return relocations


def check(path: Path, symbol_table: str = ".symtab") -> Elf:
    elf = read_elf(memoryview(path.read_bytes()))
    assert own_sections(elf) == expected_sections(path)
    assert own_symbols(elf) == expected_symbols(path, symbol_table)
    assert own_relocations(elf) == expected_relocations(path)
    return elf


@pytest.fixture(scope="module")
def zebin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zebin of Debian 12's compiler."""
    folder = tmp_path_factory.mktemp("zebin")
    (folder / "k.cl").write_text(SOURCE)
    command = ["ocloc", "compile", "-q", "-file", "k.cl", "-device", "dg2", "--format", "zebin"]
    command += ["-output", "k", "-output_no_suffix", "-options", "-g"]
    subprocess.run(command, cwd=folder, check=True, timeout=120, capture_output=True)
    return folder / "k"


@pytest.fixture(scope="module")
def fat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of ocloc for two devices."""
    folder = tmp_path_factory.mktemp("fat")
    (folder / "k.cl").write_text(SOURCE)
    command = ["ocloc", "compile", "-q", "-file", "k.cl", "-device", "skl,tgllp", "-output", "fat"]
    subprocess.run(command, cwd=folder, check=True, timeout=120, capture_output=True)
    return folder / "fat"


def test_neo_elf(corpus_sample: list[Built]) -> None:
    for built in corpus_sample:
        assert len(check(built.binary).sections) > 3


def test_zebin_of_debian(zebin: Path) -> None:
    elf = check(zebin)
    assert len(elf.symbols()) > 5
    assert {relocation.type_name for relocation in elf.relocations()} >= {"R_ZE_SYM_ADDR_32", "R_ZE_SYM_ADDR_32_HI"}


def test_zebin_of_the_newest_compiler(newest_sample: list[Built]) -> None:
    assert newest_sample
    for built in newest_sample:
        elf = check(built.binary)
        assert any(relocation.addend is not None for relocation in elf.relocations())


def test_host_elf() -> None:
    """Of the host's machine, stripped: its symbols are in ``.dynsym``."""
    name = shutil.which("readelf")
    assert name is not None
    elf = check(Path(name).resolve(), ".dynsym")
    assert elf.machine in (62, 183)
    assert len(elf.symbols()) > 50


def test_parts_of_a_zebin(zebin: Path) -> None:
    program = read_zebin(memoryview(zebin.read_bytes()))
    assert [kernel.name for kernel in program.kernels] == ["add", "gather"]
    assert all(len(kernel.code) < len(kernel.heap) for kernel in program.kernels)
    assert all(not any(kernel.heap[len(kernel.code) :]) for kernel in program.kernels), "padding is zeros"
    assert program.build_options is not None
    assert program.build_options.startswith("-g")
    assert bytes(program.spirv[:4]) == b"\x03\x02\x23\x07"
    assert program.notes.device_id.product_family == 0x4F6
    assert program.ze_info is not None
    add, gather = (program.ze_info.kernels[name] for name in ("add", "gather"))
    assert (add.resources.simd, add.resources.grf_count, add.resources.barriers) == (32, 128, 1)
    assert gather.resources.required_work_group_size == (16, 2, 1)
    assert gather.resources.required_sub_group_size == 16
    assert [
        (argument.name, argument.type_name, argument.address_space, argument.size) for argument in add.arguments
    ] == [
        ("a", "float*", "global", 8),
        ("b", "float*", "global", 8),
        ("s", "float", "private", 4),
        ("l", "int*", "local", 8),
    ]
    assert [argument.access for argument in gather.arguments] == [None, "read_only", None, None, None]
    kinds = {symbol.name: symbol.kind for symbol in program.symbols}
    assert (kinds["add"], kinds["gather"], kinds["table"]) == ("kernel", "kernel", "export")


def test_ar_equals_binutils(fat: Path) -> None:
    members = read_ar(memoryview(fat.read_bytes()))
    listed = subprocess.run(["ar", "tvO", str(fat)], capture_output=True, check=True, text=True, timeout=60).stdout
    # "rw-r--r-- 0/0 10792 Jan  1 00:00 1970 64.9.0.9 0x88"
    expected = [line.split() for line in listed.splitlines()]
    assert [(member.name, len(member.data), member.offset) for member in members] == [
        (fields[-2], int(fields[2]), int(fields[-1], 16)) for fields in expected
    ]
    devices = [member for member in members if not member.is_padding]
    assert [device.ip for device in devices] == [IpVersion(9, 0, 9), IpVersion(12, 0, 0)]
    assert [device.offset % 8 for device in devices] == [0, 0]
    assert all(len(read_elf(entry.data).sections) > 3 for entry in devices)

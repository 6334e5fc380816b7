"""Damaged copies of real containers: only FormatError may come out of a reader, and soon."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.errors import FormatError
from kernlens.formats.ar import read_ar
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.offload_bundle import read_offload_images
from kernlens.formats.zebin.ze_info import read_ze_info
from kernlens.formats.zebin.zebin_file import SHT_ZEBIN_ZEINFO, read_zebin
from kernlens.model.allowance import Allowance
from tests.corpus.build import Built
from tests.limits import processor_time

SOURCE = """\
__constant float table[4] = {1, 2, 3, 4};
__kernel void add(__global float *b, float s) { b[get_global_id(0)] += s * table[get_global_id(0) & 3]; }
__kernel void twice(__global float *b) { b[get_global_id(0)] *= 2; }
"""
ROUNDS = 500
#: Values that lengths, counts and offsets like to go wrong with.
EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)


def read_everything_elf(data: memoryview) -> None:
    elf = read_elf(data)
    for section in elf.sections:
        elf.contents(section)
    elf.symbols()
    elf.relocations()


def read_everything_zebin(data: memoryview) -> None:
    zebin = read_zebin(data)
    _ = (zebin.symbols, zebin.relocations, zebin.notes, zebin.build_options, zebin.spirv)
    for kernel in zebin.kernels:
        zebin.resources(kernel)
    if zebin.ze_info is not None:
        for entry in zebin.ze_info.kernels.values():
            assert isinstance(entry.arguments, tuple)


def read_everything_ze_info(data: memoryview) -> None:
    for entry in read_ze_info(data).kernels.values():
        _ = (entry.resources, entry.arguments)


def read_everything_ar(data: memoryview) -> None:
    for member in read_ar(data):
        _ = (member.ip, member.device_name, member.is_padding)


def read_everything_offloaded(data: memoryview) -> None:
    for image in read_offload_images(data):
        assert len(image.stored) <= len(data)
        if image.unreadable is None:
            assert len(image.read()) <= Allowance(len(data)).limit


def mutated(data: bytes, chance: random.Random, hot: range) -> bytes:
    """One or a few changes, half of them where the headers are; most keep the length, so that readers get far."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        at = chance.choice(hot) if chance.random() < 0.5 else chance.randrange(len(changed))
        match chance.choices(range(6), (4, 4, 1, 1, 3, 1))[0]:
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                size = chance.choice((2, 4, 8))
                at -= at % size
                changed[at : at + size] = (chance.choice(EXTREMES) & (1 << 8 * size) - 1).to_bytes(size, "little")
            case 2:
                del changed[at : at + chance.randrange(1, 64)]
            case 3:
                other = chance.randrange(len(changed))
                changed[at:at] = changed[other : other + chance.randrange(1, 64)]
            case 4:
                other = chance.randrange(len(changed))
                changed[at : at + 64] = changed[other : other + 64]
            case 5 if chance.random() < 0.5:
                del changed[at:]
        changed = changed or bytearray(1)
    return bytes(changed)


def run(data: bytes, reader: Callable[[memoryview], None], hot: range) -> int:
    """How many of the damaged copies were refused; any other exception fails the test."""
    refused = 0
    for seed in range(ROUNDS):
        copy = memoryview(mutated(data, random.Random(seed), hot))
        try:
            with processor_time():
                reader(copy)
        except FormatError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r} came out of {reader.__name__}") from error
    return refused


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's ocloc: ``zebin``, ``fat`` (ar) and ``neo`` (NEO ELF)."""
    folder = tmp_path_factory.mktemp("containers")
    (folder / "k.cl").write_text(SOURCE)
    common = ["ocloc", "compile", "-q", "-file", "k.cl"]
    for arguments in (
        ["-device", "dg2", "--format", "zebin", "-output", "zebin", "-output_no_suffix", "-options", "-g"],
        ["-device", "dg2", "-output", "neo", "-output_no_suffix", "-options", "-gline-tables-only"],
        ["-device", "skl,tgllp", "-output", "fat"],
    ):
        subprocess.run([*common, *arguments], cwd=folder, check=True, timeout=120, capture_output=True)
    return folder


def test_a_changed_zebin_is_read_or_refused(built: Path) -> None:
    data = (built / "zebin").read_bytes()
    headers = range(int.from_bytes(data[40:48], "little"), len(data))
    assert 0 < run(data, read_everything_zebin, headers) < ROUNDS
    assert 0 < run(data, read_everything_elf, headers) < ROUNDS


def test_zebin_of_the_newest_compiler(newest_sample: list[Built]) -> None:
    data = min((built.binary.read_bytes() for built in newest_sample), key=len)
    headers = range(int.from_bytes(data[40:48], "little"), len(data))
    assert 0 < run(data, read_everything_zebin, headers) < ROUNDS


def test_neo_elf(built: Path) -> None:
    assert 0 < run((built / "neo").read_bytes(), read_everything_elf, range(64, 64 + 6 * 64)) < ROUNDS


def test_a_changed_archive_is_read_or_refused(built: Path) -> None:
    assert 0 < run((built / "fat").read_bytes(), read_everything_ar, range(8, 200)) < ROUNDS


def test_ze_info(built: Path) -> None:
    (section,) = read_elf(memoryview((built / "zebin").read_bytes())).sections_of_type(SHT_ZEBIN_ZEINFO)
    assert 0 < run(bytes(section.data), read_everything_ze_info, range(len(section.data))) < ROUNDS


def test_host_elf() -> None:
    name = shutil.which("size") or shutil.which("ar")
    assert name is not None, "binutils is not installed"
    data = Path(name).resolve().read_bytes()
    headers = range(int.from_bytes(data[40:48], "little"), len(data))
    assert 0 < run(data, read_everything_elf, headers) < ROUNDS
    assert 0 < run(data, read_everything_offloaded, headers) < ROUNDS

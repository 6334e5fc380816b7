"""Binaries without the SPIR-V that a driver could compile in place of their machine code."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.neo_elf import BUILD_OPTIONS, DEVICE_BINARY, LLVM_BITCODE, SPIRV, read_neo_elf
from kernlens.formats.zebin.zebin_file import SHT_ZEBIN_SPIRV, read_zebin
from tests.writers.ar import archive, member
from tests.writers.elf import ElfWriter
from tests.writers.patch_tokens import KernelToWrite, neo_elf, program
from tests.writers.programs import spirv

MODULE = spirv()
PROGRAM = program([KernelToWrite("scale")])
SECTIONS = [(SPIRV, MODULE), (DEVICE_BINARY, PROGRAM), (LLVM_BITCODE, b"BC\xc0\xde"), (BUILD_OPTIONS, b"-g\0")]


def zebin() -> bytes:
    writer = ElfWriter()
    text = writer.add(".text.scale", bytes(64))
    writer.add(".spv", MODULE, type=SHT_ZEBIN_SPIRV)
    writer.add_symbols([("scale", 0, 64, 1, 2, text)])
    return bytes(writer.build())


def test_of_a_neo_elf_the_machine_code_stays() -> None:
    content = neo_elf(SECTIONS)
    read = read_neo_elf(memoryview(without_intermediate_code(content)))
    assert [(part.type, bytes(part.data)) for part in read.parts] == [SECTIONS[1], SECTIONS[3]]


def test_of_a_zebin_the_symbols_stay_those_of_their_sections() -> None:
    content = zebin()
    changed = without_intermediate_code(content)
    assert len(changed) == len(content)
    before, read = read_zebin(memoryview(content)), read_zebin(memoryview(changed))
    assert (bytes(before.spirv), bytes(read.spirv)) == (MODULE, b"")
    assert [bytes(kernel.code) for kernel in read.kernels] == [bytes(64)]
    assert read.elf.symbols() == before.elf.symbols()


def test_of_an_archive_every_member() -> None:
    """``generic_ir`` is what a driver takes for a device that is not among the others."""
    generic = neo_elf([(SPIRV, MODULE)], type=0xFF03)
    images = [member("pad_0", bytes(3)), member("64.12.55.8", zebin()), member("64.9.0.9", neo_elf(SECTIONS))]
    changed = without_intermediate_code(bytes(archive([*images, member("generic_ir", generic)])))
    alone = [member("pad_0", bytes(3)), member("64.12.55.8", without_intermediate_code(zebin()))]
    assert changed.startswith(bytes(archive(alone)))
    assert read_neo_elf(memoryview(changed[-len(generic) - len(generic) % 2 :])).parts == ()


@pytest.mark.parametrize(
    "content",
    [
        neo_elf([(SPIRV, MODULE)], type=0xFF03),
        neo_elf([(SPIRV, MODULE), (BUILD_OPTIONS, b"-g\0")], type=0xFF02),
        bytes(archive([member("generic_ir", neo_elf([(SPIRV, MODULE)], type=0xFF03))])),
        PROGRAM,
        b"\0a binary of another driver",
        bytes(ElfWriter(machine=62).build()),
        b"",
    ],
)
def test_what_holds_no_machine_code_stays(content: bytes) -> None:
    """Of objects to be linked the SPIR-V is all there is."""
    assert without_intermediate_code(content) == content


def test_damaged_ones_are_errors() -> None:
    for content in (zebin(), neo_elf(SECTIONS), bytes(archive([member("64.9.0.9", zebin())]))):
        for size in range(20, len(content), 61):
            with pytest.raises(FormatError):
                without_intermediate_code(content[:size])

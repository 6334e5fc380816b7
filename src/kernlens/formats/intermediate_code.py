"""The removal from device binaries of what a driver could compile in place of their machine code.

Intel's drivers do that without a word where the machine code is not for their device (compute-runtime,
``Program::createProgramFromBinary`` and ``ModuleTranslationUnit::createFromNativeBinary``: ``rebuild``): they take the SPIR-V
or LLVM bitcode that compilers put beside it, in a zebin's ``.spv``, a section of a NEO ELF, or the member ``generic_ir`` of an
``ar`` archive. Without that they refuse the binary.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.formats.ar import MAGIC, read_ar
from kernlens.formats.elf.elf64_structures import SHDR_LAYOUT
from kernlens.formats.elf.header import EM_INTELGT, EM_NONE, SHT_NULL, ElfHeader, SectionTable, is_elf, machine_of
from kernlens.formats.neo_elf import DEVICE_BINARY, LLVM_BITCODE, NON_COHERENT_DEVICE_BINARY, SPIRV

#: zebin has the number of NEO ELF for its SPIR-V (SHT_ZEBIN_SPIRV).
_INTERMEDIATE = frozenset((SPIRV, LLVM_BITCODE))
_MACHINE_CODE = frozenset((DEVICE_BINARY, NON_COHERENT_DEVICE_BINARY))


def without_intermediate_code(content: bytes) -> bytes:
    """Return a device binary, or an ``ar`` archive of several, as it is but for the headers of sections of SPIR-V and
    bitcode, which become inactive ones of no bytes (SHT_NULL).

    Where nothing holds machine code, as in the objects of ``clCompileProgram``, the intermediate code is all there is, and
    stays. Other content is returned as it is. Raises FormatError if an archive or an ELF file is damaged.
    """
    images = [(offset, data, _sections(data)) for offset, data in _elf_files(memoryview(content))]
    if not any(_holds_machine_code(data, sections) for _, data, sections in images):
        return content
    changed = bytearray(content)
    for offset, data, sections in images:
        table = offset + ElfHeader(data, "elf").ehdr.e_shoff
        for index, section in enumerate(sections):
            if section.sh_type in _INTERMEDIATE:
                inactive = section._replace(sh_type=SHT_NULL, sh_size=0)
                SHDR_LAYOUT.pack_into(changed, table + index * SHDR_LAYOUT.size, *inactive)
    return bytes(changed)


def _elf_files(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield offset and bytes of each ELF file of those that drivers take as programs."""
    files = [(0, content)]
    if content[: len(MAGIC)] == MAGIC:
        files = [(member.offset, member.data) for member in read_ar(content)]
    for offset, data in files:
        if is_elf(data) and machine_of(data) in (EM_NONE, EM_INTELGT):
            yield offset, data


def _sections(data: memoryview) -> SectionTable:
    return ElfHeader(data, "elf").section_headers()


def _holds_machine_code(data: memoryview, sections: SectionTable) -> bool:
    return machine_of(data) == EM_INTELGT or any(section.sh_type in _MACHINE_CODE for section in sections)

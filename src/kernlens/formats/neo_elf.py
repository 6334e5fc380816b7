"""NEO ELF: the file in which Intel's OpenCL driver and ocloc wrap a patch-token program.

Source: ``shared/source/device_binary_format/elf/ocl_elf.h`` of compute-runtime: ``ELF_TYPE_OPENCL`` (``e_type``
0xff01..0xff05) and ``SHT_OPENCL_*`` (section types 0xff0000xx); ``e_machine`` is 0. Sections are chosen by type, since
their names differ between versions.
"""

from __future__ import annotations

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.bitcode_magic import is_bitcode
from kernlens.formats.elf import header as elf_header

FORMAT = "neo-elf"

#: ``e_type`` -> what the file is.
KINDS = {0xFF01: "source", 0xFF02: "objects", 0xFF03: "library", 0xFF04: "executable", 0xFF05: "debug"}

#: ``SHT_OPENCL_*``.
SOURCE, HEADER, LLVM_TEXT, LLVM_BITCODE, LLVM_ARCHIVE, DEVICE_BINARY, BUILD_OPTIONS = range(0xFF000000, 0xFF000007)
PRECOMPILED_HEADER, DEVICE_DEBUG, SPIRV, NON_COHERENT_DEVICE_BINARY = range(0xFF000007, 0xFF00000B)
SPEC_CONSTANT_IDS, SPEC_CONSTANT_VALUES = 0xFF00000B, 0xFF00000C


@dataclass(frozen=True, slots=True)
class NeoPart:
    """One section. ``type`` is its ``sh_type``, ``offset`` that of its first byte in the file; ``data`` is a view."""

    type: int
    offset: int
    data: memoryview = field(repr=False)


@dataclass(frozen=True, slots=True)
class NeoElf:
    """A NEO ELF. ``parts`` are its sections that are not empty, in file order; ``type`` is ``e_type`` (see ``KINDS``)."""

    type: int
    parts: tuple[NeoPart, ...]

    def part(self, type: int) -> NeoPart | None:
        """Return the first section of this type, None if there is none or it is empty."""
        return next((part for part in self.parts if part.type == type), None)

    @property
    def device_binary(self) -> NeoPart | None:
        """The program for the device: patch tokens as a rule."""
        return self.part(DEVICE_BINARY) or self.part(NON_COHERENT_DEVICE_BINARY)

    @property
    def device_debug(self) -> NeoPart | None:
        """The CTNI debug data (the same bytes as ocloc's ``.dbg`` file)."""
        return self.part(DEVICE_DEBUG)

    @property
    def spirv(self) -> NeoPart | None:
        """The SPIR-V module that the program was made from."""
        part = self.part(SPIRV)
        return None if part is not None and is_bitcode(part.data) else part

    @property
    def bitcode(self) -> NeoPart | None:
        """The LLVM bitcode of a library (``clLinkProgram -create-library``), which drivers put into the section of SPIR-V."""
        part = self.part(SPIRV) or self.part(LLVM_BITCODE)
        return part if part is not None and is_bitcode(part.data) else None

    @property
    def source(self) -> NeoPart | None:
        """The OpenCL C source text."""
        return self.part(SOURCE)

    @property
    def build_options(self) -> str | None:
        """The options given to the build, without the terminating NUL, None if there is no such section."""
        part = self.part(BUILD_OPTIONS)
        return None if part is None else bytes(part.data).rstrip(b"\0").decode("utf-8", "backslashreplace")


def is_neo_elf(data: memoryview) -> bool:
    """Return whether ``data`` begins like a NEO ELF: an ELF for machine 0 with one of the types in ``KINDS``."""
    return (
        elf_header.is_elf(data)
        and len(data) >= elf_header.HEADER_SIZE
        and elf_header.machine_of(data) == elf_header.EM_NONE
        and elf_header.type_of(data) in KINDS
    )


def read_neo_elf(data: memoryview) -> NeoElf:
    """Read a NEO ELF. Raises FormatError for any other file and if a section lies outside the file."""
    headers = elf_header.section_headers(data, format=FORMAT)
    type, machine = elf_header.type_of(data), elf_header.machine_of(data)
    if machine != elf_header.EM_NONE:
        raise FormatError(f"e_machine is {machine}; a NEO ELF has 0", format=FORMAT, offset=18)
    if type not in KINDS:
        raise FormatError(f"e_type is {type:#x}; a NEO ELF has 0xff01 to 0xff05", format=FORMAT, offset=16)
    parts = tuple(
        NeoPart(sh_type, sh_offset, data[sh_offset : sh_offset + sh_size])
        for sh_type, sh_offset, sh_size in headers.extents()
        if sh_type & 0xFFFFFF00 == SOURCE and sh_size
    )
    return NeoElf(type, parts)

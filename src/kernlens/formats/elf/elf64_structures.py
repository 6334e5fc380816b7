"""The packed structures of ELF64 files, little-endian, as records whose fields have the specification's names.

Source: System V ABI (gABI), chapters 4 and 5: "ELF Header", "Sections", "Symbol Table", "Relocation", "Section
Compression", "Note Section". Each ``*_LAYOUT`` is the record's form in the file. A loop over very many entries unpacks
them into local names of the same spelling: making a record costs as much as the rest of such a loop.
"""

from __future__ import annotations

import struct

from kernlens.dataclass import NamedTuple


class Elf64Ehdr(NamedTuple):
    """The file header, 64 bytes. ``e_ident`` is its first 16: magic, class, byte order, versions, ABI."""

    e_ident: bytes
    e_type: int
    e_machine: int
    e_version: int
    e_entry: int
    e_phoff: int
    e_shoff: int
    e_flags: int
    e_ehsize: int
    e_phentsize: int
    e_phnum: int
    e_shentsize: int
    e_shnum: int
    e_shstrndx: int


class Elf64Shdr(NamedTuple):
    """A section header, 64 bytes. ``sh_name`` is an offset in the table of section names."""

    sh_name: int
    sh_type: int
    sh_flags: int
    sh_addr: int
    sh_offset: int
    sh_size: int
    sh_link: int
    sh_info: int
    sh_addralign: int
    sh_entsize: int


class Elf64Sym(NamedTuple):
    """An entry of a symbol table, 24 bytes. ``st_info`` is the binding in its high half, the type in its low half."""

    st_name: int
    st_info: int
    st_other: int
    st_shndx: int
    st_value: int
    st_size: int


class Elf64Chdr(NamedTuple):
    """The header of a compressed section, 24 bytes. ``ch_size`` is the size of the contents when decompressed."""

    ch_type: int
    ch_reserved: int
    ch_size: int
    ch_addralign: int


class Elf64Nhdr(NamedTuple):
    """The header of a note, 12 bytes; its name and its description follow, each padded to 4 bytes."""

    n_namesz: int
    n_descsz: int
    n_type: int


EHDR_LAYOUT = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR_LAYOUT = struct.Struct("<IIQQQQIIQQ")
SYM_LAYOUT = struct.Struct("<IBBHQQ")
#: A relocation: ``r_offset`` and ``r_info``, which is read as its two halves (ELF64_R_TYPE, ELF64_R_SYM), of which the
#: low one, the type, comes first in a little-endian file; ``Elf64_Rela`` adds ``r_addend``. They are only read in such
#: loops, so they have no record.
REL_LAYOUT = struct.Struct("<QII")
RELA_LAYOUT = struct.Struct("<QIIq")
CHDR_LAYOUT = struct.Struct("<IIQQ")
NHDR_LAYOUT = struct.Struct("<III")

#: Indexes of ``Elf64Ehdr.e_ident``.
EI_CLASS, EI_DATA, EI_OSABI, EI_ABIVERSION = 4, 5, 7, 8

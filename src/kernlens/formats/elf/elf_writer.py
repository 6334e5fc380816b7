"""The writer of ELF64 files, little-endian, which ``elf_file`` reads.

Source: System V ABI (gABI), chapter 4. One string table serves sections and symbols, as in the files that Intel's
compiler writes: compute-runtime's ``elf_decoder.cpp`` looks symbols' names up in the table of section names.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.formats.elf import elf64_structures as elf64
from kernlens.formats.elf.header import SHT_NOBITS, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, STV_HIDDEN

_ALIGNMENT = 8

BINDING_NUMBERS = {"local": 0, "global": 1, "weak": 2}
TYPE_NUMBERS = {"notype": 0, "object": 1, "func": 2, "section": 3, "file": 4}


@dataclass()
class OutputSection:
    """A section to write. ``size`` is that of a section without contents (SHT_NOBITS)."""

    name: str
    type: int
    content: bytes = field(default=b"", repr=False)
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    alignment: int = 0
    entry_size: int = 0
    size: int = 0

    @property
    def length(self) -> int:
        """The section's size in memory, in bytes."""
        return self.size if self.type == SHT_NOBITS else len(self.content)


@dataclass(frozen=True, slots=True)
class OutputSymbol:
    """A symbol to write; ``section`` is a section's number, 0 for an undefined one. ``is_hidden`` is its visibility."""

    name: str
    value: int
    size: int
    binding: str
    type: str
    section: int
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class OutputRelocation:
    """A relocation to write; ``symbol`` is a symbol's number, ``addend`` None for SHT_REL."""

    offset: int
    symbol: int
    type: int
    addend: int | None = None


class OutputStringTable:
    """The collector of names, each once, which tells the offset of each."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {"": 0}
        self._content = bytearray(b"\0")

    def offset(self, name: str) -> int:
        """Return the offset of ``name``, which is added if it is new."""
        if name not in self._offsets:
            self._offsets[name] = len(self._content)
            self._content += name.encode("utf-8", "backslashreplace") + b"\0"
        return self._offsets[name]

    def content(self) -> bytes:
        """Return the table's bytes with all names that were added so far."""
        return bytes(self._content)


def symbol_table(symbols: Sequence[OutputSymbol], names: OutputStringTable, link: int) -> OutputSection:
    """Make ``.symtab`` of ``symbols``, of which the local ones stand first; the null symbol is added before them.
    ``link`` is the number that the string table's section will have."""
    content = bytearray(elf64.SYM_LAYOUT.size)
    for symbol in symbols:
        entry = elf64.Elf64Sym(
            st_name=names.offset(symbol.name),
            st_info=_number(BINDING_NUMBERS, symbol.binding) << 4 | _number(TYPE_NUMBERS, symbol.type),
            st_other=STV_HIDDEN if symbol.is_hidden else 0,
            st_shndx=symbol.section,
            st_value=symbol.value,
            st_size=symbol.size,
        )
        content += elf64.SYM_LAYOUT.pack(*entry)
    local = 1 + sum(symbol.binding == "local" for symbol in symbols)
    return OutputSection(".symtab", SHT_SYMTAB, bytes(content), link=link, info=local, entry_size=elf64.SYM_LAYOUT.size)


def _number(numbers: dict[str, int], word: str) -> int:
    """Return the number that ``word`` stands for: a name, or a decimal number as the reader gives it."""
    return numbers[word] if word in numbers else int(word)


def relocation_table(
    target: str, relocations: Sequence[OutputRelocation], *, link: int, info: int, with_addends: bool
) -> OutputSection:
    """Make ``.rel`` or ``.rela`` of section ``target``, number ``info``; ``link`` is the symbol table's number."""
    if with_addends:
        name, type, entry_size = f".rela{target}", SHT_RELA, elf64.RELA_LAYOUT.size
        entries = [
            elf64.RELA_LAYOUT.pack(site.offset, site.type, site.symbol, site.addend or 0) for site in relocations
        ]
    else:
        name, type, entry_size = f".rel{target}", SHT_REL, elf64.REL_LAYOUT.size
        entries = [elf64.REL_LAYOUT.pack(site.offset, site.type, site.symbol) for site in relocations]
    return OutputSection(name, type, b"".join(entries), link=link, info=info, entry_size=entry_size)


def write_elf(
    sections: Sequence[OutputSection],
    names: OutputStringTable,
    *,
    machine: int,
    type: int,
    flags: int,
    abi_version: int,
) -> bytes:
    """Return the file: header, contents, ``.strtab``, section headers. Sections are numbered from 1 in the order given."""
    offsets = [names.offset(section.name) for section in sections]
    table = OutputSection(".strtab", SHT_STRTAB)
    offsets.append(names.offset(table.name))
    table.content = names.content()
    file = bytearray(elf64.EHDR_LAYOUT.size)
    headers = bytearray(elf64.SHDR_LAYOUT.size)
    for section, name in zip([*sections, table], offsets, strict=True):
        file += bytes(-len(file) % _ALIGNMENT)
        header = elf64.Elf64Shdr(
            sh_name=name,
            sh_type=section.type,
            sh_flags=section.flags,
            sh_addr=section.address,
            sh_offset=len(file),
            sh_size=section.length,
            sh_link=section.link,
            sh_info=section.info,
            sh_addralign=section.alignment,
            sh_entsize=section.entry_size,
        )
        headers += elf64.SHDR_LAYOUT.pack(*header)
        file += section.content
    file += bytes(-len(file) % _ALIGNMENT)
    count = len(sections) + 2
    ehdr = elf64.Elf64Ehdr(
        e_ident=b"\x7fELF\x02\x01\x01\x00" + bytes([abi_version]) + bytes(7),
        e_type=type,
        e_machine=machine,
        e_version=1,
        e_entry=0,
        e_phoff=0,
        e_shoff=len(file),
        e_flags=flags,
        e_ehsize=elf64.EHDR_LAYOUT.size,
        e_phentsize=0,
        e_phnum=0,
        e_shentsize=elf64.SHDR_LAYOUT.size,
        e_shnum=count,
        e_shstrndx=count - 1,
    )
    file[: elf64.EHDR_LAYOUT.size] = elf64.EHDR_LAYOUT.pack(*ehdr)
    return bytes(file + headers)

"""The content of an ELF file that kernlens reads, as readelf prints it."""

from __future__ import annotations

from kernlens.formats.elf.elf_file import Elf


def section_rows(elf: Elf) -> list[tuple[object, ...]]:
    """Return sections with all that their headers say."""
    return [
        (
            section.index, section.name, section.address, section.offset, section.size,
            section.entry_size, section.link, section.info, section.alignment,
        )
        for section in elf.sections
    ]  # fmt: skip


def symbol_rows(elf: Elf) -> list[tuple[object, ...]]:
    """Return symbols as readelf prints them: a section symbol by its section's name, an undefined one as UND."""
    return [
        (
            symbol.index, symbol.value, symbol.size, symbol.type, symbol.binding,
            "UND" if symbol.section_index == 0 else str(symbol.section_index),
            symbol.name or (symbol.type == "section" and symbol.section) or "",
        )
        for symbol in elf.symbols()
    ]  # fmt: skip


def relocation_rows(elf: Elf) -> list[tuple[str, int, int, int, int]]:
    """Return relocations by the name of the section that holds them; no symbol and no addend are 0."""
    names = {".rela" + section.name for section in elf.sections} & {section.name for section in elf.sections}
    return [
        (
            (".rela" if ".rela" + relocation.section in names else ".rel") + relocation.section,
            relocation.offset, relocation.type, relocation.symbol_index or 0, relocation.addend or 0,
        )
        for relocation in elf.relocations()
    ]  # fmt: skip

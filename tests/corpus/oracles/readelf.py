"""Sections, symbols, relocations and line tables as ``readelf`` prints them; columns from ``llvm-dwarfdump``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.oracles.run import output_of

_SECTION = re.compile(
    r"\s*\[\s*(?P<index>\d+)\] (?P<name>.*?)\s+(?P<type>\S+)\s+(?P<address>[0-9a-f]{16}) (?P<offset>[0-9a-f]{6,}) "
    r"(?P<size>[0-9a-f]{6,}) (?P<entry>[0-9a-f]{2,}) (?P<flags>.{3}) +(?P<link>\d+) +(?P<info>\d+) +(?P<align>\d+)$"
)
_SYMBOL = re.compile(
    r"\s*(?P<index>\d+): (?P<value>[0-9a-f]{16})\s+(?P<size>\d+|0x[0-9a-f]+) (?P<type>\S+)\s+(?P<bind>\S+)\s+\S+\s+"
    r"(?P<section>\S+) ?(?P<name>.*)$"
)
_RELOCATED = re.compile(r"Relocation section '(?P<name>.*)' at offset 0x[0-9a-f]+ contains (?P<count>\d+) entr")
_RELOCATION = re.compile(
    r"(?P<offset>[0-9a-f]{16})  (?P<symbol>[0-9a-f]{8})(?P<type>[0-9a-f]{8}) .*?"
    r"(?:(?P<sign>[+-]) (?P<addend>[0-9a-f]+))?$"
)
_ROW = re.compile(
    r"(?P<file>.+?)\s+(?P<line>\d+|-)\s+(?P<address>0x[0-9a-f]+|0)(?:\s+\d+)?(?P<stmt>\s+x)?(?:\s+END)?\s*$"
)
_COLUMN_ROW = re.compile(
    r"0x(?P<address>[0-9a-f]{16})\s+(?P<line>\d+)\s+(?P<column>\d+)\s+(?P<file>\d+)\s+\d+\s+\d+\s*(?P<flags>.*)$"
)


@dataclass(frozen=True)
class ElfContents:
    """The output of ``readelf -SsrW`` for one file.

    Sections are (index, name, address, offset, size, entry size, link, info, alignment); symbols (index, value, size,
    type, binding, section index, name) with readelf's words in lower case; relocations (relocation section, offset,
    type, symbol index, addend or None).
    """

    sections: tuple[tuple[int, str, int, int, int, int, int, int, int], ...]
    symbols: tuple[tuple[int, int, int, str, str, str, str], ...]
    relocations: tuple[tuple[str, int, int, int, int | None], ...]


def elf_contents(path: Path) -> ElfContents:
    """Run ``readelf -SsrW``. It fails on machines whose relocations it has no names for, and lists them still."""
    sections, symbols, relocations = [], [], []
    relocated, has_addends = "", False
    for line in output_of(["readelf", "-SsrW", str(path)], statuses=(0, 1)).splitlines():
        if match := _SECTION.match(line):
            sections.append(_section(match))
        elif match := _RELOCATED.match(line):
            relocated = match["name"]
        elif line.lstrip().startswith("Offset"):
            has_addends = "Addend" in line
        elif match := _RELOCATION.match(line):
            relocations.append(_relocation(match, relocated, has_addends))
        elif match := _SYMBOL.match(line):
            symbols.append(_symbol(match))
    return ElfContents(tuple(sections), tuple(symbols), tuple(relocations))


def line_rows(path: Path) -> list[list[tuple[str, int | None, int]]]:
    """Return per line table, in order, its rows (file name without folder, line or None at the end, address)."""
    tables: list[list[tuple[str, int | None, int]]] = []
    text = output_of(["readelf", "-W", "--debug-dump=decodedline", str(path)], statuses=(0, 1))
    for line in text.splitlines():
        if line.startswith("File name "):
            tables.append([])
        elif tables and (match := _ROW.match(line)):
            number = None if match["line"] == "-" else int(match["line"])
            tables[-1].append((match["file"], number, int(match["address"], 16)))
    return tables


def column_rows(path: Path) -> list[list[tuple[int, int, int, int, bool, bool]]]:
    """Return per line table rows of (address, file number, line, column, is_stmt, end_sequence), from llvm-dwarfdump."""
    tables: list[list[tuple[int, int, int, int, bool, bool]]] = []
    for line in output_of(["llvm-dwarfdump-15", "--debug-line", str(path)], statuses=(0, 1)).splitlines():
        if line.startswith("debug_line["):
            tables.append([])
        elif tables and (match := _COLUMN_ROW.match(line)):
            place = (int(match["address"], 16), int(match["file"]), int(match["line"]), int(match["column"]))
            flags = match["flags"].split()
            tables[-1].append((*place, "is_stmt" in flags, "end_sequence" in flags))
    return tables


def _section(match: re.Match[str]) -> tuple[int, str, int, int, int, int, int, int, int]:
    address, offset, size, entry = (int(match[name], 16) for name in ("address", "offset", "size", "entry"))
    link, info, alignment = (int(match[name]) for name in ("link", "info", "align"))
    return int(match["index"]), match["name"], address, offset, size, entry, link, info, alignment


def _symbol(match: re.Match[str]) -> tuple[int, int, int, str, str, str, str]:
    kind, binding = match["type"].lower(), match["bind"].lower()
    return (
        int(match["index"]),
        int(match["value"], 16),
        int(match["size"], 0),
        kind,
        binding,
        match["section"],
        match["name"],
    )


def _relocation(match: re.Match[str], section: str, has_addends: bool) -> tuple[str, int, int, int, int | None]:
    addend = int(match["sign"] + match["addend"], 16) if has_addends and match["addend"] else None
    return section, int(match["offset"], 16), int(match["type"], 16), int(match["symbol"], 16), addend

"""The debug sections of an ELF for edited code: every old instruction keeps its line, and every range its code."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.formats.dwarf.debug_copy import DebugCopy
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.line_header import read_line_header
from kernlens.formats.dwarf.moved_entries import EntryMover
from kernlens.formats.dwarf.moved_frames import FrameEntry, frame_entries, move_frames
from kernlens.formats.dwarf.moved_lines import move_line_program
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.unit_owners import owners_of
from kernlens.formats.dwarf.units import Unit, UnitReader
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import SHF_EXECINSTR
from kernlens.model.code_moves import CodeMoves

_INFO, _LINE, _FRAME, _TEXT = ".debug_info", ".debug_line", ".debug_frame", ".text."


def moved_debug(elf: Elf, code: int, moves: CodeMoves) -> dict[int, bytes]:
    """Return the new contents of sections, by their indexes, of an ELF whose code section ``code`` is edited: those of debug
    data and their relocations. Raises FormatError for damaged debug data, and for what cannot be told to be of this code;
    UnsupportedError for forms that cannot be moved."""
    if moves.is_still:
        return {}
    sections = DebugSections(elf)
    copy = DebugCopy(elf, code, moves)
    reader = UnitReader(sections)
    units = [] if reader.is_empty else list(reader.units())
    own = _own_units(elf, code, sections, units)
    mover = EntryMover(copy)
    for unit in own:
        mover.move(reader.header(unit.offset))
    _move_lines(copy, sections, mover, reader, units, own)
    move_frames(copy, _own_frames(elf, code, frame_entries(copy), copy))
    return copy.changes()


def _own_units(elf: Elf, code: int, sections: DebugSections, units: Sequence[Unit]) -> list[Unit]:
    name = elf.sections[code].name
    if not name.startswith(_TEXT):
        return list(units)  # The debug data of one kernel alone.
    with_lines = [unit for unit in units if unit.line_program is not None]
    owners = owners_of(elf, sections[_LINE], with_lines)
    if None in owners:
        raise malformed("some units do not tell which kernel they are of, so that its lines cannot be moved", _INFO)
    return [unit for unit, owner in zip(with_lines, owners, strict=True) if owner == name.removeprefix(_TEXT)]


def _move_lines(
    copy: DebugCopy,
    sections: DebugSections,
    mover: EntryMover,
    reader: UnitReader,
    units: Sequence[Unit],
    own: Sequence[Unit],
) -> None:
    growths: list[tuple[int, int]] = []
    programs = {unit.line_program: unit for unit in own if unit.line_program is not None}
    for start, unit in sorted(programs.items(), reverse=True):  # So that the offsets of those before stay.
        header = read_line_header(sections[_LINE], start, unit.strings)
        growths.append((start, move_line_program(copy, start, header)))
    for unit in units:
        if unit.line_program is None:
            continue
        moved = unit.line_program + sum(grown for start, grown in growths if start < unit.line_program)
        place = mover.line_program_at(reader.header(unit.offset))
        if moved != unit.line_program and place is not None:
            copy.store(_INFO, *place, moved)


def _own_frames(elf: Elf, code: int, entries: Sequence[FrameEntry], copy: DebugCopy) -> list[FrameEntry]:
    """Return the entries that describe the edited code: those whose symbol has the section's name or is defined there.
    Symbols that have lost their names leave the order: entries stand in that of the sections."""
    if not elf.sections[code].name.startswith(_TEXT):
        return list(entries)
    symbols = elf.symbols()
    texts = [
        section.index for section in elf.sections if section.flags & SHF_EXECINSTR and section.name.startswith(_TEXT)
    ]
    by_name = {elf.sections[index].name: index for index in reversed(texts)}
    own = []
    at = -1
    for entry in entries:
        symbol = symbols[entry.symbol] if entry.symbol is not None and entry.symbol < len(symbols) else None
        known = None
        if symbol is not None:
            known = symbol.section_index if symbol.section_index in texts else by_name.get(symbol.name)
        if known is not None:
            at = texts.index(known)
        elif copy.number(_FRAME, entry.address_at, entry.address_size) == 0:
            at += 1  # A kernel begins where its section does.
        if not 0 <= at < len(texts):
            raise malformed("an entry does not tell which kernel it is of", _FRAME, entry.start)
        if texts[at] == code:
            own.append(entry)
    return own

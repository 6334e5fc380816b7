"""The header of a line-number program: its parameters, directories and files.

Source: DWARF version 5, section 6.2.4 "The Line Number Program Header" (and 6.2.4.1, entry formats); version 4, section
6.2.4, for versions 2 to 4. ``DW_LNCT_LLVM_source`` is LLVM's, ``llvm/BinaryFormat/Dwarf.def``.
"""

from __future__ import annotations

import struct

from kernlens.dataclass import NamedTuple
from kernlens.formats.dwarf import forms
from kernlens.formats.dwarf.forms import Encoding, malformed, read_form, read_initial_length, read_string, read_unsigned
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.model.line_table import SourceFile
from kernlens.model.source_path import joined

_LINE = ".debug_line"
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

_LNCT_PATH = 1
_LNCT_DIRECTORY_INDEX = 2
_LNCT_MD5 = 5
_LNCT_LLVM_SOURCE = 0x2001
#: Forms that entry formats may use (strings, data, udata, block); each takes at least one byte of each entry, so that
#: the number of entries is bounded by the section's size.
_ENTRY_FORMS = forms.STRING_INDEX_FORMS | {
    *(forms.DW_FORM_STRING, forms.DW_FORM_STRP, forms.DW_FORM_LINE_STRP, forms.DW_FORM_DATA16),
    *(0x0F, 0x0B, 0x05, 0x06, 0x07, 0x09, 0x0A),
}

_PARAMETERS_LAYOUT = struct.Struct("<BbBB")

#: Content type -> (form, unresolved value).
_Entry = dict[int, tuple[int, int | str | bytes]]


class _Parameters(NamedTuple):
    """The four bytes of a header that say what special opcodes mean."""

    default_is_stmt: int
    line_base: int
    line_range: int
    opcode_base: int


class LineHeader(NamedTuple):
    """The header of one line program, with the specification's names where it has the same fields.

    ``program`` is the offset of the first opcode in .debug_line, ``end`` that of the byte after the last.
    ``standard_opcode_lengths[n]`` is the number of operands of standard opcode n (entry 0 is unused). ``directory`` is
    the compile directory as DWARF 5 repeats it, empty in older versions.
    """

    version: int
    offset_size: int
    address_size: int
    program: int
    end: int
    minimum_instruction_length: int
    default_is_stmt: bool
    line_base: int
    line_range: int
    opcode_base: int
    standard_opcode_lengths: tuple[int, ...]
    files: tuple[SourceFile, ...]
    directory: str


def read_line_header(buffer: bytes, offset: int, strings: DebugStrings) -> LineHeader:
    """Read the header that starts at ``offset`` of .debug_line's bytes. Raises FormatError."""
    try:
        return _read(buffer, offset, strings)
    except (IndexError, struct.error):
        raise malformed("the section ends within a line program's header", _LINE, offset) from None


def _read(buffer: bytes, offset: int, strings: DebugStrings) -> LineHeader:
    if offset >= len(buffer):
        raise malformed(f"a line program claims to start beyond the section's {len(buffer)} bytes", _LINE, offset)
    unit_length, offset_size, position = read_initial_length(buffer, offset)
    end = position + unit_length
    if end > len(buffer):
        raise malformed(f"a line program of {unit_length} bytes reaches beyond the section's end", _LINE, offset)
    version = buffer[position] | buffer[position + 1] << 8
    if not 2 <= version <= 5:
        raise malformed(f"line table version {version} is unknown (2 to 5 are read)", _LINE, offset)
    position += 2
    address_size = 8
    if version >= 5:
        address_size = buffer[position]
        position += 2  # address_size, segment_selector_size
    number = _U64 if offset_size == 8 else _U32
    (header_length,) = number.unpack_from(buffer, position)
    position += offset_size
    program = position + header_length
    if program > end:
        raise malformed("the header reaches beyond its line program's end", _LINE, offset)
    minimum_instruction_length = buffer[position]
    position += 1
    if version >= 4:
        maximum_operations = buffer[position]
        if maximum_operations > 1:
            raise malformed(
                f"{maximum_operations} operations per instruction; GPU instructions have one", _LINE, position
            )
        position += 1
    parameters = _Parameters._make(_PARAMETERS_LAYOUT.unpack_from(buffer, position))
    position += _PARAMETERS_LAYOUT.size
    if parameters.line_range == 0 or parameters.opcode_base == 0:
        raise malformed("line_range and opcode_base must not be 0", _LINE, position - 2)
    lengths = (0, *buffer[position : position + parameters.opcode_base - 1])
    position += parameters.opcode_base - 1
    encoding = Encoding(address_size, offset_size, version)
    read_files = _read_files_5 if version >= 5 else _read_files_4
    files, directory, position = read_files(buffer, position, encoding, strings)
    if position > program:
        raise malformed("the file table reaches beyond the header's length", _LINE, offset)
    return LineHeader(
        version=version,
        offset_size=offset_size,
        address_size=address_size,
        program=program,
        end=end,
        minimum_instruction_length=minimum_instruction_length,
        default_is_stmt=bool(parameters.default_is_stmt),
        line_base=parameters.line_base,
        line_range=parameters.line_range,
        opcode_base=parameters.opcode_base,
        standard_opcode_lengths=lengths,
        files=files,
        directory=directory,
    )


def _read_files_4(
    buffer: bytes, position: int, encoding: Encoding, strings: DebugStrings
) -> tuple[tuple[SourceFile, ...], str, int]:
    directories = [""]
    while buffer[position]:
        directory, position = read_string(buffer, position, _LINE)
        directories.append(directory)
    files = [SourceFile("")]
    room = _Room(len(buffer))
    position += 1
    while buffer[position]:
        file, position = read_file_4(buffer, position, directories)
        files.append(file)
        room.take(file, position)
    return tuple(files), "", position + 1


def read_file_4(buffer: bytes, position: int, directories: list[str]) -> tuple[SourceFile, int]:
    """Read a file entry of versions 2 to 4: name, directory, time, length. An unknown directory leaves the name alone."""
    name, position = read_string(buffer, position, _LINE)
    directory, position = read_unsigned(buffer, position)
    _time, position = read_unsigned(buffer, position)
    _length, position = read_unsigned(buffer, position)
    return SourceFile(joined(directories[directory] if directory < len(directories) else "", name)), position


def _read_files_5(
    buffer: bytes, position: int, encoding: Encoding, strings: DebugStrings
) -> tuple[tuple[SourceFile, ...], str, int]:
    entries, position = _read_entries(buffer, position, encoding)
    directories = [strings.text(entry.get(_LNCT_PATH)) for entry in entries]
    compile_directory = directories[0] if directories else ""
    entries, position = _read_entries(buffer, position, encoding)
    files: list[SourceFile] = []
    room = _Room(len(buffer))
    for entry in entries:
        index = entry.get(_LNCT_DIRECTORY_INDEX, (0, 0))[1]
        # Directory 0 is the compile directory, which LineTable keeps apart; others may repeat it.
        directory = directories[index] if isinstance(index, int) and index < len(directories) else ""
        if directory == compile_directory:
            directory = ""
        md5 = entry.get(_LNCT_MD5, (0, None))[1]
        text = strings.text(entry.get(_LNCT_LLVM_SOURCE))
        path = joined(directory, strings.text(entry.get(_LNCT_PATH)))
        files.append(SourceFile(path, md5.hex() if isinstance(md5, bytes) and any(md5) else None, text or None))
        room.take(files[-1], position)
    return tuple(files), compile_directory, position


class _Room:
    """The bound on the paths' length: many files in one directory with a long name must not take many times the section."""

    def __init__(self, size: int) -> None:
        self._left = 16 * size + (1 << 16)

    def take(self, file: SourceFile, offset: int) -> None:
        self._left -= len(file.path)
        if self._left < 0:
            raise malformed("the files' paths are many times longer than the section", _LINE, offset)


def _read_entries(buffer: bytes, position: int, encoding: Encoding) -> tuple[list[_Entry], int]:
    """Read the directories or the files of version 5: the entries' format, their number, then the entries."""
    start = position
    formats = []
    format_count, position = buffer[position], position + 1
    for _ in range(format_count):
        content, position = read_unsigned(buffer, position)
        form, position = read_unsigned(buffer, position)
        if form not in _ENTRY_FORMS:
            raise malformed(f"form {form:#x} is not allowed in an entry format", _LINE, start)
        formats.append((content, form))
    count, position = read_unsigned(buffer, position)
    if count and not formats:
        raise malformed(f"{count} entries without a format", _LINE, start)
    entries: list[_Entry] = []
    for _ in range(count):
        entry: _Entry = {}
        for content, form in formats:
            value, position = read_form(buffer, position, form, encoding, _LINE)
            entry[content] = form, value
        entries.append(entry)
    return entries, position

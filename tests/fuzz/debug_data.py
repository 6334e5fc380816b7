"""A target for DWARF: each section is a part of the input, and what lies around them is whole."""

from __future__ import annotations

import contextlib

from kernlens.analysis.correlate import correlate
from kernlens.analysis.flow.variable_cuts import register_places
from kernlens.errors import KernlensError
from kernlens.formats.dwarf.line_tables import read_kernel_debug_elf, read_zebin_line_tables
from kernlens.formats.dwarf.variables import pieces_of_lanes
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.host_object import read_host_object
from kernlens.model.line_table import LineTable
from kernlens.report.place_words import place_words
from tests.fuzz.inputs import parts
from tests.writers.elf import SHT_RELA, ElfWriter

#: The sections in the order of the input's parts; the last two are the tables of relocations.
SECTIONS = (
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_addr",
    ".debug_str_offsets",
    ".rela.debug_info",
    ".rela.debug_line",
    ".debug_loc",
    ".debug_loclists",
)
_CODE_SIZE = 256
#: Of which all lanes of all locations are evaluated, and how long their words may become.
_MOST_VARIABLES, _LONGEST_WORDS = 200, 20_000
_ZEBIN, _KERNEL_DEBUG, _HOST = 205, 182, 62


def file_of(data: bytes, machine: int = _ZEBIN) -> memoryview:
    """Return an ELF with two kernels' code, and the debug sections that the input's parts are."""
    writer = ElfWriter(machine=machine)
    code = [writer.add(f".text.{kernel}", bytes(_CODE_SIZE), flags=6) for kernel in ("k", "other")]
    numbers: dict[str, int] = {}
    names = ["k", "other"]
    contents = dict(zip(SECTIONS, parts(data, len(SECTIONS)), strict=True))
    for name, content in contents.items():
        if content and not name.startswith(".rela"):
            numbers[name] = writer.add(name, content)
    info = numbers.get(".debug_info", 0)
    symbols = [(name, 0, _CODE_SIZE, 0, 2, index) for name, index in zip(names, code, strict=True)]
    # As Intel's compiler writes them: symbols without names that lie in the debug section.
    symbols += [("", 0, 0, 0, 1, info), *(("", 0, 0, 0, 3, index) for index in numbers.values())]
    table = writer.add_symbols(symbols)
    for name in SECTIONS:
        target = name.removeprefix(".rela")
        if name.startswith(".rela") and contents[name] and target in numbers:
            whole = contents[name][: len(contents[name]) // 24 * 24]
            writer.add(name, whole, type=SHT_RELA, entry_size=24, link=table, info=numbers[target])
    return writer.build()


def _read(table: LineTable | None) -> None:
    if table is None:
        return
    source_map = correlate(range(0, _CODE_SIZE, 8), table)
    for index in range(len(source_map.offsets)):
        source_map.place(index)
        source_map.inlined_at(index)
    _ = source_map.lines
    for variable in (table.variables or ())[:_MOST_VARIABLES]:
        for location in variable.locations:
            assert len(place_words(location.lanes, 32)) < _LONGEST_WORDS
            register_places(location, 32)


def dwarf(data: bytes) -> None:
    """Read debug sections, as zebins, a kernel's debug ELF, and an object of the host's processor have them."""
    try:
        tables = read_zebin_line_tables(read_elf(file_of(data)))
        for kernel in tables:
            try:
                _read(tables[kernel])
            except KernlensError:
                continue  # The next kernel's may be whole.
    except KernlensError:
        pass
    with contextlib.suppress(KernlensError):
        _read(read_kernel_debug_elf(file_of(data, _KERNEL_DEBUG)))
    for table in read_host_object(file_of(data, _HOST)).tables:
        _read(table)


def expressions(data: bytes) -> None:
    """Evaluate a location expression for all lanes, of a variable and of a vector."""
    for elements in (1, 4):
        lanes = pieces_of_lanes(data, 32, elements, 32)
        assert len(lanes) in (1, 32)
        assert len(place_words(lanes, 32)) < _LONGEST_WORDS

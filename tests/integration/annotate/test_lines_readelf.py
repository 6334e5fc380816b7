"""Line tables, row for row, against independent readers; inlined calls against pyelftools' own walk."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.formats.dwarf.line_tables import read_zebin_line_tables
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.line_table import END_SEQUENCE, LineTable
from tests.corpus.build import Built
from tests.corpus.checks import Outcome, check_columns, check_lines, load

needs_eu_readelf = pytest.mark.skipif(not shutil.which("eu-readelf"), reason="eu-readelf (elfutils) is not installed")


@pytest.mark.parametrize("check", [check_lines, check_columns])
def test_tables_of_patch_token_programs(corpus_sample: list[Built], check: Callable[[Built], Outcome]) -> None:
    agree(check, corpus_sample, at_least=5000)


@pytest.mark.parametrize("check", [check_lines, check_columns])
def test_tables_of_programs_with_calls(corpus_others: list[Built], check: Callable[[Built], Outcome]) -> None:
    agree(check, corpus_others, at_least=500)


def agree(check: Callable[[Built], Outcome], sample: list[Built], at_least: int) -> None:
    whole = Outcome("rows")
    for built in sample:
        whole.add(check(built))
    assert not whole.differences
    assert whole.compared >= at_least


#: eu-readelf's rows: ``    29:17  S P      0   0  0 .text.k+0x00000000000000d0 <k+0xd0>``; zero has no 0x.
_EU_ROW = re.compile(r"^ +(\d+):(\d+) .* (\.text\.\w+)\+(?:0x)?([0-9a-f]{16,})(?: <.*>)?$")


def eu_tables(path: Path, elf: Elf) -> list[list[tuple[int, int, int]]]:
    """(offset, line, column) of each unit.

    elfutils lays the code sections of a relocatable file out one behind the other, from 0 on, and says in which of them
    an address would lie; what it read from the table is the sum.
    """
    starts, end = {}, 0
    for section in elf.sections:
        if section.flags & 2:
            starts[section.name] = end
            end += section.size
    command = ["eu-readelf", "--debug-dump=decodedline", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    tables: list[list[tuple[int, int, int]]] = []
    for line in text.splitlines():
        # The first program has its unit; for the others elfutils finds none, as it does not relocate .debug_info.
        if line.startswith((" CU [", " No CU")):
            tables.append([])
        elif match := _EU_ROW.match(line):
            tables[-1].append((starts[match[3]] + int(match[4], 16), int(match[1]), int(match[2])))
    return tables


def own_rows(table: LineTable) -> list[tuple[int, int, int]]:
    rows = zip(table.offsets, table.lines, table.columns, table.flags, strict=True)
    return [tuple(row) for *row, flags in rows if not flags & END_SEQUENCE]  # type: ignore[misc]


@needs_eu_readelf
def test_zebin_tables_equal_eu_readelf(newest_sample: list[Built]) -> None:
    """elfutils relocates zebin's .debug_line, so it is right there as well."""
    kernels = 0
    for built in newest_sample:
        elf = read_elf(memoryview(built.binary.read_bytes()))
        # A pseudo-kernel without functions has a unit and a line program without rows.
        tables, theirs = read_zebin_line_tables(elf), [rows for rows in eu_tables(built.binary, elf) if rows]
        assert len(theirs) == len(tables)
        # eu-readelf marks the end of a table with one more row, for the last byte that it covers.
        for (name, table), rows in zip(tables.items(), theirs, strict=True):
            assert rows[: len(table) - 1] == own_rows(table), f"{built.name} {name}"
            kernels += 1
    assert kernels > len(newest_sample)


def test_each_kernel_of_a_zebin_has_its_own_table(newest_sample: list[Built]) -> None:
    """The trap: without relocation every unit's line program is the first one."""
    for built in newest_sample:
        program = load(built)
        kernels = [kernel for kernel in program.kernels.values() if kernel.name != PSEUDO_KERNEL]
        for kernel in kernels:
            assert kernel.line_table is not None
            assert kernel.line_table.offsets[-1] == len(kernel.code), f"{built.name} {kernel.name}"
        starts = {(kernel.line_table.lines[0], kernel.line_table.files_of[0]) for kernel in kernels}  # type: ignore[union-attr]
        assert len(starts) == len(kernels)


def test_inlined_calls_equal_readelf(corpus_sample: list[Built], tmp_path: Path) -> None:
    """Every inlined call that has code, with its ranges, name and call line, as readelf prints the entries."""
    compared = 0
    for built in corpus_sample[::3]:
        debug = read_debug_data(memoryview(built.debug.read_bytes()))
        kernels = load(built).kernels
        for kernel in debug.kernels:
            path = tmp_path / "kernel.elf"
            path.write_bytes(kernel.elf)
            table = kernels[kernel.name].line_table
            assert table is not None
            ours = sorted((call.name, call.low, call.high, call.call_line, call.depth) for call in table.inlined)
            theirs = sorted(printed_calls(path))
            assert ours == theirs, f"{built.name} {kernel.name}"
            compared += len(ours)
    assert compared > 50


_ENTRY = re.compile(r" <(\d+)><([0-9a-f]+)>: Abbrev Number: (\d+)(?: \((\w+)\))?")
_ATTRIBUTE = re.compile(r"    <[0-9a-f]+>   (DW_AT_\w+) *: (.*)")


def printed_calls(path: Path) -> list[tuple[str, int, int, int, int]]:
    """(name, low, high, call line, depth) from ``readelf --debug-dump=info,Ranges``."""
    command = ["readelf", "--debug-dump=info", "--debug-dump=Ranges", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    ranges: dict[int, list[tuple[int, int]]] = {}
    for offset, low, high in re.findall(r"^    ([0-9a-f]{8}) ([0-9a-f]{16}) ([0-9a-f]{16})", text, re.MULTILINE):
        ranges.setdefault(int(offset, 16), []).append((int(low, 16), int(high, 16)))
    names: dict[int, str] = {}
    pending: list[tuple[dict[str, str], int]] = []
    entry: dict[str, str] = {}
    open_tags: list[str] = []
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            entry = {"tag": match[4] or "", "place": match[2]}
            depth = int(match[1])
            del open_tags[depth:]
            if entry["tag"] == "DW_TAG_inlined_subroutine":
                pending.append((entry, open_tags.count("DW_TAG_inlined_subroutine")))
            open_tags.append(entry["tag"])
        elif match := _ATTRIBUTE.match(line):
            entry[match[1]] = match[2].strip()
            if match[1] == "DW_AT_name":
                names[int(entry["place"], 16)] = match[2].split("): ")[-1].strip()
    calls = []
    for call, depth in pending:
        name = names[int(call["DW_AT_abstract_origin"].strip("<>"), 16)]
        call_line = int(call["DW_AT_call_line"])
        spans = ranges.get(int(call["DW_AT_ranges"], 16), []) if "DW_AT_ranges" in call else []
        if "DW_AT_low_pc" in call:
            spans = [(int(call["DW_AT_low_pc"], 16), int(call["DW_AT_high_pc"], 16))]
        calls += [(name, low, high, call_line, depth) for low, high in spans if low < high]
    return calls

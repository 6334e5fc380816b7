"""Lines of host code: assembly directives, listings, and the line table of an object that is written here."""

from __future__ import annotations

from typing import Any

import pytest

from kernlens.errors import FormatError
from kernlens.formats.host_object import read_host_object
from kernlens.formats.listings.host_assembly import read_host_assembly_lines, read_host_listing
from kernlens.loading.stage_maps import Beside, snapshot_map, under_name
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot
from kernlens.model.stage_map import LINE, OFFSET
from tests.limits import processor_time
from tests.writers import dwarf
from tests.writers.dwarf import ABBREVIATIONS, UnitWriter, line_unit_4, special, uleb
from tests.writers.elf import SHT_RELA, ElfWriter, rela

ASSEMBLY = """\
\t.file\t"k.cl"
\t.section\t.rodata,"a",@progbits
.LCPI0_0:
\t.long\t7
\t.type\tscale,@function
scale:
.Lfunc_begin0:
\tendbr64
\t.file\t1 "/src dir" "caf\\303\\251.cl"
\t.file\t2 "/src" "/abs/h.h"
\t.loc\t1 5 9 prologue_end is_stmt 0
\tpushq\t%rbp  # .loc 1 6 0
# .loc 1 7 0
.LBB0_1:                                # %loop
\tcallq\t*%r15
\t.loc\t2 0 9
\tmovq\t%fs:0, %rax
\t.loc\t2 8 0
\tpopq\t%rbp
\t.loc\t3 9
\tretq
\t.type\t"odd name",@function
"odd name":
\tretq
"""


def test_loc_directives_hold_until_the_next_and_end_with_their_function() -> None:
    rows = read_host_assembly_lines(ASSEMBLY)
    lines = ASSEMBLY.split("\n")
    assert [lines[number - 1].split()[0] for number in rows.lines] == [
        "endbr64",
        "pushq",
        "callq",
        "movq",
        "popq",
        "retq",
        "retq",
    ]
    assert rows.functions == ["scale"] * 6 + ["odd name"]
    here = SourcePlace("/src dir/café.cl", 5, 9)
    # Line 0 is none; file 3 was never named.
    assert rows.places == [None, here, here, None, SourcePlace("/abs/h.h", 8), SourcePlace("", 9), None]


def test_what_is_no_assembly_has_no_rows() -> None:
    for text in (
        "",
        "\x00\xff garbage \n.loc\n.file\n:\n",
        "\t.loc 99999999999999999999 1\n",
        '.type "' + "a" * 1_000_000,
    ):
        with processor_time():
            assert not any(read_host_assembly_lines(text).places)
            assert read_host_listing(text) == []


GNU = """\
object:     file format elf64-x86-64

Disassembly of section .text:

0000000000001000 <_pocl_kernel_scale>:
_pocl_kernel_scale():
/src/k.cl:10
    1000:\tpush   %rbp
\t\t\t1001: R_X86_64_64\t.ldata
/src/k.cl:11 (discriminator 2)
    1004:\tret

0000000000001010 <a<b>>:
    1010:\tnop
"""
LLVM = """\
Disassembly of section .strtab:

0000000000000000 <.strtab>:
       0:      \taddb\t%ch, (%rsi)
\t\t...

Disassembly of section .comment:

      20:      \tnop

Disassembly of section .ltext:

0000000000000000 <scale>:
       0:      \tendbr64
       4:      \tmovabsq\t$0x0, %rdi
\t\t0000000000000006:  R_X86_64_64\t.ldata
"""


def test_listings_of_both_tools() -> None:
    gnu = read_host_listing(GNU)
    assert [(row.line, row.address, row.start) for row in gnu] == [
        (8, 0x1000, 0x1000),
        (11, 0x1004, 0x1000),
        (14, 0x1010, 0x1010),
    ]
    assert [row.function for row in gnu] == ["_pocl_kernel_scale"] * 2 + ["a<b>"]
    llvm = read_host_listing(LLVM)
    assert [(entry.section, entry.address, entry.function) for entry in llvm] == [
        (".strtab", 0, ".strtab"),
        (".comment", 0x20, ""),
        (".ltext", 0, "scale"),
        (".ltext", 4, "scale"),
    ]


def host_object(machine: int = 62, code: tuple[str, ...] = (".ltext",), line_relocation: int = 1) -> ElfWriter:
    """An object to be linked: its code's line 5 from 0, line 8 from 4, inlined at line 6; then 10 bytes without."""
    program = (
        dwarf.set_address(0) + b"\x03" + dwarf.sleb(4) + b"\x01" + special(4, 3) + b"\x02" + uleb(4) + b"\x00\x01\x01"
    )
    unit = UnitWriter("scale", 0, directory="/src")
    inlined = unit.abstract("times")
    unit.subprogram("scale", 0, 8)
    unit.inlined(inlined, 4, 4, (1, 6, 3))
    unit.close()
    unit.close()
    writer = ElfWriter(machine=machine)
    for name in code:
        writer.add(name, bytes(18), flags=6)
    info = writer.add(".debug_info", unit.build())
    writer.add(".debug_abbrev", ABBREVIATIONS)
    text = line_unit_4(program)
    line = writer.add(".debug_line", text)
    # Symbol 1 is the code's section, symbol 2 that of the abbreviations and lines; both are of value 0.
    table = writer.add_symbols([("", 0, 0, 0, 3, 1), ("", 0, 0, 0, 3, info)])
    types = {1: 1, 2: 10}
    sites = [(site, 1 if symbol == "scale" else 2, types[type], addend) for site, symbol, type, addend in unit.sites]
    writer.add(".rela.debug_info", rela(*sites), type=SHT_RELA, entry_size=24, link=table, info=info)
    address = text.index(dwarf.set_address(0)) + 3
    entry = rela((address, 1, line_relocation, 0))
    writer.add(".rela.debug_line", entry, type=SHT_RELA, entry_size=24, link=table, info=line)
    return writer


def snapshot(stage: str, content: bytes, form: str, ending: str, kernel: str | None = None) -> Snapshot:
    return Snapshot(stage, kernel, form, ending, lambda: content, len(content))


LISTING = LLVM + "\nDisassembly of section .data:\n\n0000000000000000 <d>:\n       4:      \tnop\n"


def test_a_listing_has_the_places_of_its_objects_line_table() -> None:
    content = snapshot("object", bytes(host_object().build()), "binary", ".o")
    listing = snapshot("disassembly", LISTING.encode(), "text", ".asm")
    beside = Beside([content, listing])
    shown = snapshot_map(listing, beside)
    assert shown is not None
    # Only the code section counts, though the listing goes through data.
    assert (shown.unit, list(shown.positions), list(shown.functions)) == (LINE, [14, 15], ["scale"] * 2)
    assert shown.places == [SourcePlace("/src/k.cl", 5), SourcePlace("/src/k.cl", 8)]
    assert shown.calls == [(), (SourcePlace("/src/k.cl", 6, 3),)]
    assert [text.split()[1] for text in shown.texts] == ["endbr64", "movabsq"]
    itself = snapshot_map(content, beside)
    assert itself is not None
    assert (itself.unit, list(itself.positions), itself.places, itself.texts) == (
        OFFSET,
        [0, 4],
        shown.places,
        shown.texts,
    )


def test_each_kernels_listing_is_of_its_own_object() -> None:
    content = bytes(host_object().build())
    listing = LISTING.encode()
    snapshots = [
        snapshot("object", content, "binary", ".o", "a"),
        snapshot("object", listing, "text", ".asm", "a"),
        snapshot("object", listing, "text", ".asm", "b"),
    ]
    snapshot_maps = [snapshot_map(stage_map, Beside(snapshots)) for stage_map in snapshots]
    assert [item.kernel if item else None for item in snapshot_maps] == [None, "a", None]


@pytest.mark.parametrize("change", [{"machine": 183}, {"code": (".text", ".ltext")}])
def test_objects_whose_addresses_cannot_be_told_have_no_tables(change: dict[str, Any]) -> None:
    assert read_host_object(host_object(**change).build()).tables == ()


def test_damaged_objects_are_format_errors() -> None:
    with pytest.raises(FormatError, match="relocation type 2 is not an address"):
        read_host_object(host_object(line_relocation=2).build())
    whole = bytes(host_object().build())
    for end in range(0, len(whole), 7):
        try:
            read_host_object(memoryview(whole[:end]))
        except FormatError:
            continue
    assert read_host_object(memoryview(whole)).tables


def test_pocls_copy_of_the_source_gets_the_sources_name() -> None:
    text = ASSEMBLY.replace('"/src dir" "caf\\303\\251.cl"', '"/tmp/x/tempfile_aB3dE6.cl"')
    stage_map = snapshot_map(snapshot("assembly", text.encode(), "text", ".s"), Beside([]))
    assert stage_map is not None
    assert set(stage_map.lines) == {("/tmp/x/tempfile_aB3dE6.cl", 5), ("/abs/h.h", 8), ("", 9)}
    assert set(under_name(stage_map, "k.cl").lines) == {("k.cl", 5), ("/abs/h.h", 8), ("", 9)}
    assert under_name(under_name(stage_map, "k.cl"), "other.cl").places == under_name(stage_map, "k.cl").places


def test_digits_that_are_not_octal_stand_for_themselves() -> None:
    """``\\9`` and digits of other scripts are no octal numbers."""
    text = '.file 1 "/\\303\\251/\\9\\\u0663.cl"\n.loc 1 2\n'
    (place,) = {place for place in read_host_assembly_lines(f".type f,@function\nf:\n{text} nop\n").places if place}
    assert place.path.endswith("9\u0663.cl")

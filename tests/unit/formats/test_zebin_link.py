"""Zebins written here, merged and filled in: offsets, names, relocations, ze_info."""

from __future__ import annotations

import random
import struct

import pytest

from kernlens.errors import FormatError, KernlensError, LinkError
from kernlens.formats.elf.header import SHT_DYNSYM
from kernlens.formats.zebin.locate import locate
from kernlens.formats.zebin.merge import link_zebins
from kernlens.formats.zebin.ze_info import read_ze_info
from kernlens.formats.zebin.ze_info_merge import merge_ze_info
from kernlens.formats.zebin.zebin_file import Zebin, read_zebin
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from tests.writers.elf import (
    FUNC,
    GLOBAL,
    LOCAL,
    NOTYPE,
    OBJECT,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_REL,
    SHT_RELA,
    ElfWriter,
    note,
    rel,
    rela,
)

ZE_INFO, MISC = 0xFF000011, 0xFF000014
FUNCTIONS = f".text.{PSEUDO_KERNEL}"
DRIVER = "__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0"


def ze_info(kernel: str, functions: str = "", simd: int = 16, spill: int = 0, version: str = "1.73") -> bytes:
    lines = ["---", f"version:         '{version}'", "kernels:"]
    for name in (kernel, PSEUDO_KERNEL):
        lines += [f"  - name:            {name}", "    execution_env:", f"      simd_size:       {simd}"]
        lines += [f"      spill_size:      {spill}", "      has_no_stateless_write: true"]
    if functions:
        lines += ["functions:", f"  - name:            {functions}", "    execution_env:", "      simd_size:       16"]
    lines += ["kernels_misc_info:", f"  - name:            {kernel}", "..."]
    return "\n".join(lines).encode() + b"\n"


def importer(device: int = 0x4F6) -> memoryview:
    """A kernel that calls ``helper`` and reads ``shared``; a variable of its own, with an address in it."""
    writer = ElfWriter()
    kernel = writer.add(".text.use", bytes(range(48)) + bytes(16), flags=6)
    functions = writer.add(FUNCTIONS, b"\x22" * 64, flags=6)
    variables = writer.add(".data.global", struct.pack("<IIQ", 1, 2, 24), flags=3)
    zero = writer.add(".bss.global", type=SHT_NOBITS, flags=3, size=40)
    assert zero
    symtab = writer.add_symbols(
        [
            ("use", 0, 48, LOCAL, FUNC, kernel),
            ("_entry", 32, 0, LOCAL, NOTYPE, kernel),
            (PSEUDO_KERNEL, 0, 60, LOCAL, FUNC, functions),
            ("_entry", 8, 0, LOCAL, NOTYPE, functions),
            (".str", 4, 4, GLOBAL, OBJECT, variables),
            ("own", 8, 8, GLOBAL, OBJECT, variables),
            ("zeros", 16, 40, GLOBAL, OBJECT, variables),
            ("helper", 0, 0, GLOBAL, NOTYPE, 0),
            ("shared", 0, 4, GLOBAL, NOTYPE, 0),
            (DRIVER, 0, 0, GLOBAL, NOTYPE, 0),
        ]
    )
    relocations = rel((4, 8, 2), (12, 8, 3), (20, 9, 1), (0, 10, 2))
    writer.add(".rel.text.use", relocations, type=SHT_REL, entry_size=16, link=symtab, info=kernel)
    writer.add(".rel.data.global", rel((8, 6, 1)), type=SHT_REL, entry_size=16, link=symtab, info=variables)
    return finish(writer, ze_info("use"), device)


def exporter(name: str = "helper", variable: str = "shared") -> memoryview:
    writer = ElfWriter()
    functions = writer.add(FUNCTIONS, b"\x33" * 120 + bytes(8), flags=6)
    variables = writer.add(".data.global", b"\x07\0\0\0\xee", flags=3)
    kernel = writer.add(f".text.own_{name}", b"\x44" * 64, flags=6)
    symtab = writer.add_symbols(
        [
            (PSEUDO_KERNEL, 0, 120, LOCAL, FUNC, functions),
            ("_entry", 8, 0, LOCAL, NOTYPE, functions),
            (name, 16, 100, GLOBAL, FUNC, functions),
            (variable, 0, 4, GLOBAL, OBJECT, variables),
            (".str", 4, 1, GLOBAL, OBJECT, variables),
            (f"own_{name}", 0, 64, LOCAL, FUNC, kernel),
        ]
    )
    writer.add(f".rela{FUNCTIONS}", rela((40, 4, 2, 2)), type=SHT_RELA, entry_size=24, link=symtab, info=functions)
    return finish(writer, ze_info(f"own_{name}", name, simd=32, spill=64), 0x4F6)


def finish(writer: ElfWriter, info: bytes, device: int) -> memoryview:
    writer.add(".ze_info", info, type=ZE_INFO)
    writer.add(".misc.buildOptions", b"-library-compilation -g\0", type=MISC)
    notes = note(1, struct.pack("<I", device)) + note(4, b"1.73\0")
    writer.add(".note.intelgt.compat", notes, type=SHT_NOTE)
    return writer.build()


def merged(*modules: tuple[str, memoryview]) -> tuple[Zebin, dict[str, int]]:
    zebin = read_zebin(memoryview(link_zebins(modules).content))
    return zebin, {symbol.name: symbol.value for symbol in zebin.symbols if symbol.binding == "global"}


def test_padding_between_modules_is_a_whole_number_of_instructions() -> None:
    zebin, values = merged(("a", exporter()), ("b", exporter("other", "another")))
    assert zebin.functions is not None
    code = bytes(zebin.functions.code)
    assert len(code) == 128 + 120
    # The first module's code ends 8 bytes behind a multiple of 16. Bit 29 says that an instruction has 8 bytes.
    starts = {120}
    while (start := max(starts)) < 128:
        starts.add(start + (8 if code[start + 3] & 0x20 else 16))
    assert max(starts) == 128 == values["other"] - 16


def test_functions_and_data_lie_behind_each_other() -> None:
    zebin, values = merged(("a", importer()), ("b", exporter()))
    (functions,) = (section for section in zebin.elf.sections if section.name == FUNCTIONS)
    assert bytes(functions.data) == b"\x22" * 64 + b"\x33" * 120 + bytes(8)
    assert values["helper"] == 64 + 16
    assert zebin.functions is not None
    # The pseudo-kernel's code ends where the last module's does.
    assert len(zebin.functions.code) == 64 + 120
    (data,) = (entry for entry in zebin.elf.sections if entry.name == ".data.global")
    assert values["own"] == 8
    assert values["shared"] == 128
    assert bytes(data.data[128:133]) == b"\x07\0\0\0\xee"
    # What has no initial value follows all of the data, as far from a multiple of 128 as it was.
    assert values["zeros"] == len(data.data) + 16 == 256 + 16
    (zero,) = (section for section in zebin.elf.sections if section.name == ".bss.global")
    assert (zero.type, zero.size) == (SHT_NOBITS, 16 + 40)


def test_imports_become_references_and_the_drivers_symbols_stay() -> None:
    result = link_zebins([("a", importer()), ("b", exporter())])
    assert result.bound == {"helper": "b", "shared": "b"}
    assert result.imports == ()
    zebin = read_zebin(memoryview(result.content))
    assert {symbol.name for symbol in zebin.symbols if symbol.kind in ("import", "driver")} == {DRIVER}
    assert [
        (relocation.section, relocation.offset, relocation.symbol, relocation.type, relocation.addend)
        for relocation in zebin.relocations
    ] == [
        (".text.use", 4, "helper", 2, None),
        (".text.use", 12, "helper", 3, None),
        (".text.use", 20, "shared", 1, None),
        (".text.use", 0, DRIVER, 2, None),
        (".data.global", 8, "own", 1, None),
        (FUNCTIONS, 64 + 40, "shared", 2, 2),
    ]


def test_an_import_that_nobody_has_stays() -> None:
    assert link_zebins([("a", importer()), ("b", exporter("else"))]).imports == ("helper",)


def test_private_names_are_told_apart() -> None:
    result = link_zebins([("a", importer()), ("b", exporter())])
    assert result.renamed == {("b", ".str"): ".str.1"}
    zebin = read_zebin(memoryview(result.content))
    assert {symbol.name: symbol.value for symbol in zebin.symbols if symbol.name.startswith(".str")} == {
        ".str": 4,
        ".str.1": 132,
    }


def test_a_symbol_of_the_pseudo_kernels_name_where_there_are_no_functions() -> None:
    zebin = read_zebin(memoryview(link_zebins([("odd", pseudo_kernel_without_functions())]).content))
    (symbol,) = (symbol for symbol in zebin.symbols if symbol.name == PSEUDO_KERNEL)
    assert (symbol.section, symbol.size) == (".text.use", 48)


def pseudo_kernel_without_functions() -> memoryview:
    writer = ElfWriter()
    kernel = writer.add(".text.use", bytes(64), flags=6)
    writer.add_symbols([("use", 0, 48, LOCAL, FUNC, kernel), (PSEUDO_KERNEL, 0, 48, LOCAL, FUNC, kernel)])
    return finish(writer, ze_info("use"), 0x4F6)


def test_notes_and_options_are_said_once() -> None:
    """A debug flag is not: the merged file has no debug data."""
    zebin, _ = merged(("a", importer()), ("b", exporter()))
    assert zebin.notes.device_id.product_family == 0x4F6
    assert zebin.notes.zebin_version == "1.73"
    assert zebin.build_options == "-library-compilation"


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], "the list of modules is empty"),
        (
            [("a", importer()), ("b", importer(0x1234))],
            "b is not for the same device and compiler as a: the product family",
        ),
        ([("a", importer()), ("b", importer())], "kernel use is defined in a and in b"),
        ([("a", importer()), ("a", importer())], "kernel use is defined in a and in a"),
    ],
)
def test_what_cannot_be_merged(modules: list[tuple[str, memoryview]], message: str) -> None:
    with pytest.raises(LinkError, match=message):
        link_zebins(modules)


def test_a_symbol_of_two_modules() -> None:
    second = bytes(exporter()).replace(b"own_helper", b"own_second")
    with pytest.raises(LinkError, match="helper is defined in a and in b") as caught:
        link_zebins([("a", exporter()), ("b", memoryview(second))])
    assert caught.value.symbols == ("helper",)


def test_filled_in_places() -> None:
    base = 0x1_0000_0040
    result = locate(memoryview(link_zebins([("a", importer()), ("b", exporter())]).content), base)
    zebin = read_zebin(memoryview(result.content))
    addresses = {section.name: section.address for section in zebin.elf.sections}
    assert addresses[".text.use"] == base
    assert addresses[FUNCTIONS] == base + 64
    assert addresses[".data.global"] == 0x1_0000_1000
    helper, shared = addresses[FUNCTIONS] + 80, addresses[".data.global"] + 128
    text = {section.name: bytes(section.data) for section in zebin.elf.sections}
    assert text[".text.use"][4:8] == struct.pack("<I", helper & 0xFFFFFFFF)
    assert text[".text.use"][12:16] == struct.pack("<I", helper >> 32)
    assert text[".text.use"][20:28] == struct.pack("<Q", shared)
    # The driver's own place is left as it was.
    assert text[".text.use"][0:4] == bytes(range(4))
    # Code is overwritten, with the addend; data is added to.
    assert text[FUNCTIONS][104:108] == struct.pack("<I", (shared + 2) & 0xFFFFFFFF)
    own = addresses[".data.global"] + 8
    assert text[".data.global"][8:16] == struct.pack("<Q", own + 24)
    (moved,) = (relocation for relocation in zebin.relocations if relocation.section == ".data.global")
    assert moved.addend == -own
    values = {(site.section, site.offset): site.value for site in result.sites}
    assert values[".text.use", 0] is None
    assert values[".data.global", 8] == own + 24


@pytest.mark.parametrize("symbols", [1, 20])
def test_relocations_of_a_second_symbol_table(symbols: int) -> None:
    """Their numbers mean other symbols than those of the file, or none: the driver reads one table."""
    writer = ElfWriter()
    kernel = writer.add(".text.use", bytes(64), flags=6)
    second = writer.add_symbols([("other", 0, 0, LOCAL, NOTYPE, kernel)] * 20, type=SHT_DYNSYM)
    writer.add_symbols([("use", 0, 64, LOCAL, FUNC, kernel)] * symbols)
    writer.add(".rel.text.use", rel((0, 15, 2)), type=SHT_REL, entry_size=16, link=second, info=kernel)
    content = finish(writer, ze_info("use"), 0x4F6)
    for read in (
        lambda: locate(content, 0),
        lambda: link_zebins([("a", content)]),
        lambda: read_zebin(content).relocations,
    ):
        with pytest.raises(FormatError, match="not in the table of symbols"):
            read()


@pytest.mark.parametrize(
    ("base", "message"), [(17, "not a multiple of 64"), (-64, "not a multiple"), (2**64 - 64, "64 bits")]
)
def test_bases_that_do_not_do(base: int, message: str) -> None:
    with pytest.raises(LinkError, match=message):
        locate(importer(), base)


def test_the_kernel_entry_is_found_in_a_located_file() -> None:
    (use,) = read_zebin(memoryview(locate(importer(), 0x10000).content)).kernels
    assert use.entry_offset == 32


def test_ze_info_of_all_modules() -> None:
    text = merge_ze_info([("a", ze_info("use").decode()), ("b", ze_info("own", "helper", 32, 64).decode())])
    info = read_ze_info(memoryview(text.encode()))
    assert list(info.kernels) == ["use", "own", PSEUDO_KERNEL]
    assert info.functions == ("helper",)
    # The module without functions has nothing to say of the pseudo-kernel.
    assert info.kernels[PSEUDO_KERNEL].entry["execution_env"] == {
        "simd_size": 32,
        "spill_size": 64,
        "has_no_stateless_write": True,
    }
    assert text.index("kernels_misc_info:") > text.index("functions:")


def test_the_pseudo_kernel_needs_what_any_modules_functions_need() -> None:
    first = ze_info("a", "f", 16, 32).decode().replace("has_no_stateless_write: true", "barrier_count: 1", 2)
    text = merge_ze_info([("a", first), ("b", ze_info("b", "g", 16, 64).decode())])
    environment = read_ze_info(memoryview(text.encode())).kernels[PSEUDO_KERNEL].entry["execution_env"]
    assert environment == {"simd_size": 16, "spill_size": 64, "barrier_count": 1}


#: The entry that every module has.
PSEUDO = """---
version: '1.39'
kernels:
  - name: Intel_Symbol_Table_Void_Program
    per_thread_memory_buffers:
      - type: scratch
        size: 64
functions:
  - name: f
...
"""


def test_ze_info_of_two_versions() -> None:
    with pytest.raises(LinkError, match=r"1\.73 in a, 1\.20 in b"):
        merge_ze_info([("a", ze_info("k").decode()), ("b", ze_info("l", version="1.20").decode())])


@pytest.mark.parametrize(
    "text",
    [
        "  version: '1.39'\n  kernels:\n    - name: f\n",
        "\"version\": '1.39'\n",
        PSEUDO.replace("- type: scratch", "- 5"),
        PSEUDO.replace("size: 64", "size: large"),
        PSEUDO.replace(
            "    per_thread_memory_buffers:\n      - type: scratch\n        size: 64\n",
            "    per_thread_memory_buffers: 3\n",
        ),
        PSEUDO.replace("      - type: scratch", "      - a: 1\n      - 2"),
    ],
)
def test_ze_info_that_the_merge_cannot_take_apart(text: str) -> None:
    """Each of these is YAML, and none of it is what the specification says."""
    with pytest.raises((FormatError, LinkError)):
        merge_ze_info([("a", PSEUDO), ("b", text)])


def test_what_a_module_says_of_a_kernel_that_it_does_not_have_is_not_joined_to_anothers() -> None:
    kernel = "version: '1.73'\nkernels:\n  - name: k\n"
    stray = "version: '1.73'\nkernels_misc_info:\n  - name: k\n    args_info:\n      - index: 0\n        name: stray\n"
    assert merge_ze_info([("a", kernel), ("b", stray.replace("name: k", "name: other"))]).count("name: stray") == 1
    with pytest.raises(FormatError, match="describes k cannot be taken apart"):
        merge_ze_info([("a", kernel), ("b", stray)])


def test_a_buffer_of_a_strange_kind_is_one_of_its_own() -> None:
    text = merge_ze_info([("a", PSEUDO), ("b", PSEUDO.replace("type: scratch", "type: [ 1, 2 ]"))])
    assert text.count("- type:") == 2


@pytest.mark.slow
def test_damaged_modules_raise_only_errors_of_ours() -> None:
    """Bytes changed at random in one of two modules; both the merge and the filling-in must hold."""
    chance = random.Random(5)
    good, seeds = exporter(), [bytes(importer()), bytes(exporter("else"))]
    linked = 0
    for _ in range(2500):
        damaged = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = chance.randrange(len(damaged))
            damaged[at] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
            if chance.random() < 0.3:
                # A whole field at its extreme: sizes, offsets, addresses.
                field = at & ~7
                damaged[field : field + 8] = chance.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", bytes(7) + b"\x80"))
        if chance.random() < 0.1:
            del damaged[chance.randrange(len(damaged)) :]
        try:
            result = link_zebins([("good", good), ("damaged", memoryview(bytes(damaged)))])
            locate(memoryview(result.content), 0x10000)
            linked += 1
        except KernlensError:
            continue
    assert linked > 250

"""zebin: kernels, symbols' kinds, notes, options; on files that the tests write."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.model.device import IpVersion
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from tests.writers.elf import FUNC, GLOBAL, LOCAL, NOTYPE, OBJECT, SHT_NOTE, SHT_REL, ElfWriter, note, rel

SPIRV, ZE_INFO, VISA, MISC = 0xFF000009, 0xFF000011, 0xFF000013, 0xFF000014

TEXT = b"""---
version:         '1.73'
kernels:
  - name:            gemm
    execution_env:
      grf_count:       128
      offset_to_skip_per_thread_data_load: 16
      simd_size:       32
...
"""


def word(value: int) -> bytes:
    return struct.pack("<I", value)


def program() -> ElfWriter:
    writer = ElfWriter(machine=205)
    gemm = writer.add(".text.gemm", b"\x11" * 48 + bytes(16), flags=6)
    functions = writer.add(f".text.{PSEUDO_KERNEL}", b"\x22" * 64, flags=6)
    constants = writer.add(".data.const", bytes(8))
    symtab = writer.add_symbols(
        [
            ("gemm", 0, 48, LOCAL, FUNC, gemm),
            ("_entry", 32, 0, LOCAL, NOTYPE, gemm),
            (PSEUDO_KERNEL, 0, 64, LOCAL, FUNC, functions),
            ("helper", 16, 32, GLOBAL, FUNC, functions),
            ("table", 0, 8, GLOBAL, OBJECT, constants),
            ("elsewhere", 0, 0, GLOBAL, NOTYPE, 0),
            ("__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0", 0, 0, GLOBAL, NOTYPE, 0),
        ]
    )
    writer.add(".rel.text.gemm", rel((12, 6, 2)), type=SHT_REL, entry_size=16, link=symtab, info=gemm)
    writer.add(".spv", b"\x03\x02\x23\x07", type=SPIRV)
    writer.add(".misc.buildOptions", b" -g -cl-std=CL2.0\0", type=MISC)
    writer.add(".visaasm.gemm", b".version 3.6\n", type=VISA)
    writer.add(".ze_info", TEXT, type=ZE_INFO)
    writer.add(".debug_line", b"lines")
    # What real files have here is no note: it must not be read as one.
    writer.add(".note.intelgt.metrics", b"\1\2\3", type=SHT_NOTE)
    notes = note(1, word(0x4F6)) + note(2, word(0xC07)) + note(3, word(1 << 21 | 1 << 13 | 4 << 8))
    notes += note(4, b"1.73\0") + note(5, word(3)) + note(6, word(12 << 22 | 55 << 14 | 8)) + note(1, b"x", b"Other\0")
    writer.add(".note.intelgt.compat", notes, type=SHT_NOTE)
    return writer


def test_kernels_end_where_their_symbols_do() -> None:
    zebin = read_zebin(program().build())
    (kernel,) = zebin.kernels
    assert kernel.name == "gemm"
    assert bytes(kernel.code) == b"\x11" * 48
    assert bytes(kernel.heap) == b"\x11" * 48 + bytes(16)
    assert kernel.entry_offset == 32
    assert zebin.functions is not None
    assert zebin.functions.name == PSEUDO_KERNEL


def test_functions_behind_a_kernels_own_code_are_in_its_code_by_name() -> None:
    writer = ElfWriter()
    text = writer.add(".text.gemm", b"\x11" * 120 + bytes(72), flags=6)
    writer.add_symbols(
        [
            ("twice", 64, 24, LOCAL, FUNC, text),
            ("other_name_of_twice", 64, 24, LOCAL, FUNC, text),
            ("gemm", 0, 64, LOCAL, FUNC, text),
            ("_entry", 16, 48, LOCAL, FUNC, text),
            ("gone", 0, 0, LOCAL, FUNC, text),
            ("last", 88, 32, GLOBAL, FUNC, text),
        ]
    )
    (kernel,) = read_zebin(writer.build()).kernels
    assert bytes(kernel.code) == b"\x11" * 120
    assert kernel.functions == {64: "twice", 88: "last"}
    assert kernel.entry_offset == 16


def test_bytes_that_no_symbol_covers_are_code_unless_they_are_zeros() -> None:
    writer = ElfWriter()
    text = writer.add(".text.gemm", b"\x11" * 48 + bytes(5) + b"\x22" + bytes(42), flags=6)
    writer.add_symbols([("gemm", 0, 48, LOCAL, FUNC, text)])
    (kernel,) = read_zebin(writer.build()).kernels
    assert bytes(kernel.code) == b"\x11" * 48 + bytes(5) + b"\x22" + bytes(10)
    assert (kernel.described, kernel.functions) == (48, {})


def test_symbols_of_a_loaded_module_hold_addresses_and_those_of_a_located_file_do_not() -> None:
    writer = ElfWriter(type=2)
    loaded = writer.add(".text.loaded", b"\x11" * 64, address=0x1000)
    located = writer.add(".text.located", b"\x11" * 64, address=0x20)
    writer.add_symbols(
        [
            ("loaded", 0x1000, 32, LOCAL, FUNC, loaded),
            ("_entry", 0x1010, 0, LOCAL, NOTYPE, loaded),
            ("behind", 0x1020, 32, LOCAL, FUNC, loaded),
            ("located", 0, 32, LOCAL, FUNC, located),
            ("_entry", 0x20, 0, LOCAL, NOTYPE, located),
            ("behind", 32, 32, LOCAL, FUNC, located),
        ]
    )
    kernels = read_zebin(writer.build()).kernels
    assert [kernel.entry_offset for kernel in kernels] == [16, 32]
    assert [kernel.functions for kernel in kernels] == [{32: "behind"}, {32: "behind"}]


def test_kinds_of_symbols() -> None:
    kinds = {symbol.name: symbol.kind for symbol in read_zebin(program().build()).symbols}
    assert kinds == {
        "": "local",
        "gemm": "kernel",
        "_entry": "local",
        PSEUDO_KERNEL: "local",
        "helper": "export",
        "table": "export",
        "elsewhere": "import",
        "__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0": "driver",
    }


def test_the_other_parts() -> None:
    zebin = read_zebin(program().build())
    assert zebin.build_options == "-g -cl-std=CL2.0"
    assert bytes(zebin.spirv) == b"\x03\x02\x23\x07"
    (relocation,) = zebin.relocations
    assert (relocation.section, relocation.symbol, relocation.type_name) == (
        ".text.gemm",
        "elsewhere",
        "R_ZE_SYM_ADDR_32",
    )


def test_notes_name_the_device_and_the_compiler() -> None:
    notes = read_zebin(program().build()).notes
    assert notes.device_id.product_family == 0x4F6
    assert notes.device_id.render_core == 0xC07
    assert notes.device_id.ip == IpVersion(12, 55, 8)
    assert notes.device_id.stepping == 4
    assert (notes.zebin_version, notes.visa_abi_version, notes.generator) == ("1.73", 3, "IGC")


def test_notes_of_an_old_compiler() -> None:
    writer = ElfWriter()
    writer.add(".note.intelgt.compat", note(1, word(0x12)) + note(2, word(0)) + note(3, word(1 << 21)), type=SHT_NOTE)
    device = read_zebin(writer.build()).notes.device_id
    assert (device.product_family, device.render_core, device.ip, device.stepping) == (0x12, None, None, None)


def test_the_prologue_is_what_the_entry_symbol_says() -> None:
    zebin = read_zebin(program().build())
    assert zebin.ze_info is not None
    assert zebin.ze_info.kernels["gemm"].resources.prologue_bytes == 16
    assert zebin.resources(zebin.kernels[0]).prologue_bytes == 32
    assert zebin.resources(zebin.kernels[0]).simd == 32


def test_a_debug_elf() -> None:
    writer = ElfWriter(type=2)
    text = writer.add(".text.gemm", bytes(64), address=0xFFFF8000_00010000)
    writer.add_symbols([("_entry", 0xFFFF8000_00010020, 0, LOCAL, NOTYPE, text)])
    zebin = read_zebin(writer.build())
    (kernel,) = zebin.kernels
    assert kernel.address == 0xFFFF8000_00010000
    assert kernel.entry_offset == 32
    assert zebin.ze_info is None
    assert zebin.build_options is None
    assert zebin.resources(kernel).prologue_bytes == 32


def test_nothing_in_it() -> None:
    zebin = read_zebin(ElfWriter().build())
    assert zebin.kernels == ()
    assert zebin.functions is None
    assert zebin.symbols == ()
    assert len(zebin.spirv) == 0


def test_a_symbol_longer_than_its_section() -> None:
    writer = ElfWriter()
    text = writer.add(".text.gemm", bytes(64))
    writer.add_symbols([("gemm", 0, 65, LOCAL, FUNC, text)])
    with pytest.raises(FormatError, match=r"section \.text\.gemm, offset 0x40: its function symbol claims 65 bytes"):
        assert read_zebin(writer.build()).kernels


@pytest.mark.parametrize(("value", "size"), [(48, 32), (1 << 63, 16), (64, 8)])
def test_a_function_outside_its_section(value: int, size: int) -> None:
    writer = ElfWriter()
    text = writer.add(".text.gemm", bytes(64))
    writer.add_symbols([("gemm", 0, 48, LOCAL, FUNC, text), ("twice", value, size, LOCAL, FUNC, text)])
    with pytest.raises(FormatError, match=r"the symbol of its function twice ends at 0x\w+, but the section has 64"):
        assert read_zebin(writer.build()).kernels


def test_another_machine() -> None:
    with pytest.raises(FormatError, match="machine 62"):
        read_zebin(ElfWriter(machine=62).build())


@pytest.mark.parametrize("notes", [b"\1\2\3", note(1, word(1))[:-1], struct.pack("<III", 1 << 31, 4, 1) + bytes(8)])
def test_cut_off_notes(notes: bytes) -> None:
    writer = ElfWriter()
    writer.add(".note.intelgt.compat", notes, type=SHT_NOTE)
    with pytest.raises(FormatError, match=r"\.note\.intelgt\.compat"):
        assert read_zebin(writer.build()).notes

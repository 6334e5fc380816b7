"""Programs of AMD's code objects, wherever they lie, and what is said of those that cannot be read."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.isa.llvm.llvm_libraries import installed_llvm
from kernlens.loading.open import load, open_file
from kernlens.toolchain import amd_clang
from tests.unit.conftest import Kernlens
from tests.writers.code_objects import END, GFX90A, NOP, bundle, code_object, kernel, metadata, packed_bundle
from tests.writers.elf import ElfWriter

KERNELS = {"add": NOP + END, "mul": END}
STATED = metadata([kernel("add", vgpr_count=12, sgpr_count=20, vgpr_spill_count=3, wavefront_size=64), kernel("mul")])
OBJECT = code_object(KERNELS, STATED, flags=GFX90A)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_program(tmp_path: Path) -> None:
    (program,) = load(written(tmp_path / "k.hsaco", OBJECT))
    assert (program.name, program.format, str(program.device)) == ("k", "amd-code-object", "gfx90a")
    add = program.kernels["add"]
    assert add.resources.register_files == {"VGPR": 12, "SGPR": 20}
    assert add.resources.spilled_registers == {"VGPR": 3}
    assert add.resources.stated == {"wave_size": 64}
    assert add.line_table is None
    assert "without debug data" in (add.line_table_reason or "")
    assert program.kernels["mul"].resources.register_files == {}
    assert [symbol.kind for symbol in program.symbols] == ["kernel", "export"] * 2


def test_triton_s_stages_beside_it(tmp_path: Path) -> None:
    written(tmp_path / "add.hsaco", OBJECT)
    assert not load(tmp_path / "add.hsaco")[0].build.snapshots
    for ending in (".source", ".ttir", ".ttgir", ".llir"):
        written(tmp_path / f"add{ending}", b"module {}\n")
    assembly = (
        '\t.file\t1 "/k" "t.py"\n\t.type\tadd,@function\nadd:\n\t.loc\t1 5 0\n\ts_nop 0\n\t.loc\t1 6 0\n\ts_endpgm\n'
    )
    written(tmp_path / "add.amdgcn", assembly.encode())
    written(tmp_path / "add.json", b'{"triton_version": "3.4.0", "target": {"backend": "hip", "arch": "gfx90a"}}')
    (program,) = load(tmp_path / "add.hsaco")
    assert (program.build.toolchain_title, program.build.device) == ("Triton 3.4.0", "gfx90a")
    stages = [each.stage for each in program.build.snapshots]
    assert stages == ["ttir-source", "ttir", "ttgir", "llir", "amdgcn"]
    (assembled,) = (each for each in program.stage_maps if each.stage == "amdgcn")
    assert {line for _, line in assembled.lines} == {5, 6}


def test_a_program_in_a_bundle_in_an_application(tmp_path: Path) -> None:
    images = {
        "host-x86_64-unknown-linux-gnu--": b"x",
        "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": OBJECT,
        "hipv4-amdgcn-amd-amdhsa--gfx1030": b"\x7fELF" + bytes(10),
    }
    host = ElfWriter(machine=62, type=3)
    host.add(".hip_fatbin", bundle(images), flags=2)
    contents = open_file(written(tmp_path / "application", bytes(host.build())))
    assert [program.name for program in contents.programs] == ["gfx90a:xnack-"]
    (bundled,) = contents.containers[0].children
    assert [(each.kind, each.name, each.unreadable is None) for each in bundled.children] == [
        ("amd-code-object", "gfx90a:xnack-", True),
        ("unknown", "gfx1030", False),
    ]
    whole = bytes(host.build())
    assert whole[bundled.children[0].offset :].startswith(OBJECT)


def test_offsets_in_a_compressed_bundle(kernlens: Kernlens, tmp_path: Path) -> None:
    plain = bundle({"hipv4-amdgcn-amd-amdhsa--gfx90a": OBJECT})
    words = "compressed: offsets below are those of the unpacked bundle"
    packed = packed_bundle(plain, zlib.compress(plain))
    assert words in kernlens("inspect", written(tmp_path / "packed", packed)).out
    assert words not in kernlens("inspect", written(tmp_path / "plain", plain)).out


def test_a_damaged_bundle_is_listed(tmp_path: Path) -> None:
    host = ElfWriter(machine=62, type=3)
    host.add(".hip_fatbin", b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 8, flags=2)
    (child,) = open_file(written(tmp_path / "application", bytes(host.build()))).containers[0].children
    assert "entries" in (child.unreadable or "")


def test_a_gpu_that_is_not_known(tmp_path: Path) -> None:
    (program,) = load(written(tmp_path / "k.hsaco", code_object(KERNELS, STATED, flags=0xFE)))
    assert program.device is None
    with pytest.raises(UnsupportedError, match=r"does not know the AMD GPU of this binary \(number 0xfe"):
        _ = program.kernels["add"].instructions


def test_what_commands_say(kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "k.hsaco", OBJECT)
    listed = kernlens("inspect", path).out
    assert "AMD code object k" in listed
    assert "k on gfx90a, amd-code-object" in listed
    assert "VGPR spills" in listed
    assert "add.kd" in kernlens("symbols", path).out
    assert "which ld.lld links" in kernlens("link", path).err
    graphics = kernlens("inspect", written(tmp_path / "g.elf", code_object(KERNELS, None, osabi=65)))
    assert graphics.status == 2
    assert "AMD's graphics drivers" in graphics.err
    monkeypatch.setattr(amd_clang, "find_toolchains", tuple)
    nowhere = kernlens("compile", written(tmp_path / "k.cl", b"kernel void k() {}"), "--device", "gfx1030")
    assert nowhere.status == 2
    assert "kernlens toolchain add amd-newest" in nowhere.err


@pytest.mark.skipif(not installed_llvm(), reason="no libLLVM on this machine")
def test_raw_instructions(kernlens: Kernlens, tmp_path: Path) -> None:
    path = written(tmp_path / "raw.bin", bytes.fromhex("020084bf000080bf000081bf"))
    listed = kernlens("disasm", path, "--device", "gfx1030").out
    assert [line.split("  ")[-1] for line in listed.splitlines() if "0x00" in line] == [
        "s_cbranch_scc0 2",
        "s_nop 0",
        "s_endpgm",
    ]

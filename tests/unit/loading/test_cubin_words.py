"""What a cubin says of itself and of its functions, and what listings say of its branches."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.formats.cubin.tool_note import ToolNote, read_tool_note
from kernlens.isa.devices import device
from kernlens.isa.nvidia.sass_listing import SassListing
from kernlens.loading import load
from kernlens.report.describe import kernel_heading
from tests.nvidia_files import inlined, triton_softmax
from tests.unit.conftest import Kernlens


def test_the_tool_and_its_options(tmp_path: Path, kernlens: Kernlens) -> None:
    path = tmp_path / "softmax.cubin"
    path.write_bytes(triton_softmax("100.cubin"))
    done = kernlens("inspect", path)
    assert "softmax on sm_100, cubin, ptxas-blackwell 13.4.59" in done.out
    assert "options: -v -lineinfo -arch sm_100a" in done.out
    (tmp_path / "inlined.cubin").write_bytes(inlined(".cubin"))
    (program,) = load(tmp_path / "inlined.cubin")
    assert (program.build.toolchain_title, program.build.options) == ("ptxas 13.5.37", "-lineinfo -arch sm_90")


@pytest.mark.parametrize(
    ("note", "comment", "read"),
    [
        (b"", b"", ToolNote()),
        (b"", b"\0nvcc 7\0nvcc 7\0", ToolNote(version="nvcc 7 nvcc 7")),
        (b"\xff" * 60, b"", ToolNote()),
        (b"\x0c\0\0\0\xff\0\0\0\xd0\x07\0\0NVIDIA Corp\0\2\0\0\0" + b"\xff" * 20 + b"ptxas\0", b"", ToolNote()),
    ],
)
def test_notes_that_say_nothing(note: bytes, comment: bytes, read: ToolNote) -> None:
    assert read_tool_note(note, comment) == read


def test_kernels_first_and_sections_if_asked(tmp_path: Path, kernlens: Kernlens) -> None:
    path = tmp_path / "softmax.cubin"
    path.write_bytes(triton_softmax("100.cubin"))
    for words in (["inspect", path], ["inspect", tmp_path]):
        plain = kernlens(*words).out
        assert plain.index("code size") < plain.index("  cubin softmax ")
        assert "section " not in plain.replace("size  section", "")
        assert "section .nv.merc.debug_line" in kernlens(*words, "--sections").out


def test_architectures_that_are_in_no_table(tmp_path: Path, kernlens: Kernlens) -> None:
    assert device("sm_60").name == "sm_60"
    content = bytearray(inlined(".cubin"))
    flags = int.from_bytes(content[48:52], "little")
    content[48:52] = (flags & ~0xFF00 | 60 << 8).to_bytes(4, "little")
    path = tmp_path / "old.cubin"
    path.write_bytes(content)
    assert "old on sm_60" in kernlens("inspect", path, "--device", "sm_60").out
    done = kernlens("inspect", path, "--device", "sm_61")
    assert done.status == 2
    assert "sm_60" in done.err, "it says what there is"
    assert "there is no device" not in done.err


def test_a_function_is_no_kernel(tmp_path: Path, kernlens: Kernlens) -> None:
    """``STO_CUDA_ENTRY`` is taken from one of two kernels: what is left is as ``__cuda_sm20_div_u64`` is."""
    content = bytearray(inlined(".cubin"))
    path = tmp_path / "k.cubin"
    path.write_bytes(content)
    (program,) = load(path)
    assert set(program.entry_kernels) == {"k", "k2"}
    index = next(each.index for each in program.symbols if each.name == "k2" and each.type == "func")
    symtab = next(each for each in load_sections(content) if each[0] == ".symtab")
    content[symtab[1] + 24 * index + 5] &= ~0x10
    path.write_bytes(content)
    (program,) = load(path)
    assert set(program.entry_kernels) == {"k"}
    assert set(program.kernels.keys()) == {"k", "k2"}
    assert "function k2, no kernel: " in kernlens("inspect", path).out
    assert "k2" not in kernlens("check", path, "--max-thread-registers=255").out


def load_sections(content: bytes | bytearray) -> list[tuple[str, int]]:
    from kernlens.formats.elf.elf_file import read_elf

    return [(each.name, each.offset) for each in read_elf(memoryview(bytes(content))).sections]


def test_branches_of_sass_name_offsets() -> None:
    lines = ['\t.section\t.text.k,"ax",@progbits', ".text.k:"]
    for row, (label, text) in enumerate(
        [("", "BRA `(.L_x_1) ;"), (".L_x_0:", "NOP ;"), (".L_x_1:", "@P0 BRA `(.L_x_0) ;"), ("", "BRA `(.L_x_7) ;")]
    ):
        lines += [label] if label else []
        lines += [f"        /*{16 * row:04x}*/ {text} /* 0x{0:016x} */", f"  /* 0x{0:016x} */"]
    instructions = SassListing("\n".join(lines), "nvdisasm").instructions("k", bytes(64))
    assert list(instructions.texts) == ["BRA `(L32) ;", "NOP ;", "@P0 BRA `(L16) ;", "BRA `(.L_x_7) ;"]
    assert instructions.branches == {0: (32,), 2: (16,)}


def test_a_branch_to_several_places_names_all_offsets() -> None:
    """The names are numbered through what the disassembler prints, and how far its notes are indented depends on that too."""
    lines = ['\t.section\t.text.k,"ax",@progbits', ".text.k:"]
    branch = 'BRX R2 -0x160        (*"BRANCH_TARGETS .L_x_19,.L_x_16,.L_x_99"*);'
    for row, (label, text) in enumerate([("", branch), (".L_x_19:", "NOP ;"), (".L_x_16:", "EXIT ;")]):
        lines += [label] if label else []
        lines += [f"        /*{16 * row:04x}*/ {text} /* 0x{0:016x} */", f"  /* 0x{0:016x} */"]
    instructions = SassListing("\n".join(lines), "nvdisasm").instructions("k", bytes(48))
    assert instructions[0].text == 'BRX R2 -0x160 (*"BRANCH_TARGETS L16,L32,.L_x_99"*);'


def test_headings_call_a_function_one(tmp_path: Path) -> None:
    content = bytearray(inlined(".cubin"))
    path = tmp_path / "k.cubin"
    path.write_bytes(content)
    (program,) = load(path)
    assert kernel_heading(program, program.kernels["k2"]) == "k2  k on sm_90"
    index = next(each.index for each in program.symbols if each.name == "k2" and each.type == "func")
    symtab = next(each for each in load_sections(content) if each[0] == ".symtab")
    content[symtab[1] + 24 * index + 5] &= ~0x10
    path.write_bytes(content)
    (program,) = load(path)
    assert kernel_heading(program, program.kernels["k2"]) == "k2  function, no kernel  k on sm_90"
    assert kernel_heading(program, program.kernels["k"]) == "k  k on sm_90"

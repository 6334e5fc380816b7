"""NVIDIA's files as inputs: what each holds, its stages and lines, and what is said where something is missing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.formats.compute_cache import read_cache_entry
from kernlens.formats.cubin.cubin_file import read_cubin
from kernlens.loading import cuda_programs, load, open_build, open_file
from kernlens.loading.identify import identify
from kernlens.model.build import Build, HeldParts
from kernlens.model.stage import BINARY
from kernlens.model.stages import NVIDIA, held
from kernlens.toolchain import nvdisasm
from kernlens.toolchain.cached_code import CachedCode
from tests.nvidia_files import (
    DRIVER_ENTRY,
    LINES_ENTRY,
    OPENCL,
    PLAIN_ENTRY,
    SOURCE_ENTRY,
    TRITON,
    entry,
    inlined,
    opencl,
    triton,
    triton_softmax,
    unpack,
)
from tests.unit.conftest import Kernlens
from tests.unit.formats.test_cuda_containers import fat_entry, fatbin


@pytest.fixture
def fake_nvdisasm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Stand in for the disassembler: it prints what it is given, whatever it is called with."""

    def stand_in(text: str, status: int = 0) -> None:
        listing, program = tmp_path / "listing.txt", tmp_path / "nvdisasm"
        listing.write_text(text)
        program.write_text(
            '#!/bin/sh\nif [ "$1" = --version ]; then echo "release 13.5, V13.5.37"; exit 0; fi\n'
            f"cat {listing}\nexit {status}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("KERNLENS_NVDISASM", str(program))

    return stand_in


def listing_of(name: str, code: bytes, text: str = "NOP ;") -> str:
    """Return what the program would print of code whose instructions are all the same text."""
    lines = [f'\t.section\t.text.{name},"ax",@progbits', f"{name}:"]
    for offset in range(0, len(code), 16):
        low, high = (int.from_bytes(code[at : at + 8], "little") for at in (offset, offset + 8))
        lines += [
            f"        /*{offset:04x}*/                   {text}   /* 0x{low:016x} */",
            f"     /* 0x{high:016x} */",
        ]
    return "\n".join(lines)


def test_files_of_cuda_have_their_kinds() -> None:
    for content, kind in (
        (bytes(entry(PLAIN_ENTRY).result), "cubin"), (opencl("program.ptx"), "ptx"), (opencl(PLAIN_ENTRY), "compute-cache"),
        (opencl(SOURCE_ENTRY), "compute-cache"), (fatbin(fat_entry(b"")), "fatbin"),
    ):  # fmt: skip
        assert identify(memoryview(content)) == kind
    assert identify(memoryview(opencl(PLAIN_ENTRY)[:-1])) is None


def test_a_compute_cache(tmp_path: Path) -> None:
    folder = unpack(OPENCL, tmp_path) / "ComputeCache"
    programs = {os.path.basename(path): load(folder / path) for path in ("3/5/2beb3bd4af7935", "8/4/94d405b637614c")}
    for (program,) in programs.values():
        assert (program.format, str(program.device)) == ("cubin", "sm_90")
        assert list(program.kernels.keys()) == ["mandel", "matmul", "saxpy"]
        assert [each.stage for each in program.build.snapshots] == ["ptx"]
        assert program.kernels["matmul"].resources.register_files == {"registers": 30}
        assert program.kernels["matmul"].resources.stated["shared_bytes"] == 3076
    (plain,), (with_lines,) = programs.values()
    assert "-nv-line-info" in (plain.kernels["saxpy"].line_table_reason or "")
    assert with_lines.kernels["saxpy"].line_table is not None
    # Lines change nothing else: the facts measured on the machine say so too.
    assert [bytes(k.code) for k in plain.kernels.values()] == [bytes(k.code) for k in with_lines.kernels.values()]
    assert len(load(folder)) == 5


def test_ptx_is_a_stage(tmp_path: Path) -> None:
    path = tmp_path / "program.ptx"
    path.write_bytes(opencl("program_with_nv_line_info.ptx"))
    contents = open_file(path)
    (program,) = contents.programs
    assert (program.format, str(program.device)) == ("ptx", "sm_90")
    assert [symbol.name for symbol in program.symbols] == ["saxpy", "matmul", "mandel"]
    (stage_map,) = program.stage_maps
    assert (stage_map.stage, len(stage_map)) == ("ptx", 183)
    assert {place.line for place in stage_map.places if place} == {2, 3, 4, 5, 6, 7}
    with pytest.raises(UnsupportedError, match="is PTX, which a driver compiles"):
        contents.machine_code()


def test_triton_s_cache(tmp_path: Path) -> None:
    folder = unpack(TRITON, tmp_path)
    (program,) = load(folder)
    assert (program.name, program.format, str(program.device)) == ("matmul", "cubin", "sm_90")
    assert program.build.toolchain_title == "Triton 3.6.0"
    assert [each.stage for each in program.build.snapshots] == ["ttir-source", "ttir", "ttgir", "llir", "ptx"]
    lines = {stage_map.stage: {line for _, line in stage_map.lines} for stage_map in program.stage_maps}
    assert set(lines) >= {"ttir-source", "ttir", "ttgir", "llir", "ptx"}
    for stage, own in lines.items():
        assert own & {5, 6, 9, 10, 12} == {5, 6, 9, 10, 12}, stage
    texts = {text.of.stage: text for text in program.find_stage_texts().of_kernel("matmul")}
    assert set(texts) == {"ttir-source", "ttir", "ttgir", "llir", "ptx"}
    assert not any(text.missing for text in texts.values())


def test_lines_of_ttgir_are_those_of_mlir() -> None:
    text = triton(".ttgir").decode()
    named = re.findall(r'^(#loc\d*) = loc\("/tmp/mm.py":(\d+):(\d+)\)$', text, re.MULTILINE)
    assert len(named) > 20


def test_a_recorded_program_with_its_cached_code(tmp_path: Path) -> None:
    ptx = opencl("program.ptx")
    cached = CachedCode({"CUDA_CACHE_PATH": str(unpack(OPENCL, tmp_path) / "ComputeCache")})
    code = cached.code_of(ptx)
    assert code == bytes(entry(PLAIN_ENTRY).result)
    build = Build("p", device="NVIDIA H200", parts=HeldParts(binary=ptx))
    (without,) = open_build(build)
    assert (without.format, list(without.kernels)) == ("ptx", [])
    sass = held(NVIDIA.stage("sass"), code, BINARY)
    (program,) = open_build(build.with_parts(snapshots=(sass,)))
    assert (program.format, list(program.kernels.keys())) == ("cubin", ["mandel", "matmul", "saxpy"])
    assert sorted(each.stage for each in program.build.snapshots) == ["ptx", "sass"]


def test_code_is_only_taken_where_the_ptx_is_equal(tmp_path: Path) -> None:
    folder = unpack(OPENCL, tmp_path) / "ComputeCache"
    ptx = opencl("program.ptx")
    cached = CachedCode({"HOME": "/nonexistent", "CUDA_CACHE_PATH": str(folder)})
    assert cached.code_of(ptx.replace(b"mul.wide.s32", b"mul.wide.u32", 1)) is None
    assert CachedCode({"CUDA_CACHE_PATH": str(folder), "CUDA_CACHE_DISABLE": "1"}).code_of(ptx) is None
    assert CachedCode({"HOME": str(tmp_path)}).code_of(ptx) is None
    assert CachedCode({}).code_of(ptx) is None
    # The same key twice: equal code is the code, other code tells nothing.
    content = opencl(PLAIN_ENTRY)
    (folder / "3/6").mkdir()
    (folder / "3/6/same").write_bytes(content)
    assert CachedCode({"CUDA_CACHE_PATH": str(folder)}).code_of(ptx) == bytes(
        read_cache_entry(memoryview(content)).result
    )
    (folder / "3/6/other").write_bytes(content[:-1] + b"\1")
    assert CachedCode({"CUDA_CACHE_PATH": str(folder)}).code_of(ptx) is None


def test_an_entry_that_comes_later_is_found(tmp_path: Path) -> None:
    cached = CachedCode({"CUDA_CACHE_PATH": str(tmp_path)})
    assert cached.code_of(opencl("program.ptx")) is None
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/entry").write_bytes(opencl(PLAIN_ENTRY))
    assert cached.code_of(opencl("program.ptx")) == bytes(entry(PLAIN_ENTRY).result)


def test_fat_binaries_in_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "kernels.fatbin"
    path.write_bytes(
        fatbin(fat_entry(triton(".cubin")), fat_entry(inlined(".ptx"), kind=1), fat_entry(b"junk", number=52))
    )
    contents = open_file(path)
    assert [program.format for program in contents.programs] == ["cubin", "ptx"]
    (container,) = contents.containers
    assert [child.kind for child in container.children] == ["cubin", "ptx", "unknown"]


def test_instructions_are_those_of_the_listing(tmp_path: Path, fake_nvdisasm: Callable[[str], None]) -> None:
    path = tmp_path / "matmul.cubin"
    path.write_bytes(triton(".cubin"))
    code = bytes(load(path)[0].kernels["matmul"].code)
    fake_nvdisasm(listing_of("matmul", code, "@!P0 IMAD.SHL.U32 R2, R12.reuse, 0x10, RZ ;"))
    instructions = load(path)[0].kernels["matmul"].instructions
    assert len(instructions) == len(code) // 16
    assert instructions[3].opcode == "IMAD"
    assert instructions[3].text == "@!P0 IMAD.SHL.U32 R2, R12.reuse, 0x10, RZ ;"
    assert instructions[3].kind.name == "integer"
    assert instructions.disassembler == "nvdisasm 13.5.37"


@pytest.mark.parametrize("change", ["byte", "gap", "order", "empty", "status"])
def test_a_listing_that_is_not_of_this_code(tmp_path: Path, fake_nvdisasm: Callable[..., None], change: str) -> None:
    path = tmp_path / "matmul.cubin"
    path.write_bytes(triton(".cubin"))
    code = bytes(load(path)[0].kernels["matmul"].code)
    text = listing_of("matmul", code[:-1] + b"\1" if change == "byte" else code)
    if change == "gap":
        text = text.replace("/*0040*/", "/*0041*/")
    elif change == "order":
        text = text.replace("/*0040*/", "/*0050*/", 1)
    elif change == "empty":
        text = ""
    fake_nvdisasm(text, 1 if change == "status" else 0)
    with pytest.raises(UnsupportedError, match=r"byte for byte|does not disassemble"):
        _ = load(path)[0].kernels["matmul"].instructions


def test_a_cubin_whose_sections_share_bytes(tmp_path: Path) -> None:
    """ptxas 13 writes for sm_100 ``.nv.merc.nv_debug_ptx_txt`` over the bytes of ``.nv_debug_ptx_txt``."""
    path = tmp_path / "softmax.cubin"
    path.write_bytes(triton_softmax("100.cubin"))
    (program,) = load(path)
    kernel = program.kernels["softmax_kernel"]
    assert (str(program.device), kernel.code_size, kernel.line_table_reason) == ("sm_100", 0xB80, None)
    assert kernel.line_table is not None
    assert {row.line for row in kernel.line_table.rows} > {16, 17, 18, 19}
    assert b".target sm_100a" in next(each.content for each in program.build.snapshots if each.stage == "ptx")


def test_without_a_disassembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_NVDISASM", str(tmp_path / "none"))
    path = tmp_path / "matmul.cubin"
    path.write_bytes(triton(".cubin"))
    (program,) = load(path)
    assert program.kernels["matmul"].code_size == 4352
    with pytest.raises(UnsupportedError, match="decoded by nvdisasm, which is not here"):
        _ = program.kernels["matmul"].instructions


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\0asm\1\0\0\0" + bytes(40), "is a WebAssembly module"),
        (b"MTLB" + bytes(40), "is a Metal library"),
        (b"DXBC" + bytes(40), "is a DirectX shader"),
        (b"BC\xc0\xde" + bytes(40), "is LLVM bitcode, which is not compiled for a GPU yet"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(KernlensError, match=sentence):
        open_file(path).machine_code()


def test_the_driver_s_kernels_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    path.write_bytes(opencl(DRIVER_ENTRY))
    (program,) = load(path)
    assert len(program.kernels) == 16
    content = bytearray(opencl(LINES_ENTRY))
    at = entry(LINES_ENTRY).result_offset
    content[at + 40 : at + 48] = b"\xff" * 8  # Where the section headers are.
    path.write_bytes(content)
    with pytest.raises(FormatError):
        load(path)


def test_stages_of_a_fat_binary_name_the_architecture(tmp_path: Path, kernlens: Kernlens) -> None:
    cubin, ptx = triton(".cubin"), triton(".ptx")
    path = tmp_path / "two.fatbin"
    path.write_bytes(fatbin(fat_entry(cubin), fat_entry(ptx, kind=1, number=80), fat_entry(ptx, kind=1)))
    done = kernlens("stages", path)
    programs = [(each.device.name, bool(each.build.snapshots)) for each in load(path) if each.device]
    heads = [line for line in done.out.splitlines() if line and not line.startswith(" ") and " for sm_" in line]
    assert len(heads) == sum(has_stages for _, has_stages in programs) > 0
    for name in {name for name, has_stages in programs if has_stages}:
        assert any(f" for {name}" in head for head in heads)


def test_one_kernel_of_a_large_cubin_is_listed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cubin of 14 MB takes the disassembler 15 s, one kernel of it 0.4 s. Kernels that are asked for one after the other are
    listed in few processes, and none twice."""
    monkeypatch.setattr(cuda_programs, "_LEAST_LISTED", 0)
    asked: list[int] = []

    def listed(content: bytes, symbols: Sequence[int] = ()) -> tuple[str, str]:
        cubin = read_cubin(memoryview(content))
        kernels = [each for each in cubin.kernels if not symbols or each.symbol in symbols]
        asked.append(len(kernels))
        return "\n".join(listing_of(each.name, bytes(each.code)) for each in kernels), "nvdisasm 13"

    monkeypatch.setattr(nvdisasm, "disassemble_cubin", listed)
    path = tmp_path / "entry"
    path.write_bytes(opencl(DRIVER_ENTRY))
    kernels = list(load(path)[0].kernels.values())
    for kernel in kernels:
        assert len(kernel.instructions) == kernel.code_size // 16
    assert asked[0] == 1
    assert sum(asked) == len(kernels) == 16
    assert len(asked) < 9


def test_a_kernel_that_cannot_be_listed_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "entry"
    path.write_bytes(opencl(DRIVER_ENTRY))
    kernels = load(path)[0].kernels
    spoilt = list(kernels)[3].name

    def listed(content: bytes, symbols: Sequence[int] = ()) -> tuple[str, str]:
        of_file = read_cubin(memoryview(content)).kernels
        chosen = [each for each in of_file if not symbols or each.symbol in symbols]
        if spoilt in {each.name for each in chosen}:
            raise UnsupportedError("nvdisasm does not disassemble this code")
        return "\n".join(listing_of(each.name, bytes(each.code)) for each in chosen), "nvdisasm 13"

    monkeypatch.setattr(nvdisasm, "disassemble_cubin", listed)
    for name, kernel in kernels.items():
        if name == spoilt:
            with pytest.raises(UnsupportedError, match="does not disassemble"):
                _ = kernel.instructions
        else:
            assert len(kernel.instructions) == kernel.code_size // 16

"""Patch-token programs as ocloc writes them, against readelf, the compiler's dumps, and zebins of the same source."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.neo_elf import read_neo_elf
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.formats.patch_tokens.program_binary import PatchTokenKernel, PatchTokenProgram, read_patch_tokens
from tests.corpus.build import Built

DEVICES = ("skl", "icllp", "dg2", "pvc")

#: Spilled registers alone, spilled registers and private memory, local memory with a barrier, and a plain kernel.
RESOURCES = """\
kernel void plain(global float *a, int n) { a[get_global_id(0)] *= n; }

kernel void spills(global float *a, int n)
{
    float t[180];
    #pragma unroll
    for (int i = 0; i < 180; i++) t[i] = a[i * n + get_global_id(0)];
    for (int k = 0; k < n; k++) {
        #pragma unroll
        for (int i = 0; i < 180; i++) t[i] = t[i] * t[(i + 17) % 180] + a[k];
    }
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 180; i++) sum += t[i];
    a[get_global_id(0)] = sum;
}

kernel void private_memory(global float *a, int n)
{
    float p[100];
    for (int i = 0; i < 100; i++) p[i] = a[i * n];
    for (int i = 0; i < n; i++) p[(i * 7) % 100] += p[(i * 13) % 100];
    a[get_global_id(0)] = p[n % 100];
}

__attribute__((reqd_work_group_size(16, 4, 1))) __attribute__((intel_reqd_sub_group_size(16)))
kernel void local_memory(global float *a, local float *sizes, read_only image2d_t image, sampler_t way,
                         constant float *c)
{
    local float tile[64];
    int l = get_local_id(0) + 16 * get_local_id(1);
    tile[l] = a[l] + c[0] + read_imagef(image, way, (float2)(0.5f, 0.25f)).x;
    sizes[l] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = tile[63 - l] + sizes[l];
}
"""

SYMBOLS = """\
global int counter = 5;
int imported(int x);
int exported(int x) { return x * 3 + counter; }
__attribute__((noinline)) int local_function(int x) { return x * counter; }
kernel void uses(global int *a) { a[get_global_id(0)] = imported(a[0]) + exported(a[1]) + local_function(a[2]); }
"""


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """What a tool prints; its failure is the test's."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Compiled:
    """One source as a patch-token program, as a zebin, and the compiler's dumps of the former."""

    device: str
    program: PatchTokenProgram
    zebin: Path
    dump: Path

    def assembly(self, kernel: PatchTokenKernel) -> str:
        """The compiler's ``.asm`` dump of the very code that is in the program: it tries several widths per kernel."""
        code = bytes(kernel.code)
        paths = [path for path in self.dump.glob("*.dat") if path.read_bytes() == code]
        assert paths, f"the compiler dumped no code like that of {kernel.name}"
        return paths[0].with_suffix(".asm").read_text()


def read_program(path: Path) -> PatchTokenProgram:
    part = read_neo_elf(memoryview(path.read_bytes())).device_binary
    assert part is not None
    program = read_patch_tokens(part.data)
    assert program.size == len(part.data)
    return program


@pytest.fixture(scope="session", params=DEVICES)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    folder = tmp_path_factory.mktemp(request.param)
    dump = folder / "dump"
    (folder / "k.cl").write_text(RESOURCES)
    compile = ("ocloc", "compile", "-file", "k.cl", "-device", request.param, "-output_no_suffix", "-output")
    run(*compile, "program", folder=folder, IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=str(dump))
    run(*compile, "zebin", "--format", "zebin", folder=folder)
    return Compiled(request.param, read_program(folder / "program"), folder / "zebin", dump)


def test_sections_of_neo_elf_equal_readelf(corpus_sample: list[Built]) -> None:
    checked = 0
    for built in corpus_sample:
        parts = read_neo_elf(memoryview(built.binary.read_bytes())).parts
        listing = run("readelf", "--sections", "--wide", built.binary, folder=built.folder)
        # readelf names types from SHT_LOUSER (0x80000000) on by their distance to it.
        rows = re.findall(r"LOUSER\+0x([0-9a-f]+) +[0-9a-f]{16} ([0-9a-f]+) ([0-9a-f]+) ", listing)
        expected = [(0x80000000 + int(type, 16), int(offset, 16), int(size, 16)) for type, offset, size in rows]
        assert [(part.type, part.offset, len(part.data)) for part in parts] == expected, built.name
        checked += len(parts)
    assert checked == 4 * len(corpus_sample)


def test_parts_equal_the_files_beside_them(corpus_sample: list[Built]) -> None:
    for built in corpus_sample:
        read = read_neo_elf(memoryview(built.binary.read_bytes()))
        assert read.spirv is not None
        assert read.device_debug is not None
        assert read.spirv.data == built.spirv.read_bytes()
        assert read.device_debug.data == built.debug.read_bytes()
        assert "-gline-tables-only" in (read.build_options or "")


def test_code_equals_the_text_of_the_kernel_debug_elf(corpus_sample: list[Built]) -> None:
    kernels = 0
    for built in corpus_sample:
        program = read_program(built.binary)
        data = memoryview(built.debug.read_bytes())
        debug = read_debug_data(data)
        assert debug.size == len(data)
        assert [kernel.name for kernel in debug.kernels] == [kernel.name for kernel in program.kernels]
        for kernel, its_debug in zip(program.kernels, debug.kernels, strict=True):
            text = read_elf(its_debug.elf).section(".text")
            assert text is not None
            assert text.data == kernel.code, f"{built.name} {kernel.name}"
            assert bytes(data[its_debug.elf_offset : its_debug.elf_offset + 4]) == b"\x7fELF"
            kernels += 1
    assert kernels >= len(corpus_sample)


def test_tokens_of_real_kernels_fill_the_patch_list_and_state_all_arguments(corpus_sample: list[Built]) -> None:
    for built in corpus_sample:
        for kernel in read_program(built.binary).kernels:
            tokens = kernel.tokens_of(*range(100))
            assert sum(8 + len(token.payload) for token in tokens) == len(kernel.patch_list)
            arguments = kernel.arguments()
            assert [argument.index for argument in arguments] == list(range(len(arguments)))


def test_resources_equal_the_compilers_own_dump(compiled: Compiled) -> None:
    spilling = 0
    for kernel in compiled.program.kernels:
        resources, dump = kernel.resources(), compiled.assembly(kernel)
        assert f"//.kernel {kernel.name}\n" in dump
        registers = re.search(r"numGRF=(\d+)", dump)
        assert registers is not None
        assert resources.grf_count == int(registers[1])
        spill = re.search(r"^//\.spill size (\d+)", dump, re.MULTILINE)
        private = re.search(r"^//\.private memory size (\d+)", dump, re.MULTILINE)
        scratch = sum(int(size[1]) for size in (spill, private) if size)
        assert resources.spill_bytes == (None if scratch else 0), kernel.name
        assert resources.scratch_bytes is not None
        # The compiler rounds up to a power of two, of 1 KB at least.
        assert resources.scratch_bytes == (1 << max(10, (scratch - 1).bit_length()) if scratch else 0), kernel.name
        spilling += spill is not None
    assert spilling >= 1


#: Keys of ze_info's execution_env and what they are called here.
ZE_INFO = {"simd_size": "simd", "grf_count": "grf_count", "slm_size": "slm_bytes", "barrier_count": "barriers"}


def zebin_environments(zebin: Path) -> dict[str, dict[str, int]]:
    """Of each kernel in ze_info the numbers that are asked for here, found by text search (names come again later)."""
    section = read_elf(memoryview(zebin.read_bytes())).section(".ze_info")
    assert section is not None
    environments: dict[str, dict[str, int]] = {}
    for text in bytes(section.data).decode().split("\n  - name:")[1:]:
        numbers = re.findall(rf"^      ({'|'.join(ZE_INFO)}): +(\d+)$", text, re.MULTILINE)
        environments.setdefault(text.split()[0], {ZE_INFO[key]: int(value) for key, value in numbers})
    return environments


def test_resources_equal_those_of_the_zebin(compiled: Compiled) -> None:
    environments = zebin_environments(compiled.zebin)
    for kernel in compiled.program.kernels:
        resources = kernel.resources()
        for name in ZE_INFO.values():
            assert getattr(resources, name) == environments[kernel.name].get(name, 0), f"{kernel.name} {name}"
    tiled = compiled.program.kernels[[kernel.name for kernel in compiled.program.kernels].index("local_memory")]
    assert tiled.resources().required_work_group_size == (16, 4, 1)
    assert tiled.resources().required_sub_group_size == 16
    assert (tiled.resources().slm_bytes, tiled.resources().barriers) == (256, 1)


def test_arguments_equal_the_source(compiled: Compiled) -> None:
    by_name = {kernel.name: kernel.arguments() for kernel in compiled.program.kernels}
    names = [
        (symbol.name, symbol.type_name, symbol.address_space, symbol.access, symbol.type_qualifier)
        for symbol in by_name["local_memory"]
    ]
    assert names == [
        ("a", "float*", "global", None, None),
        ("sizes", "float*", "local", None, None),
        ("image", "image2d_t", "global", "read_only", None),
        ("way", "sampler_t", "private", None, None),
        ("c", "float*", "constant", None, "const"),
    ]
    assert [symbol.size for symbol in by_name["plain"]] == [8, 4]


@pytest.fixture(scope="session")
def linkable(tmp_path_factory: pytest.TempPathFactory) -> tuple[PatchTokenProgram, Path]:
    """A module with exports and imports as a patch-token program and as a zebin."""
    folder = tmp_path_factory.mktemp("linkable")
    (folder / "m.cl").write_text(SYMBOLS)
    triple = ("-triple", "spir64-unknown-unknown", "-O0", "-cl-std=CL2.0", "-finclude-default-header")
    run("clang-15", "-cc1", *triple, "-emit-llvm-bc", "m.cl", "-o", "m.bc", folder=folder)
    run("llvm-spirv-15", "m.bc", "-o", "m.spv", folder=folder)
    compile = ("ocloc", "compile", "-spirv_input", "-file", "m.spv", "-device", "dg2", "-output_no_suffix")
    flags = ("-options", "-ze-library-compilation", "-internal_options", "-cl-take-global-address", "-output")
    run(*compile, *flags, "program", folder=folder)
    run(*compile, "--format", "zebin", *flags, "zebin", folder=folder)
    return read_program(folder / "program"), folder / "zebin"


def test_symbols_equal_those_of_the_zebin(linkable: tuple[PatchTokenProgram, Path]) -> None:
    program, zebin = linkable
    listing = run("readelf", "--syms", "--wide", zebin, folder=zebin.parent)
    rows = re.findall(r": ([0-9a-f]{16}) +(\d+) (\w+) +GLOBAL +DEFAULT +(\w+) (\S+)", listing)
    expected = {(row[4], row[2].lower(), int(row[0], 16), int(row[1]), row[3] == "UND") for row in rows}
    names = {(s.name, s.type, s.value, s.size, s.section is None) for s in program.symbols}
    assert names == expected
    assert {symbol.name: symbol.kind for symbol in program.symbols} == {
        "exported": "export",
        "local_function": "export",
        "counter": "export",
        "imported": "import",
    }


def test_relocations_equal_those_of_the_zebin(linkable: tuple[PatchTokenProgram, Path]) -> None:
    program, zebin = linkable
    listing = run("readelf", "--relocs", "--wide", zebin, folder=zebin.parent)
    expected, section = set(), ""
    for line in listing.splitlines():
        if heading := re.match(r"Relocation section '\.rel\.text\.(\S+)'", line):
            section = heading[1]
        elif row := re.match(r"([0-9a-f]{16})  ([0-9a-f]{16}) .* (\S+)$", line):
            expected.add((section, int(row[1], 16), int(row[2], 16) & 0xFFFFFFFF, row[3]))
    sections = {
        (relocation.section, relocation.offset, relocation.type, relocation.symbol)
        for relocation in program.relocations
    }
    assert len(expected) == 10
    assert sections == expected

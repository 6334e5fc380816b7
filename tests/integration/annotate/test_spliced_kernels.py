"""Kernels into which a library spliced machine code, as oneDNN does it: the splicer here is a second one, of that protocol."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernlens
from kernlens import compile
from kernlens.formats.elf.elf_file import read_elf
from kernlens.model.build import Build, HeldParts
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.recording.writer import RecordingWriter
from kernlens.toolchain.toolchains import NEWEST

MARKED = """\
float ugemm_{name}(float x)
{{
    __asm__ volatile("{{\\n"
        ".decl CLOBBER v_type=G type=ud num_elts=16\\n"
        "mov (M1,16) CLOBBER(0,0)<1> 0x1:ud\\n"
        "fence_sw\\n"
        "add (M1,1) CLOBBER(0,0)<1> CLOBBER(0,0)<0;1,0> {start:#x}:ud\\n"
        "fence_sw\\n"
        "mov (M1,16) CLOBBER(0,0)<1> 0xAAAAAAAA:ud\\n"
        "fence_sw\\n"
        "add (M1,1) CLOBBER(0,0)<1> CLOBBER(0,0)<0;1,0> {end:#x}:ud\\n"
        "fence_sw\\n"
        "mul (M1,16) %0(0,0)<1> %0(0,0)<1;1,0> %0(0,0)<1;1,0>\\n"
        "}}" : "+rw"(x));
    return x;
}}
"""
KERNEL = """\
__attribute__((intel_reqd_sub_group_size(16)))
kernel void attention(global float *a, global float *b, int n)
{
    int i = get_global_id(0);
    float x = a[i] + 3;
    for (int j = 0; j < n; j++) {
        if (b[j + i] > 0.5f)
            x = ugemm_kq(x) + native_cos(x);
        else
            x = native_log(x) * 3;
        x = x - b[i * j];
    }
    x = ugemm_vs(native_sin(x));
    for (int j = 0; j < n; j++)
        x += native_exp2(x) * b[j];
    a[i] = native_sqrt(x);
}
"""
SOURCE = "".join(
    MARKED.format(name=name, start=0xCAFEFADE ^ number, end=0xFADECAFE ^ number)
    for number, name in enumerate(("kq", "vs"))
)
SOURCE += KERNEL
FOREIGN = "kernel void foreign(global float *a, int n) { for (int i = 0; i < n; i++) a[i] = native_sin(a[i] / 3); }"
#: The instructions that only the kernel has: their texts, and their lines from the end of the source.
MATHEMATICS = {"math.cos": "native_cos", "math.sqt": "native_sqrt", "math.exp": "native_exp2"}


def spliced(binary: bytes, kernel: Kernel, foreign: bytes, number: int) -> bytes:
    """Put ``foreign`` in the place of micro kernel ``number``, as oneDNN does: sections and branches follow, all else stays."""
    text = next(section for section in read_elf(memoryview(binary)).sections if section.name == f".text.{kernel.name}")
    instructions, code = kernel.instructions, bytearray(binary[text.offset : text.offset + text.size])
    places = {
        struct.unpack_from("<I", code, offset + 12)[0]: offset
        for offset, size in zip(instructions.offsets, instructions.sizes, strict=True)
        if size == 16
    }
    start, end = places[0xCAFEFADE ^ number], places[0xFADECAFE ^ number] + 16
    grown = len(foreign) - (end - start)
    for index, targets in instructions.branches.items():
        offset = instructions.offsets[index]
        for target in targets:
            if start <= offset < end or (offset < start) == (target <= start):
                continue
            shift = grown if offset < start else -grown
            for word in (8, 12):
                (distance,) = struct.unpack_from("<i", code, offset + word)
                # A ``jmpi`` counts from the instruction behind it on some devices.
                if offset + distance == target or (word == 12 and offset + 16 + distance == target):
                    struct.pack_into("<i", code, offset + word, distance + shift)
    code[start:end] = foreign
    changed = bytearray(binary[: text.offset] + code + binary[text.offset + text.size :])
    (table,) = struct.unpack_from("<Q", changed, 0x28)
    size, count = struct.unpack_from("<HH", changed, 0x3A)
    table += grown if table > text.offset else 0
    struct.pack_into("<Q", changed, 0x28, table)
    for number_of_section in range(count):
        entry = table + number_of_section * size
        (place,) = struct.unpack_from("<Q", changed, entry + 0x18)
        if place == text.offset:
            struct.pack_into("<Q", changed, entry + 0x20, text.size + grown)
        elif place > text.offset:
            struct.pack_into("<Q", changed, entry + 0x18, place + grown)
    sections = read_elf(memoryview(bytes(changed))).sections
    for section in (each for each in sections if each.name == f".rel.text.{kernel.name}"):
        for entry in range(section.offset, section.offset + section.size, 16):
            (place,) = struct.unpack_from("<Q", changed, entry)
            struct.pack_into("<Q", changed, entry, place + (grown if place >= start else 0))
    return bytes(changed)


@dataclass
class Case:
    """A recording of the build before the splice, with its stages, and the one after it; and the code that was put in."""

    path: Path
    foreign: bytes
    before: Kernel
    after: Kernel


@pytest.fixture(scope="module", params=["dg2", "pvc", "bmg"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    device = request.param
    request.getfixturevalue("newest_root")
    work = tmp_path_factory.mktemp("spliced")
    (work / "attention.cl").write_text(SOURCE)
    (work / "foreign.cl").write_text(FOREIGN)
    command = [
        "stages",
        str(work / "attention.cl"),
        "--device",
        device,
        "--toolchain",
        NEWEST,
        "-o",
        str(work / "a.klens"),
    ]
    subprocess.run([sys.executable, "-m", "kernlens", *command], check=True, stdout=subprocess.DEVNULL)
    (other,) = compile(work / "foreign.cl", [device], toolchain=NEWEST)
    kernel = other.kernels["foreign"]
    foreign = bytes(kernel.code[: kernel.instructions.offsets[-1]])
    (program,) = kernlens.load(work / "a.klens")
    binary, name = program.build.binary, program.build.name
    for number in (0, 1):
        mark = struct.pack("<I", 0xCAFEFADE ^ number)
        # The compiler may have made several of one call.
        while mark in bytes(only_kernel(binary, device, work).code):
            binary = spliced(binary, only_kernel(binary, device, work), foreign, number)
    assert program.build.binary != binary
    after = Build("after", device, parts=HeldParts(binary=binary))
    path = written(work / "both.klens", [program.build, after])
    programs = {each.name: each for each in kernlens.load(path)}
    return Case(path, foreign, programs[name].kernels["attention"], programs["after"].kernels["attention"])


def only_kernel(binary: bytes, device: str, work: Path) -> Kernel:
    (work / "held.klens").unlink(missing_ok=True)
    return kernlens.load(written(work / "held.klens", [Build("held", device, parts=HeldParts(binary=binary))]))[
        0
    ].kernels["attention"]


def written(path: Path, builds: list[Build]) -> Path:
    with RecordingWriter(path) as writer:
        for build in builds:
            writer.add(build)
    return path


def test_the_compilers_instructions_keep_their_lines_and_the_others_have_none(case: Case) -> None:
    assert case.after.code_change is not None
    assert case.after.line_table_reason is None
    before, after = case.before.source_map, case.after.source_map
    assert before is not None
    assert after is not None
    own = [row for part in case.after.functions if part.name == "attention" for row in part.code]
    of_micro = sorted(set(range(len(case.after.instructions))) - set(own))
    assert [after.place(row) for row in of_micro] == [None] * len(of_micro)
    blank = [row for row in range(len(case.before.instructions)) if not is_marked(case.before, row)]
    assert [after.place(row) for row in own] == [before.place(row) for row in blank]
    assert [after.origin(row) for row in own] == [before.origin(row) for row in blank]
    assert sum(after.place(row) is not None for row in own) > len(own) / 2


def is_marked(kernel: Kernel, row: int) -> bool:
    """Return whether an instruction is between two marks, as the texts have them."""
    texts = [text.lower() for text in kernel.instructions.texts]
    before = [text for text in texts[: row + 1] if "0xcafefad" in text or "0xfadecaf" in text]
    return bool(before) and ("0xcafefad" in before[-1] or "0xfadecaf" in texts[row])


def test_lines_are_those_of_the_source(case: Case) -> None:
    source_map, lines = case.after.source_map, SOURCE.splitlines()
    assert source_map is not None
    for opcode, word in MATHEMATICS.items():
        rows = [row for row, text in enumerate(case.after.instructions.texts) if opcode in text]
        places = [place for row in rows if (place := source_map.place(row))]
        assert places, opcode
        assert all(word in lines[place.line - 1] for place in places), opcode


def test_micro_kernels_are_named_and_say_who_calls_them(case: Case) -> None:
    lines = SOURCE.splitlines()
    calls = {
        name: next(number for number, line in enumerate(lines, 1) if f"= {name}(" in line)
        for name in ("ugemm_kq", "ugemm_vs")
    }
    micro = [part for part in case.after.functions if part.name and part.name.startswith("micro kernel")]
    told = [str(part.name).removeprefix("micro kernel ").split(", called at ") for part in micro]
    assert {words[0] for words in told} == calls.keys()
    # Before a branch the compiler's dumps do not tell whose an instruction is.
    called = {(words[0], int(words[1].rpartition(":")[2])) for words in told if len(words) > 1}
    assert called <= calls.items()
    assert ("ugemm_kq", calls["ugemm_kq"]) in called
    assert {bytes(case.after.code[part.offset : part.offset + part.size]) for part in micro} == {case.foreign}


def test_top_and_json_tell_the_parts(case: Case) -> None:
    command = [sys.executable, "-m", "kernlens", "annotate", str(case.path), "--program", "after", "--top", "3"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    micro = len(case.after.functions) // 2
    assert f"its code holds {micro} spliced parts: micro kernel ugemm_" in shown
    told = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    (kernel,) = told["programs"][0]["kernels"]
    assert kernel["line_table"] is True
    parts = kernel["functions"]
    assert {part["name"].split(",")[0] for part in parts} == {
        "attention",
        "micro kernel ugemm_kq",
        "micro kernel ugemm_vs",
    }
    assert sum(part["costs"]["instructions"] for part in parts) == kernel["costs"]["instructions"]


def test_alone_it_has_no_lines_and_says_what_was_spliced_in(case: Case, tmp_path: Path) -> None:
    programs = {each.name: each for each in kernlens.load(case.path)}
    path = tmp_path / "alone.bin"
    path.write_bytes(programs["after"].build.binary)
    kernel = kernlens.load(path)[0].kernels["attention"]
    assert kernel.source_map is None
    assert kernel.functions == ()
    assert kernel.line_table_reason is not None
    assert "micro kernels were spliced in (ugemm_kq, ugemm_vs)" in kernel.line_table_reason


@pytest.mark.parametrize("what", ["an instruction", "a branch"])
def test_a_build_that_differs_elsewhere_lends_no_lines(what: str, case: Case, tmp_path: Path) -> None:
    programs = {each.name: each for each in kernlens.load(case.path)}
    after, before = programs["after"].build, programs[case_name(programs)].build
    kernel = programs["after"].kernels["attention"]
    own = [row for part in kernel.functions if part.name == "attention" for row in part.code]
    texts, branches = kernel.instructions.texts, kernel.instructions.branches
    row = next(row for row in own if (row in branches if what == "a branch" else "math.sqt" in texts[row]))
    binary = bytearray(after.binary)
    place = bytes(binary).index(bytes(kernel.code)) + kernel.instructions.offsets[row]
    binary[place + 12 if what == "a branch" else place + 5] ^= 16 if what == "a branch" else 1
    changed = Build("after", after.device, parts=HeldParts(binary=bytes(binary)))
    path = written(tmp_path / "other.klens", [before, changed])
    other = {each.name: each for each in kernlens.load(path)}["after"].kernels["attention"]
    assert other.source_map is None
    assert other.line_table_reason is not None


def case_name(programs: dict[str, Program]) -> str:
    return next(name for name in programs if name != "after")

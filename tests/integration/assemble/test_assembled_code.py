"""Machine code of real kernels as text, edited, and put back: bytes, what drivers hold."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.flow.hazards import hazards_of
from kernlens.errors import AssemblyError, KernlensError, OutputError, UnsupportedError
from kernlens.formats.ar import MAGIC
from kernlens.formats.neo_elf import read_neo_elf
from kernlens.formats.patch_tokens.edited_program import check_sum
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.model.program import Program
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.editable import editable_text, old_code
from tests.corpus.build import Built
from tests.corpus.code_edits import Outcome, check_driver, edited_binaries
from tests.corpus.hostile_assembly import try_texts
from tests.corpus.reassembly import WHILE, Reassembled, kernels_of, reassembled
from tests.corpus.removed_waits import FALSE, TOLD, UNTOLD, removed_waits
from tests.integration.toolchain.toolchain_fixtures import newest
from tests.packed_code import packed
from tests.writers.ar import archive, member

__all__ = ["newest"]

SOURCE = """\
kernel void soften(global float *a, int n, float k) {
  int i = get_global_id(0);
  float x = a[i];
  for (int j = 0; j < n; j++) {
    x = x * k + (float)j;
    if (x > 100.0f) x -= a[j];
  }
  a[i] = x;
}
kernel void other(global int *a) { a[get_global_id(0)] += 3; }
"""
_OFFSET = re.compile(r"// 0x([0-9a-f]+)")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("assemble") / "soften.cl"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def program(source: Path) -> Program:
    """The program of Debian 12's compiler for dg2, written to a file beside the source."""
    (built,) = kernlens.compile(source, "dg2", options="-g")
    assert built.build.binary
    source.with_suffix(".bin").write_bytes(built.build.binary)
    return built


@pytest.fixture(scope="module")
def binary(program: Program, source: Path) -> Path:
    return source.with_suffix(".bin")


def text_of(path: Path, kernel: str = "soften") -> list[str]:
    (own,) = kernlens.load(path)
    return editable_text(str(path), own, own.kernels[kernel])


def at(lines: list[str], words: str) -> int:
    return next(number for number, line in enumerate(lines) if words in line and not line.startswith("//"))


def test_code_of_both_compilers_comes_back(corpus_sample: list[Built], newest_sample: list[Built]) -> None:
    total = Reassembled()
    for where, own, kernel in kernels_of([*corpus_sample[:8], *newest_sample[:6]]):
        total.add(reassembled(where, own, kernel))
    assert total.differences == []
    assert total.instructions > 2_000
    assert set(total.rules) <= {WHILE}


def test_random_edits_are_what_drivers_hold(corpus_sample: list[Built], tmp_path: Path) -> None:
    outcome, generator = Outcome(), random.Random(7)
    built = next(each for each in corpus_sample if each.device == "dg2")
    results = edited_binaries(built.binary, 12, generator, tmp_path, outcome, built.name)
    check_driver("system", "dg2", results, tmp_path, outcome)
    assert outcome.differences == []
    assert (outcome.edits.total(), outcome.held) == (12, 12)


def test_other_code_than_the_edit_would_be_seen(binary: Path, tmp_path: Path) -> None:
    outcome = Outcome()
    results = edited_binaries(binary, 2, random.Random(1), tmp_path, outcome, "soften")
    results = [(path, name, "0" * 64) for path, name, _ in results]
    check_driver("system", "dg2", results, tmp_path, outcome)
    assert len(outcome.differences) == 2


def test_debug_data_is_there_if_it_is_of_the_code(
    binary: Path, newest: Toolchain, source: Path, tmp_path: Path
) -> None:
    """The old lines stay where no instruction moves; else there are none, and a warning says so."""
    (built,) = kernlens.compile(source, "dg2", toolchain=newest.name, options="-g")
    assert built.build.binary
    zebin = tmp_path / "soften.zebin"
    zebin.write_bytes(built.build.binary)
    for path in (binary, zebin):
        (own,) = kernlens.load(path)
        new = tmp_path / "new.bin"
        lines = text_of(path)
        still = "\n".join(lines).replace("100.0:f", "200.0:f", 1).replace("0x42C80000:f", "200.0:f", 1)
        assert still != "\n".join(lines)
        assert not any("debug data" in each for each in kernlens.assemble(still, path, output=new).warnings)
        (edited,) = kernlens.load(new)
        old_table, new_table = own.kernels["soften"].line_table, edited.kernels["soften"].line_table
        assert old_table is not None
        assert new_table is not None
        assert list(old_table.lines) == list(new_table.lines)
        lines.insert(at(lines, "goto"), "(W) mov (1|M0) r100.0<1>:ud r1.0<0;1,0>:ud")
        assembly = kernlens.assemble("\n".join(lines), path, output=new)
        assert "the debug data is of the old code" in assembly.warnings[-1]
        (edited,) = kernlens.load(new)
        assert edited.kernels["soften"].line_table is None
        assert len(edited.kernels["soften"].instructions) == len(own.kernels["soften"].instructions) + 1
        assert not edited.build.spirv, "a driver must not compile that in place of the code"


def test_the_checksum_is_the_drivers_rule(binary: Path) -> None:
    part = read_neo_elf(memoryview(binary.read_bytes())).device_binary
    assert part is not None
    kernels = read_patch_tokens(part.data).kernels
    ends = [*(kernel.offset for kernel in kernels[1:]), len(part.data)]
    for kernel, end in zip(kernels, ends, strict=True):
        assert check_sum(bytes(part.data[kernel.offset + 40 : end])) == kernel.header.check_sum


def test_errors_of_the_assembler_have_line_and_column(binary: Path) -> None:
    lines = text_of(binary)
    here = at(lines, "mach")
    lines[here] = "(W) mach (1|M0) r4.0<1>:d r7.3<0;1,0>:d %"
    with pytest.raises(AssemblyError, match=rf"^line {here + 1}, column \d+: "):
        kernlens.assemble("\n".join(lines), binary)


def test_only_words_say_what_a_line_becomes(binary: Path) -> None:
    """A changed line keeps its comment: its old bytes are not taken."""
    lines = text_of(binary)
    here = at(lines, ":w ")
    lines[here] = re.sub(r"(\d+):w ", "77:w ", lines[here])
    assembly = kernlens.assemble("\n".join(lines), binary)
    assert (assembly.changed, assembly.added, assembly.removed) == (1, 0, 0)
    (own,) = kernlens.load(binary)
    assert assembly.code != bytes(own.kernels["soften"].code)
    assert kernlens.assemble("\n".join(text_of(binary)), binary).code == bytes(own.kernels["soften"].code)


def test_a_hazard_that_the_edit_makes_names_both(binary: Path) -> None:
    lines = text_of(binary)
    here = at(lines, "math.") if any("math." in line for line in lines) else at(lines, "send.dc1")
    lines.insert(here + 1, "(W) mov (8|M0) r100.0<1>:f r11.0<8;8,1>:f")
    (warning, *_) = kernlens.assemble("\n".join(lines), binary).warnings
    assert "mov (8|M0) r100.0" in warning
    assert "without waiting for" in warning
    assert "send" in warning
    assert kernlens.assemble("\n".join(text_of(binary)), binary).warnings == ()


def test_the_scoreboard_set_anew_has_no_hazard(binary: Path, tmp_path: Path) -> None:
    lines = text_of(binary)
    here = at(lines, "send.dc1")
    lines.insert(here + 1, "(W) mov (8|M0) r100.0<1>:f r11.0<8;8,1>:f")
    new = tmp_path / "new.bin"
    assembly = kernlens.assemble("\n".join(lines), binary, output=new, scoreboard="auto")
    assert not any("r100" in warning for warning in assembly.warnings)
    (own,) = kernlens.load(new)
    assert not any(
        "r100" in own.kernels["soften"].instructions.texts[hazard.consumer]
        for hazard in hazards_of(packed(own.kernels["soften"].instructions))
    )


def test_a_wait_that_is_left_out_is_told(corpus_sample: list[Built]) -> None:
    paths = [each.binary for each in corpus_sample if each.device == "dg2"][:2]
    results = removed_waits(paths, 2, random.Random(1))
    assert results[TOLD] > 3
    assert results[FALSE] == 0
    assert results[UNTOLD] <= 1


def test_code_without_scoreboard_has_none_to_set(source: Path, tmp_path: Path) -> None:
    (built,) = kernlens.compile(source, "skl")
    assert built.build.binary
    path = tmp_path / "x.bin"
    path.write_bytes(built.build.binary)
    with pytest.raises(UnsupportedError, match="its hardware keeps it"):
        kernlens.assemble("\n".join(text_of(path)), path, scoreboard="auto")


def test_what_is_refused(binary: Path, tmp_path: Path) -> None:
    text = "\n".join(text_of(binary))
    packed_file = tmp_path / "two.ar"
    packed_file.write_bytes(archive([member("64.12.0.0", binary.read_bytes())]))
    assert packed_file.read_bytes().startswith(MAGIC)
    with pytest.raises(UnsupportedError, match="kernlens extract"):
        kernlens.assemble(text, packed_file)
    with pytest.raises(OutputError, match="choose another output file"):
        kernlens.assemble(text, binary, output=binary)
    with pytest.raises(KernlensError, match="printed from other code"):
        kernlens.assemble(text, binary, kernel="other")
    with pytest.raises(KernlensError, match="keep or auto"):
        kernlens.assemble(text, binary, scoreboard="none")
    lines = text.split("\n")
    lines.insert(at(lines, "nop"), "nop")
    with pytest.raises(KernlensError, match="multiples of 64 bytes"):
        kernlens.assemble("\n".join(lines), binary)


def test_hostile_text(binary: Path) -> None:
    (own,) = kernlens.load(binary)
    results: Counter[str] = Counter()
    lines = [line for line in text_of(binary) if line and not line.startswith("//")]
    faults = try_texts(old_code(own, own.kernels["soften"]), lines, 400, random.Random(3), results)
    assert faults == []
    assert results["refused with line and column"] > 100

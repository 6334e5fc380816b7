"""Machine code of real kernels as text, edited, and put back: bytes, lines, what drivers hold."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.flow.hazards import hazards_of
from kernlens.errors import AssemblyError, KernlensError, OutputError, UnsupportedError
from kernlens.formats.ar import MAGIC
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.neo_elf import read_neo_elf
from kernlens.formats.patch_tokens.debug_data import read_debug_data
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
    assert outcome.lines > 100


def test_other_code_than_the_edit_would_be_seen(binary: Path, tmp_path: Path) -> None:
    outcome = Outcome()
    results = edited_binaries(binary, 2, random.Random(1), tmp_path, outcome, "soften")
    results = [(path, name, "0" * 64) for path, name, _ in results]
    check_driver("system", "dg2", results, tmp_path, outcome)
    assert len(outcome.differences) == 2


def inserted(path: Path, new: Path) -> int:
    """Insert an instruction before the first branch, and return the offset of that."""
    lines = text_of(path)
    here = at(lines, "goto")
    match = _OFFSET.search(lines[here])
    assert match is not None
    lines.insert(here, "(W) mov (1|M0) r100.0<1>:ud r1.0<0;1,0>:ud")
    kernlens.assemble("\n".join(lines), path, output=new)
    return int(match[1], 16)


def test_debug_data_moves_with_the_code(binary: Path, tmp_path: Path) -> None:
    """Every address that llvm-dwarfdump prints of entries, their ranges and location lists, and of lines."""
    offset = inserted(binary, tmp_path / "new.bin")
    for kernel, first in (("soften", offset), ("other", 1 << 32)):
        before, after = (dumped(path, kernel, tmp_path) for path in (binary, tmp_path / "new.bin"))
        if kernel == "soften":
            after.remove(offset)  # The new instruction's row, which has no line.
        expected = [address + 16 if address >= first else address for address in before]
        # The row before goes on behind the new instruction if none begins there.
        assert expected == [address for address in after if address != offset + 16 or address in expected]
        assert len(after) > 10, "there are ranges, lists and lines"


def dumped(path: Path, kernel: str, folder: Path) -> list[int]:
    part = read_neo_elf(memoryview(path.read_bytes())).device_debug
    assert part is not None
    debug = read_debug_data(part.data).kernel(kernel)
    assert debug is not None
    elf = folder / "kernel.elf"
    elf.write_bytes(debug.elf)
    command = ["llvm-dwarfdump-15", "--debug-info", "--debug-line", str(elf)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    rows = [int(address, 16) for address in re.findall(r"^0x([0-9a-f]{16}) ", text, re.MULTILINE)]
    entries = text.partition(".debug_line contents")[0]
    return [int(address, 16) for address in re.findall(r"0x([0-9a-f]{16})", entries)] + sorted(set(rows))


def test_relocations_of_debug_data_move_with_the_code(newest: Toolchain, source: Path, tmp_path: Path) -> None:
    """A zebin of the newest compiler: what its relocations add to the start of the kernel, and its lines."""
    alone = tmp_path / "alone.cl"
    alone.write_text(source.read_text().partition("kernel void other")[0])
    (built,) = kernlens.compile(alone, "dg2", toolchain=newest.name, options="-g")
    assert built.build.binary
    zebin, new = tmp_path / "alone.zebin", tmp_path / "new.zebin"
    zebin.write_bytes(built.build.binary)
    offset = inserted(zebin, new)
    before, after = addends(zebin), addends(new)
    assert [address + 16 if address >= offset else address for address in before] == after
    assert len({address for address in before if address > offset}) > 1
    (own,), (edited,) = kernlens.load(zebin), kernlens.load(new)
    old_map, new_map = own.kernels["soften"].source_map, edited.kernels["soften"].source_map
    assert old_map is not None
    assert new_map is not None
    inside = next(row for row, each in enumerate(own.kernels["soften"].instructions) if each.offset == offset)
    places = [old_map.place(row) for row in range(len(own.kernels["soften"].instructions))]
    assert [*places[:inside], None, *places[inside:]] == [new_map.place(row) for row in range(len(places) + 1)]
    assert not edited.build.spirv, "a driver must not compile that in place of the code"


def addends(path: Path) -> list[int]:
    elf = read_elf(memoryview(path.read_bytes()))
    tables = [section for section in elf.sections if section.name in (".rela.debug_info", ".rela.debug_frame")]
    sites = [
        site
        for table in tables
        for site in elf.relocations_of(table)
        if site.type == 1 and site.symbol == ".text.soften"
    ]
    return [site.addend or 0 for site in sites]


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

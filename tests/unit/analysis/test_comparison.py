"""``kernlens diff``: what is matched with what, what counts as a change, and what is printed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

import kernlens as package
from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.comparison.normal_form import Code, Reader
from kernlens.analysis.comparison.pairs import pair
from kernlens.analysis.comparison.stage_partings import PassParting, parting
from kernlens.errors import KernlensError
from kernlens.formats.neo_elf import BUILD_OPTIONS, DEVICE_BINARY, DEVICE_DEBUG
from kernlens.isa.devices import device
from kernlens.model.build import Build, BuildToolchain
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel, KernelParts
from kernlens.model.program import Kernels, Program
from kernlens.model.stage import Snapshot
from tests.limits import memory, processor_time
from tests.unit.conftest import Kernlens
from tests.writers.dwarf import Row, encode, line_unit_4
from tests.writers.elf import ElfWriter
from tests.writers.instruction_records import record
from tests.writers.patch_tokens import KernelToWrite, debug_data, environment, neo_elf, program
from tests.writers.programs import binary

# Matching


def longest_common(old: Sequence[int], new: Sequence[int]) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(new) + 1)
    for item in old:
        before = 0
        for index, other in enumerate(new):
            before, row[index + 1] = row[index + 1], before + 1 if item == other else max(row[index + 1], row[index])
    return row[-1]


@pytest.mark.parametrize("letters", [1, 2, 4, 30])
def test_pairs_are_equal_and_ascending_and_as_many_as_can_be(letters: int) -> None:
    dice = random.Random(letters)
    for _ in range(200):
        old, new = ([dice.randrange(letters) for _ in range(dice.randrange(24))] for _ in range(2))
        pairs = common_pairs(old, new)
        assert all(old[before] == new[after] for before, after in pairs)
        assert pairs == sorted(pairs)
        assert len({before for before, _ in pairs}) == len({after for _, after in pairs}) == len(pairs)
        # What stands once in both is kept first, which may cost others.
        repeated = all(old.count(item) != 1 or new.count(item) != 1 for item in {*old, *new})
        assert len(pairs) == longest_common(old, new) if repeated else len(pairs) <= longest_common(old, new)
        assert len(common_pairs(old, old)) == len(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([0] * 100_000, [0, 1] * 50_000),
        ([0, 1] * 50_000, [1, 1, 0] * 30_000),
        (list(range(100_000)), list(range(99_999, -1, -1))),
        ([number % 777 for number in range(100_000)], [number % 778 for number in range(100_000)]),
    ],
    ids=["one item", "two items", "reversed", "shifted"],
)
def test_no_sequence_takes_long_to_match(old: list[int], new: list[int]) -> None:
    with processor_time(20):
        common_pairs(old, new)


def test_matching_takes_little_memory() -> None:
    old, new = [number % 7 for number in range(20_000)], [number % 5 for number in range(20_000)]
    with memory(16 << 20):
        common_pairs(old, new)


# Instructions


def code(*texts: str, name: str = "dg2") -> Code:
    records = b"".join(record(offset=16 * number) for number in range(len(texts)))
    return Code(IntelInstructions(records, ["mov"], lambda: list(texts)), device(name), Reader())


LOAD = "send.ugm (16|M0)  r{} r{} null:0 0x0 0x1 {{A@1,$3}} // wr:2+0, rd:2; load.ugm"
ADD = "add (16|M0)  r{}.0<1>:f  r{}.0<1;1,0>:f  -r{}.0<1;1,0>:f {{Compacted,{}@2}}"


def test_other_registers_and_waits_are_no_change() -> None:
    old = code(LOAD.format(20, 10), LOAD.format(24, 12), ADD.format(30, 20, 24, "F"))
    new = code(LOAD.format(50, 10), LOAD.format(70, 12), ADD.format(10, 50, 70, "I"))
    assert old.is_same(new)


@pytest.mark.parametrize(
    "last",
    [
        ADD.format(30, 24, 20, "F"),  # swapped
        ADD.format(30, 20, 25, "F"),  # the second register of what was loaded
        ADD.format(30, 20, 40, "F"),  # never written
        ADD.format(30, 20, 24, "F").replace("-", ""),
        ADD.format(30, 20, 24, "F").replace("16|M0", "8|M0"),
        ADD.format(30, 20, 24, "F").replace(":f ", ":d ", 1),
    ],
)
def test_other_operands_are_a_change(last: str) -> None:
    loads = LOAD.format(20, 10), LOAD.format(24, 12)
    assert not code(*loads, ADD.format(30, 20, 24, "F")).is_same(code(*loads, last))


def test_copies_of_one_width_are_equal_and_accumulators_are_registers() -> None:
    copy, use = "mov (8|M0) {0}<1>:{1} r9.0<1;1,0>:{1}", "mul (8|M0) r4.0<1>:f {}<1;1,0>:f r2.0<0;1,0>:f"
    texts = [
        (copy.format(name, type_name), use.format(name)) for name in ("r7.0", "acc0.0") for type_name in ("f", "ud")
    ]
    assert all(code(*texts[0]).is_same(code(*other)) for other in texts)
    assert not code(*texts[0]).is_same(code(copy.format("r7.0", "uw"), texts[0][1]))
    assert not code(*texts[0]).is_same(code(texts[0][0].replace("r9", "-r9"), texts[0][1]))


def test_a_region_that_only_newer_disassemblers_print_is_no_change() -> None:
    older = "        math.invm (16|M0) (eo)f0.0  r99.mme0:df  r123.nomme:df   r87.nomme:df     {A@1,$6.dst}"
    newer = "        math.invm (16|M0) (eo)f0.0  r99.mme0:df  r123.nomme<1;1,0>:df  r87.nomme<1;1,0>:df {A@1,$6.dst}"
    assert code(older, name="pvc").is_same(code(newer, name="pvc"))
    other = newer.replace("r87.nomme", "r87.mme3")
    assert not code(older, name="pvc").is_same(code(other, name="pvc"))


def test_the_hash_behind_a_kernel_is_no_change() -> None:
    hashed = "(W)     mov (16|M0)              {}    {}:ud"
    old, new, unchanged, other = (
        code(hashed.format(*words))
        for words in (("null<1>:ud", "0x0"), ("null<1>:ud", "0x1C98D6B"), ("r1.0<1>:ud", "0x0"), ("r1.0<1>:ud", "0x2"))
    )
    assert old.is_same(new)
    assert not unchanged.is_same(other)


def test_a_part_that_was_written_again_comes_from_there() -> None:
    """r20 to r21 are loaded; then the second half of them is written."""
    load, part, add = LOAD.format(20, 10), "mov (8|M0) r21.0<1>:f 0x0:f", ADD.format(30, 20, 21, "F")
    other = code(LOAD.format(20, 10), "mov (8|M0) r40.0<1>:f 0x0:f", ADD.format(30, 20, 40, "F"))
    assert code(load, part, add).is_same(other)
    assert not code(load, part, add).is_same(code(load, part, ADD.format(30, 20, 20, "F")))


def test_branches_go_to_instructions_not_to_addresses() -> None:
    first, count, back = (
        "mov (1|M0) r4.0<1>:d 0:w",
        "add (1|M0) r4.0<1>:d r4.0<0;1,0>:d 1:w",
        "(f0.0) while (16|M0)  L16",
    )
    loop = code(first, count, back)
    renamed = first.replace("r4", "r9"), count.replace("r4", "r9"), back.replace("f0.0", "f1.0")
    assert loop.is_same(code(*renamed))
    assert not loop.is_same(code(first, count, back.replace("L16", "L0")))
    assert not loop.is_same(code(first, count.replace("r4", "r9", 1), back)), "each turn begins with the first value"


def test_what_a_predicate_leaves_comes_from_before() -> None:
    first, second, add = "mov (16|M0) r4.0<1>:f 0x0:f", "({}) mov (16|M0) r4.0<1>:f 0x1:f", ADD.format(30, 4, 4, "F")
    both = code(first, second.format("f0.0"), add)
    assert both.is_same(code(*(text.replace("r4.0", "r9.0") for text in (first, second.format("~f1.1"), add)))) is False
    assert both.is_same(code(*(text.replace("r4.0", "r9.0") for text in (first, second.format("f1.1"), add))))
    apart = second.format("f0.0").replace("r4.0", "r9.0"), add.replace("r4.0", "r9.0")
    assert not both.is_same(code(first, *apart))
    # Without a predicate nothing is left of the first.
    assert code(first, second.format("W"), add).is_same(code(first, apart[0].replace("f0.0", "W"), apart[1]))


@pytest.mark.parametrize("left", [14, 40], ids=["of another value", "never set"])
def test_what_nobody_sets_of_a_header_comes_from_nowhere(left: int) -> None:
    """Only the third dword of r14 is set; the first one is left from the value before, if there is any."""
    before = f"mov (16|M0) r{left}.0<1>:f 0x0:f"
    load = "(W) send.dc0 (16|M0) r107 r14 null:0 0x0 0x02484402 // wr:1h+0, rd:4; oword aligned block read x8"
    assert code(before, "(W) mov (1|M0) r14.2<1>:ud 0x24:uw", load).origins[2] == ((1, -4),)


@pytest.mark.parametrize("step", ["(sat)r4.0<1>", "r4.0<2>"])
def test_what_is_written_saturated_or_in_steps_comes_from_there(step: str) -> None:
    texts = (
        "mov (8|M0) r4.1<2>:ud 0x0:ud",
        f"mov (8|M0) {step}:ud r9.0<1;1,0>:ud",
        "mov (8|M0) r20.0<1>:ud r4.{}<1;1,0>:ud",
    )
    origins = [code(*texts[:2], texts[2].format(part)).origins[2] for part in (0, 1)]
    assert origins == [((1, 0),), ((1, 2),) if "sat" in step else ((0, 0),)]


def test_registers_of_64_bytes_hold_twice_as_much() -> None:
    """What 16 channels write of 4 bytes is one register of pvc's, two of dg2's."""
    texts = "mov (16|M0) r20.0<1>:f 0x0:f", "mov (16|M0) r4.0<1>:f r21.0<1;1,0>:f"
    assert code(*texts).origins[1] == ((0, 16),)
    assert code(*texts, name="pvc").origins[1] == (21 * 32,)


# Pairs


def a_kernel(name: str) -> Kernel:
    """A kernel of which nothing but its name is looked at."""
    return Kernel(name, cast("KernelParts", None))


def a_program(name: str, kernels: str, on: str = "dg2", *, by: str = "x") -> Program:
    build = Build(name, toolchain=BuildToolchain(by))
    return Program(name, "raw", Kernels({each: a_kernel(each) for each in kernels.split()}), build, device(on))


def paired(old: Sequence[Program], new: Sequence[Program]) -> list[tuple[Program, Program]]:
    return list(dict.fromkeys((each.old_program, each.new_program) for each in pair(old, new).kernels))


def test_programs_are_paired_by_name_and_device() -> None:
    old = [a_program("a", "k"), a_program("b", "k"), a_program("a", "k", "skl")]
    new = [a_program("a", "k", "skl"), a_program("b", "k"), a_program("a", "k")]
    assert paired(old, new) == [(old[2], new[0]), (old[1], new[1]), (old[0], new[2])]


def test_programs_of_other_names_are_paired_by_their_kernels() -> None:
    old = [a_program("a", "k m"), a_program("b", "n")]
    new = [a_program("x", "n"), a_program("y", "k m")]
    assert paired(old, new) == [(old[1], new[0]), (old[0], new[1])]


def test_programs_of_other_devices_are_paired_by_name() -> None:
    old, new = [a_program("a", "k"), a_program("b", "k")], [a_program("b", "k", "bmg"), a_program("a", "k", "bmg")]
    assert paired(old, new) == [(old[1], new[0]), (old[0], new[1])]


def test_programs_of_other_devices_are_paired_by_their_toolchain() -> None:
    old, new = [a_program("a", "k", by=by) for by in ("x", "y")], [a_program("a", "k", "bmg", by="y")]
    assert paired(old, new) == [(old[1], new[0])]


def test_equal_programs_are_paired_in_their_order() -> None:
    old, new = [a_program("a", "k") for _ in range(3)], [a_program("a", "k") for _ in range(2)]
    pairing = pair(old, new)
    assert [(each.old_program, each.new_program) for each in pairing.kernels] == [(old[0], new[0]), (old[1], new[1])]
    assert [each.program for each in pairing.only_old] == [old[2]]


def test_kernels_that_one_side_has_are_named() -> None:
    pairing = pair([a_program("a", "k gone")], [a_program("a", "k come")])
    assert [each.kernel.name for each in pairing.only_old if each.kernel] == ["gone"]
    assert [each.kernel.name for each in pairing.only_new if each.kernel] == ["come"]


def test_many_programs_are_paired_at_once() -> None:
    old, new = ([a_program(f"{side}{number}", f"k{number}") for number in range(5_000)] for side in "ab")
    with processor_time(10):
        assert len(pair(old, new).kernels) == 5_000


# Stages


def snapshot(stage: str, text: str) -> Snapshot:
    return Snapshot(stage, None, "text", ".ll", text.encode)


PASSES = [f"{number:04}-Optimize-pass{number}" for number in range(10)]


def compile_with(*, broken: int | None = None, start: str = "add", skipped: int | None = None) -> list[Snapshot]:
    """The snapshots of a compile in which each pass adds an instruction; one of them may add another, or not run."""
    text = f"target triple\n{start}\n"
    snapshots = [snapshot("source", start), snapshot("llvm-unified", text)]
    for number, name in enumerate(PASSES):
        if number != skipped:
            text += f"%{len(text)} = other\n" if number == broken else f"%{len(text)} = i{number}\n"
            snapshots.append(snapshot(name, text))
    return [*snapshots, snapshot("llvm-optimized", text)]


@pytest.mark.parametrize("broken", range(10))
@pytest.mark.parametrize("start", ["add", "add fast"])
def test_the_pass_that_did_something_else_is_named(broken: int, start: str) -> None:
    """Where the program was another one already before the first pass, too."""
    result = parting(compile_with(), compile_with(broken=broken, start=start))
    assert result.first_pass == PassParting(PASSES[broken], "both")
    assert result.stage == ("llvm-optimized" if start == "add" else "llvm-unified")
    assert result.before == ("llvm-unified" if start == "add" else None)


def test_a_pass_that_only_one_compile_ran_is_named() -> None:
    assert parting(compile_with(), compile_with(skipped=4)).first_pass == PassParting(PASSES[4], "old")
    assert parting(compile_with(skipped=4), compile_with()).first_pass == PassParting(PASSES[4], "new")


def test_equal_compiles_do_not_part() -> None:
    result = parting(compile_with(), compile_with())
    assert (result.before, result.stage, result.first_pass) == ("llvm-optimized", None, None)


# The command

SOURCE = "kernel void scale(global int *a) {\n    int id = get_global_id(0);\n    a[id] *= 2;\n}\n"


def with_code(size: int, *, simd: int = 16, source: str = "scale.cl") -> bytes:
    """A NEO ELF for skl with the kernel ``scale``: an instruction of line 2, the others of line 3."""
    rows: list[Row] = [(0, 1, 2, 5, True), (16, 1, 3, 5, True)]
    debug_elf = ElfWriter(machine=182)
    debug_elf.add(".text", bytes(size))
    debug_elf.add(".debug_line", line_unit_4(encode(rows, size), files=[(source, 0)]))
    kernel = KernelToWrite("scale", code=bytes(size), tokens=[environment(simd=simd)])
    return neo_elf(
        [
            (BUILD_OPTIONS, b"-gline-tables-only\0"),
            (DEVICE_BINARY, program([kernel])),
            (DEVICE_DEBUG, debug_data([("scale", bytes(debug_elf.build()), b"")])),
        ]
    )


@pytest.fixture
def folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("old.bin").write_bytes(with_code(48))
    Path("new.bin").write_bytes(with_code(80, simd=8))
    Path("scale.cl").write_text(SOURCE)
    return tmp_path


def test_a_file_is_equal_to_itself(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("diff", "old.bin", "old.bin")
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("1 kernel compared, all equal\n1 kernel, 0 unread\n")
    document = kernlens("diff", "old.bin", "old.bin", "--json").document
    assert (document["equal"], document["kernels"]) == (True, [])


def test_figures_and_lines_that_changed(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("diff", "old.bin", "new.bin")
    assert done.status == 1
    assert "scale   new      16 -> 8  3 -> 5        48 -> 80" in done.out
    assert "      old    new      -      +   sync  instructions\n" in done.out
    assert "        2      4            +2              3 |     a[id] *= 2;  ; certain 1 -> 1\n" in done.out
    assert "int id" not in done.out, "the first line has the same instruction"
    assert "mov r" not in done.out
    shown = kernlens("diff", "old.bin", "new.bin", "--lines").out
    assert "           + 0x0030  mov r48\n" in shown
    assert kernlens("diff", "old.bin", "new.bin", "--kernel", "scale").out == shown


def test_the_document(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("diff", "old.bin", "new.bin", "--lines", "--json")
    assert done.status == 1
    (kernel,) = done.document["kernels"]
    assert kernel["figures"][0] == {"metric": "simd", "old": 16, "new": 8}
    (line,) = kernel["lines"]
    assert (line["path"], line["old_line"], line["new_line"], line["old"], line["new"]) == ("scale.cl", 3, 3, 2, 4)
    assert [line[key] for key in ("removed", "added", "old_sync", "new_sync")] == [0, 2, 0, 0]
    assert line["old_text"] == line["new_text"] == "    a[id] *= 2;"
    assert [pair["old"] and pair["old"]["offset"] for pair in line["instructions"]] == [16, 32, None, None]


def test_what_only_one_side_has_is_named(kernlens: Kernlens, folder: Path) -> None:
    (folder / "both.bin").write_bytes(binary())
    done = kernlens("diff", "old.bin", "both.bin")
    assert done.status == 1
    assert "+ only here: plain  both on skl (9.0.9): SIMD" in done.out
    back = kernlens("diff", "both.bin", "old.bin", "--json")
    assert [(entry["kernel"], bool(entry["figures"])) for entry in back.document["only_old"]] == [("plain", True)]


def test_names_cannot_forge_lines(kernlens: Kernlens, folder: Path) -> None:
    Path("new.bin").write_bytes(with_code(80, source="a\x1b[2J\n.cl"))
    done = kernlens("diff", "old.bin", "new.bin")
    assert "\x1b" not in done.out
    assert "a\\x1b[2J\\n.cl" in done.out


def test_two_options_of_one_source(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    done = kernlens("diff", "scale.cl", "--device", "skl", "--build-options=-DA=1", "--build-options=-DA=2")
    assert (done.status, done.err) == (0, "")
    assert "- scale.cl --build-options -DA=1" in done.out
    assert "+ scale.cl --build-options -DA=2" in done.out
    calls = (compiler.parent / "calls").read_text()
    assert "-DA=1" in calls
    assert "-DA=2" in calls


def test_python_gives_the_same_answers(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    document = kernlens("diff", "old.bin", "new.bin", "--lines", "--json").document
    difference = package.diff("old.bin", "new.bin")
    assert difference.document(lines=True) == document
    assert (difference.equal, [change.pair.new.name for change in difference.changes]) == (False, ["scale"])
    words = ("--device", "skl", "--build-options=-DA=1", "--build-options=-DA=2", "--json")
    two = package.diff("scale.cl", device="skl", options=["-DA=1", "-DA=2"])
    assert (two.equal, two.document()) == (True, kernlens("diff", "scale.cl", *words).document)
    with pytest.raises(KernlensError, match="there is nothing to compare with"):
        package.diff("old.bin")

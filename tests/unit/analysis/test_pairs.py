"""The kernels that belong together where names do not tell: in captures, in other programs, under other names."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

import kernlens as package
from kernlens.analysis.comparison.pairs import BY_EQUAL_CODE, BY_SIMILAR_CODE, Pairing, pair
from kernlens.analysis.comparison.renamed_kernels import with_renamed
from kernlens.errors import KernlensError, UnknownKernelError
from kernlens.formats.neo_elf import DEVICE_BINARY
from kernlens.isa.devices import device
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.kernel import Kernel, KernelParts
from kernlens.model.program import Kernels, Program
from kernlens.verbs.kernel_pairs import kernel_pairs
from tests.limits import processor_time
from tests.unit.analysis.test_comparison import a_program
from tests.unit.conftest import Kernlens
from tests.writers.patch_tokens import KernelToWrite, environment, neo_elf, program

ADD, MUL, MAD, SEL, CMP, SYNC = 0x40, 0x41, 0x5B, 0x62, 0x70, 0x01


@dataclass
class Coded:
    """The parts of a kernel of which nothing but its code is looked at."""

    held: bytes

    def code(self) -> memoryview:
        return memoryview(self.held)

    def operations(self, kernel: Kernel) -> bytes:
        return self.held[::16]


def code_of(opcodes: Sequence[int]) -> bytes:
    """Instructions of 16 bytes each."""
    return b"".join(bytes([opcode]) + bytes(15) for opcode in opcodes)


def coded(name: str, kernels: Mapping[str, Sequence[int]], *, text: str = "", options: str = "") -> Program:
    build = Build(name, toolchain=BuildToolchain("x"), options=options, parts=HeldParts(sources=(Source("", text),)))
    held = {each: Kernel(each, cast("KernelParts", Coded(code_of(opcodes)))) for each, opcodes in kernels.items()}
    return Program(name, "raw", Kernels(held), build, device("dg2"))


def words(pairing: Pairing) -> list[tuple[str, str, str, str]]:
    return [(both.old_program.name, both.old.name, both.new_program.name, both.new.name) for both in pairing.kernels]


def test_the_number_of_a_captured_program_is_no_name() -> None:
    old = [a_program(f"program-{number}", kernels) for number, kernels in enumerate(("a b", "c", "d e f"), 1)]
    new = [a_program(f"program-{number}", kernels) for number, kernels in enumerate(("z", "d e f", "a b", "c"), 1)]
    pairing = pair(old, new)
    assert [(before.name, after.name) for before, after in pairing.programs] == [
        ("program-3", "program-2"),
        ("program-1", "program-3"),
        ("program-2", "program-4"),
    ]
    assert not pairing.only_old
    assert [each.kernel.name for each in pairing.only_new if each.kernel] == ["z"]


def test_captured_programs_that_are_alike_are_paired_by_options_and_then_by_source() -> None:
    kernels = {"scale": [ADD]}
    old = [
        coded("program-1", kernels, text="one", options="-DA"),
        coded("program-2", kernels, text="two", options="-DA"),
        coded("program-3", kernels, text="two", options="-DB"),
    ]
    new = [
        coded("program-1", kernels, text="two", options="-DB"),
        coded("program-2", kernels, text="two", options="-DA"),
        coded("program-3", kernels, text="other", options="-DA"),
    ]
    pairing = pair(old, new)
    assert [(before.name, after.name) for before, after in pairing.programs] == [
        ("program-3", "program-1"),
        ("program-2", "program-2"),
        ("program-1", "program-3"),
    ]


def test_a_kernel_that_moved_to_another_program_is_the_same_kernel() -> None:
    pairing = pair([a_program("a", "k moved"), a_program("b", "m")], [a_program("a", "k"), a_program("b", "m moved")])
    assert ("a", "moved", "b", "moved") in words(pairing)
    assert pairing.only_old == pairing.only_new == ()


LONG = random.Random(7).choices([ADD, MUL, MAD, SEL, CMP], k=400)
OTHER = random.Random(8).choices([0x30, 0x31, 0x61, 0x65, 0x66], k=400)


def test_a_renamed_kernel_is_found_by_its_code() -> None:
    old = [coded("a", {"k": OTHER, "before": LONG, "gone": [0x20] * 50})]
    new = [coded("a", {"k": OTHER, "after": LONG, "come": [0x25] * 50})]
    pairing = with_renamed(pair(old, new))
    (renamed,) = pairing.renamed
    assert (renamed.old.name, renamed.new.name, renamed.paired_by) == ("before", "after", BY_EQUAL_CODE)
    assert [each.kernel.name for each in pairing.only_old if each.kernel] == ["gone"]
    assert [each.kernel.name for each in pairing.only_new if each.kernel] == ["come"]


def test_a_renamed_kernel_that_was_edited_is_found_by_what_is_left_of_its_code() -> None:
    edited = [*LONG[:200], *[SYNC] * 9, *[0x20] * 20, *LONG[200:]]
    pairing = with_renamed(pair([coded("a", {"before": LONG})], [coded("b", {"after": OTHER, "also": edited})]))
    (renamed,) = pairing.renamed
    assert (renamed.old.name, renamed.new.name, renamed.paired_by) == ("before", "also", BY_SIMILAR_CODE)
    half = [*LONG[:130], *OTHER]
    assert not with_renamed(pair([coded("a", {"before": LONG})], [coded("b", {"after": half})])).renamed


def test_of_copies_that_of_the_same_program_is_the_renamed_one() -> None:
    old = [coded("a", {"k": [ADD], "x": LONG}), coded("b", {"m": [ADD], "y": LONG})]
    new = [coded("a", {"k": [ADD], "x2": LONG}), coded("b", {"m": [ADD], "y2": LONG})]
    pairs = {(both.old.name, both.new.name) for both in with_renamed(pair(old, new)).renamed}
    assert pairs == {("x", "x2"), ("y", "y2")}


@pytest.mark.parametrize("kind", ["alike", "nearly alike", "different"])
def test_thousands_of_kernels_are_looked_at_in_bounded_time(kind: str) -> None:
    dice = random.Random(kind)

    def kernels(side: str) -> dict[str, Sequence[int]]:
        common = LONG[:60]
        return {
            f"{side}{number}": common
            if kind == "alike"
            else [*common, *([dice.randrange(128)] if kind == "nearly alike" else dice.choices(range(128), k=40))]
            for number in range(2_000)
        }

    old, new = [coded("a", kernels("old"))], [coded("a", kernels("new"))]
    with processor_time(20):
        pairing = with_renamed(pair(old, new))
    assert kind != "alike" or len(pairing.renamed) == 2_000


def test_chosen_kernels_are_compared_whatever_they_are_called() -> None:
    both = [coded("a", {"k": LONG, "m": OTHER, "kk": LONG})]
    assert words(kernel_pairs(both, both, [("k", "m")])) == [("a", "k", "a", "m")]
    with pytest.raises(UnknownKernelError, match="nobody"):
        kernel_pairs(both, both, [("nobody", "m")])
    with pytest.raises(
        KernlensError, match="a pair names one kernel on each side, and 'k\\*' fits 2 of the old side's"
    ):
        kernel_pairs(both, both, [("k*", "m")])


def test_two_kernels_of_one_file(kernlens: Kernlens, tmp_path: Any, file: Any) -> None:
    kernels = [
        KernelToWrite(name, code=bytes(size), tokens=[environment()]) for name, size in (("one", 32), ("two", 64))
    ]
    path = tmp_path / "both.bin"
    path.write_bytes(neo_elf([(DEVICE_BINARY, program(kernels))]))
    done = kernlens("diff", path, "--pair", "one=two")
    assert (done.status, done.err) == (1, "")
    assert "  1 kernel compared, 1 differs\n" in done.out
    assert "one -> two  both" in done.out
    document = kernlens("diff", path, "--pair", "one=two", "--json").document
    (kernel,) = document["kernels"]
    assert (kernel["old_name"], kernel["name"], kernel["paired_by"]) == ("one", "two", "choice")
    assert document["renamed"] == []
    assert package.diff(path, pairs=[("one", "two")]).document() == document
    assert kernlens("diff", path, "--pair", "one=one").status == 0
    assert "--pair takes OLD=NEW, the names of two kernels, not 'one'" in kernlens("diff", path, "--pair", "one").err


def test_a_variant_is_compared_with_no_other_one() -> None:
    """A baseline of two variants, of which one was replaced by a third: that is new, and says nothing of the old."""
    old = [coded("some", {"k": [ADD]}, options=f"-D N={number} -g") for number in (16, 32)]
    new = [coded("some", {"k": [ADD, MUL]}, options=f"-DN={number} -O1") for number in (8, 16)]
    pairing = pair(old, new)
    assert [(each.old_program, each.new_program) for each in pairing.kernels] == [(old[0], new[1])]
    assert [each.program for each in pairing.only_old] == [old[1]]
    assert [each.program for each in pairing.only_new] == [new[0]]
    # A single one is compared with what its options were before.
    assert len(pair(old[:1], new[:1]).kernels) == 1

"""Code that was changed after the compile: no line of it is false, and no code of a compiler is called changed."""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.cli.inspect import command
from kernlens.isa.intel import decode
from kernlens.isa.intel.decode import decode_many
from kernlens.isa.intel.iga_library import search_also
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from tests.corpus.build import Built, build
from tests.corpus.changed_code import KINDS, NOP_MOVES, alarms, change_of, changed, changed_binary
from tests.corpus.code_bytes import VARIANTS
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import program
from tests.corpus.packages import fetch
from tests.corpus.unchanged import Asked, run


def _check(built: Sequence[Built], count: int) -> None:
    paths = [item.binary for item in built]
    kernels, false = alarms(paths)
    assert kernels
    assert false == []
    outcomes = changed(paths, count, random.Random(5))
    assert [line for outcome in outcomes.values() for line in outcome.false] == []
    totals = {kind: sum(outcome.changed[kind] for outcome in outcomes.values()) for kind in KINDS}
    assert min(totals.values()) > 0
    followed = outcomes.pop("everything")
    assert followed.right, "what follows as a whole keeps its lines"
    assert sum(outcome.with_lines["behind"] for outcome in outcomes.values()), "code behind the end changes nothing"
    for kind in ("splice", "pad", "cut"):
        assert not any(outcome.with_lines[kind] for outcome in outcomes.values()), kind


def test_patch_tokens(corpus_sample: list[Built]) -> None:
    _check(corpus_sample, 60)


def test_no_zebin_of_a_compiler_has_changed_code(newest_sample: list[Built], newest_root: object) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    _check(newest_sample, 60)


def test_small_programs_as_compilers_leave_them(newest_root: Path, tmp_path: Path) -> None:
    """A few of the many that ``tests.corpus.unchanged`` compiles; a second run goes on where the first ended."""
    fetch(["piglit"])
    search_also(lambda: {"newest": str(newest_root)})
    compilers = {"Debian 12's": DEBIAN, "the newest": newest(newest_root)}
    first, second = Asked(), Asked()
    run(Namespace(folder=tmp_path, count=8, seconds=inf, seed=3), compilers, first)
    assert first.binaries.total() >= 8
    assert first.kernels.total() >= 8
    assert first.alarms == []
    run(Namespace(folder=tmp_path, count=8, seconds=inf, seed=3), compilers, second)
    assert (second.binaries, second.kernels, second.seen) == (first.binaries, first.kernels, first.seen)


@pytest.mark.parametrize("device", ["bmg", "dg2"])
def test_padding_behind_functions(device: str, newest_root: Path) -> None:
    """What was cut out of a kernel with functions behind it was put in again as padding at the end: no size tells it."""
    search_also(lambda: {"newest": str(newest_root)})
    (built,), _ = build([program("piglit/calls")], [device], compiler=newest(newest_root))
    (with_calls,) = kernlens.load(built.binary)
    kernels = [kernel for kernel in with_calls.kernels.values() if kernel.functions and kernel.source_map]
    generator = random.Random(1)
    for kernel in kernels:
        change = change_of(kernel, [b""], "shift", generator, fixed=True)
        edited = changed_binary(built.binary.read_bytes(), kernel.name, change, (".rel.text",))
        (shifted,) = open_bytes(memoryview(edited), "shifted.bin", Context()).programs
        assert len(shifted.kernels[kernel.name].code) == len(kernel.code)
        assert shifted.kernels[kernel.name].source_map is None, kernel.name
    assert len(kernels) > 5


@pytest.mark.parametrize("device", ["dg2", "mtl"])
def test_a_nop_that_moved_is_told_by_the_other_kernels(device: str, newest_root: Path) -> None:
    """This compiler puts one behind the end of each thread for dg2, for mtl none: every size stays as it was."""
    search_also(lambda: {"newest": str(newest_root)})
    (built,), _ = build([program("darktable/atrous")], [device], compiler=newest(newest_root))
    (before,) = kernlens.load(built.binary)
    generator = random.Random(2)
    assert len(before.kernels) > 1
    for kernel in before.kernels.values():
        assert kernel.source_map is not None
        change = change_of(kernel, [b""], NOP_MOVES, generator, fixed=True)
        edited = changed_binary(built.binary.read_bytes(), kernel.name, change, (".rel.text",))
        (after,) = open_bytes(memoryview(edited), "moved.bin", Context()).programs
        assert [each.source_map for each in after.kernels.values()] == [None] * len(before.kernels)
        others = [str(each.code_change) for name, each in after.kernels.items() if name != kernel.name]
        assert all("have a nop behind the end of the thread, others none" in words for words in others)


def test_addresses_of_64_bits_are_fields_too() -> None:
    """Before Xe the driver fills the addresses of functions into one instruction."""
    compiler = VARIANTS["zebin, forced calls"](replace(DEBIAN, dumps=()))
    (built,), _ = build([program("darktable/bilateral")], ["skl"], compiler=compiler)
    (with_calls,) = kernlens.load(built.binary)
    assert any(relocation.type_name == "R_ZE_SYM_ADDR" for relocation in with_calls.relocations)
    assert [kernel.code_change for kernel in with_calls.kernels.values()] == [None] * len(with_calls.kernels)


def test_one_call_decodes_what_inspect_holds_against_the_code(
    newest_sample: list[Built], newest_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    calls: list[int] = []

    def counted(kernels: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        calls.append(len(kernels))
        return decode_many(kernels, *arguments, **options)

    monkeypatch.setattr(decode, "decode_many", counted)
    built = max((item for item in newest_sample if item.device == "bmg"), key=lambda item: item.binary.stat().st_size)
    (listed,) = kernlens.load(built.binary)
    command.main([str(built.binary)], standalone_mode=False)
    assert calls == [len(listed.entry_kernels)]
    assert calls[0] > 1

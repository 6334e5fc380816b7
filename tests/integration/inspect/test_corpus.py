"""Every check of ``tests/corpus/checks.py`` on a sample of real programs; ``python -m tests.corpus.verify`` runs all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.isa.intel import pipe_rules
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from tests.conftest import SAMPLE
from tests.corpus.build import Built, build
from tests.corpus.checks import (
    CHECKS,
    Outcome,
    check_distances,
    check_elf,
    check_messages,
    check_stated_scratch,
    check_texts,
    check_unchanged,
    load,
)
from tests.corpus.code_bytes import VARIANTS, check_code_bytes
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.inline_assembly import check_assembly
from tests.corpus.manifest import program
from tests.corpus.neighbours import Neighbours, neighbours
from tests.whole import WHOLE

each_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())


def agree(sample: list[Built], check: Callable[[Built], Outcome], named: Callable[[Built], Outcome]) -> None:
    """No differences, and enough was compared: ``named`` is the check that ``check`` stands for."""
    total = Outcome("all")
    for built in sample:
        total.add(check(built))
    assert total.differences == []
    least: dict[Callable[[Built], Outcome], int] = {check_elf: 1000, check_messages: 1000}
    least |= {check_stated_scratch: 10, check_unchanged: 10, check_assembly: 100}
    assert total.compared > least.get(named, 10_000)


def of_devices(sample: list[Built], *devices: str) -> list[Built]:
    """What each run checks of a sample; before a release it is all of it."""
    return sample if WHOLE else [built for built in sample if built.device in devices]


@each_check
def test_kernels_of_darktable_agree_with_iga(corpus_sample: list[Built], check: Callable[[Built], Outcome]) -> None:
    """On Debian's five products but icllp, whose code is as skl's: neither has distances."""
    agree(of_devices(corpus_sample, "skl", "tgllp", "dg2", "pvc"), check, check)


@each_check
def test_other_packages(corpus_others: list[Built], check: Callable[[Built], Outcome]) -> None:
    agree(corpus_others, check, check)


@each_check
def test_zebins_of_the_newest_compiler(
    newest_sample: list[Built], newest_root: Path, check: Callable[[Built], Outcome]
) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    with_root = (lambda built: check_texts(built, newest_root)) if check is check_texts else check
    agree(of_devices(newest_sample, "tgllp", "dg2", "bmg", "ptl"), with_root, check)


def test_certain_lines_are_the_compilers_own(corpus_sample: list[Built], newest_sample: list[Built]) -> None:
    """Without the stages, what kernlens holds for certain is what the compiler says; some of the rest has no line."""
    for sample in (of_devices(corpus_sample, "skl", "dg2"), of_devices(newest_sample, "dg2", "bmg")):
        total = Neighbours()
        for built in sample:
            total.add(neighbours(built))
        assert total.faults == []
        assert total.certain["of this line"] > 1_000
        assert total.uncertain["of no line"] > 100


@pytest.mark.parametrize("variant", list(VARIANTS)[1:])
@pytest.mark.parametrize(("device", "is_newest"), [("skl", False), ("dg2", False), ("dg2", True), ("bmg", True)])
def test_every_byte_of_code_is_listed_where_calls_stay(
    variant: str, device: str, is_newest: bool, request: pytest.FixtureRequest, darktable_kernels: Path
) -> None:
    compiler = DEBIAN
    if is_newest:
        root = request.getfixturevalue("newest_root")
        search_also(lambda: {"newest": str(root)})
        compiler = newest(root)
    built, failed = build([program("piglit/calls"), program(SAMPLE[0])], [device], compiler=VARIANTS[variant](compiler))
    assert not failed
    total = Outcome("bytes of code")
    for entry in built:
        total.add(check_code_bytes(entry))
    assert total.differences == []
    assert total.compared > 10_000


def test_each_kernel_of_a_zebin_has_its_own_lines(newest_sample: list[Built]) -> None:
    """The trap: without relocation every kernel reads the first one's table."""
    for built in newest_sample:
        kernels = [kernel for name, kernel in load(built).kernels.items() if name != PSEUDO_KERNEL]
        tables = [kernel.line_table for kernel in kernels if kernel.line_table is not None]
        assert [table.offsets[-1] for table in tables] == [len(kernel.code) for kernel in kernels], built.name
        assert len({(*table.offsets, *table.lines) for table in tables}) == len(kernels) > 1, built.name


def test_a_join_that_is_one_row_late_is_seen(corpus_sample: list[Built], monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks themselves can fail."""
    from kernlens.model.source_map import SourceMap

    right = SourceMap.place
    monkeypatch.setattr(SourceMap, "place", lambda self, index: right(self, max(index - 1, 0)))
    outcome = CHECKS["join agrees with readelf's rows"](corpus_sample[0])
    assert outcome.differences
    outcome = CHECKS["join agrees with IGC's dump"](corpus_sample[0])
    assert outcome.differences


def test_a_wrong_pipe_is_seen(newest_sample: list[Built], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the listings that state pipes, and by the distances that then have no reason."""
    built = next(built for built in newest_sample if built.device == "dg2")
    monkeypatch.setattr(pipe_rules, "_pipe_of_type", lambda number, platform: "I")
    differences = check_distances(built).differences
    assert any("oracle 'F'" in difference for difference in differences)
    assert any("no reason to wait" in difference for difference in differences)


def test_the_prologue_is_where_the_hardware_loads_no_payload(corpus_sample: list[Built]) -> None:
    """skl to tgllp: none. dg2 and pvc: a send or load before the first line's work, and nothing of a statement."""
    for built in corpus_sample:
        for kernel in load(built).kernels.values():
            source_map = kernel.source_map
            assert source_map is not None
            assert (source_map.prologue > 0) == (built.device in ("dg2", "pvc")), f"{built.name} {kernel.name}"
            loads = [
                text for text in kernel.instructions.texts[: source_map.prologue] if "send" in text or "load" in text
            ]
            assert bool(loads) == (source_map.prologue > 0)
            if source_map.prologue:
                assert " cr0.0<1>" in kernel.instructions.texts[source_map.prologue - 1]


@pytest.mark.parametrize("device", ["bmg", "dg2"])
def test_the_prologue_of_the_newest_compiler_ends_where_its_declaration_does(
    device: str, newest_root: Path, darktable_kernels: Path
) -> None:
    """Two instructions behind the loads in most kernels; three more set the stack up in ``diffuse_pde``."""
    search_also(lambda: {"newest": str(newest_root)})
    (built,), failed = build([program("darktable/diffuse")], [device], compiler=newest(newest_root))
    assert not failed
    behind = set()
    for kernel in load(built).entry_kernels.values():
        source_map, table = kernel.source_map, kernel.line_table
        assert source_map is not None
        assert table is not None
        first_line = next(
            offset for offset, line in zip(table.offsets, table.lines, strict=True) if line != table.lines[0]
        )
        assert kernel.instructions.offsets[source_map.prologue] == first_line, f"{built.name} {kernel.name}"
        loads = kernel.resources.prologue_bytes
        assert loads
        behind.add(source_map.prologue - kernel.instructions.offsets.index(loads))
    assert behind == {2, 5} if device == "bmg" else min(behind) >= 2

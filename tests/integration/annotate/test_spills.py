"""Messages that spill are told from all others, as IGC's own remarks in its dumps do; ``python -m tests.corpus.spills`` has
more kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import program
from tests.corpus.spills import check_spills, with_few_registers

#: Programs that spill into 64 registers, and one with stack calls.
PROGRAMS = (
    "darktable/atrous",
    "darktable/demosaic_rcd",
    "darktable/denoiseprofile",
    "darktable/diffuse",
    "piglit/calls",
)
A_HANDFUL = 5


def check(compiler: Compiler, device: str) -> None:
    built, failed = build([program(name) for name in PROGRAMS], [device], compiler=with_few_registers(compiler))
    assert failed == []
    outcomes = [outcome for build in built for outcome in check_spills(build).values()]
    assert [line for outcome in outcomes for line in outcome.differences] == []
    assert len(outcomes) >= A_HANDFUL
    assert sum(outcome.compared for outcome in outcomes) > 500


@pytest.mark.parametrize("device", ["skl", "icllp", "tgllp", "dg2", "pvc"])
def test_of_debians_compiler(device: str) -> None:
    check(DEBIAN, device)


@pytest.mark.parametrize("device", ["tgllp", "dg2", "bmg", "ptl"])
def test_of_the_newest_compiler(device: str, newest_root: Path) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    check(newest(newest_root), device)

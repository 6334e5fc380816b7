"""What verdicts say that they looked at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kernlens.model.analysed_figures import OBSERVED
from kernlens.model.build import Build
from kernlens.model.coverage import coverage
from kernlens.model.figure import Figure
from kernlens.model.figures import STATED
from kernlens.model.verdict import Finding, Verdict


def programs(*options: str) -> Any:
    return [cast(Any, SimpleNamespace(build=Build("program-1", "dg2", options=each))) for each in options]


def test_builds_with_other_options_are_variants() -> None:
    lost = [Build("program-1", "dg2", options="-DN=3", ok=False)]
    assert coverage(programs("-DN=1", "-DN=2"), lost, 2).words == "2 of 3 variants, 2 kernels, 1 unread"


def test_the_same_program_of_two_recordings_is_no_variant() -> None:
    assert coverage(programs("-DN=1", "-DN=1"), [], 2).words == "2 kernels, 0 unread"


def test_what_nobody_observed_leaves_no_kernel_unread() -> None:
    (program,) = programs("")

    def words(figure: Figure) -> str:
        kernel = cast(Any, SimpleNamespace(name="k"))
        return Verdict((Finding(program, kernel, figure, None, None),)).coverage.words

    assert words(STATED[0]) == "1 kernel, 1 unread"
    assert words(OBSERVED[0]) == "1 kernel, 0 unread"

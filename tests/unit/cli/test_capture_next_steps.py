"""What ``capture`` names as the next command."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernlens.cli.capture import _next_steps


def kernel(build: str) -> Any:
    return SimpleNamespace(name="histogram256", build=build, line_table=True, from_source=True)


@pytest.mark.parametrize("count", [1, 33])
def test_one_of_many_programs_with_a_kernel_of_the_same_name(count: int) -> None:
    kernels = [kernel(f"program-{number}") for number in range(1, count + 1)]
    done = SimpleNamespace(recording=Path("app.klens"), kernels=kernels, failed=False, lines=True, kept_launches=0)
    first, *others = _next_steps(cast(Any, done))
    assert first == "Next: kernlens annotate app.klens --kernel histogram256"
    assert others == (
        [] if count == 1 else ["      33 programs have a kernel of this name; --program program-1 shows one of them"]
    )


def test_lines_of_observed_kernels_are_shown_by_what_they_move_too_much() -> None:
    done = SimpleNamespace(
        recording=Path("app.klens"), kernels=[kernel("program-1")], failed=False, lines=True, kept_launches=0
    )
    steps = _next_steps(cast(Any, done), is_observed=True)
    assert steps == ["Next: kernlens annotate app.klens --top 10 --sort excess"]

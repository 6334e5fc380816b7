"""What a build says of itself: the options that it was given, and why it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.build import LINE_OPTIONS, Build
from kernlens.toolchain.sources.includes import source_options
from tests.limits import processor_time


@pytest.mark.parametrize("path", ["/a/k.cl", "/a b/k.cl", "/k.cl"])
@pytest.mark.parametrize(
    "options", ["-gline-tables-only", '-gline-tables-only -I "/x y" -I /a', "-I /a -gline-tables-only -DN=1"]
)
def test_options_are_those_that_were_given(path: str, options: str) -> None:
    full = source_options(Path(path), options, naming=LINE_OPTIONS)
    assert full != options
    assert Build("k", options=full).own_options == options


@pytest.mark.parametrize("options", [None, "", "-I /a", "-s /a/k.cl -I /b", "-DN=1 -x cl"])
def test_options_that_name_no_source_stay(options: str | None) -> None:
    assert Build("k", options=options).own_options == options


@pytest.mark.parametrize("piece", [" ", "-s ", '-s "', " -s x -I "])
def test_options_of_megabytes_take_time_in_proportion(piece: str) -> None:
    """A recording may hold any: white space alone took quadratic time."""
    with processor_time(2):
        assert Build("k", options=piece * 300_000 + "x").own_options


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("k.cl does not compile for dg2: error", "k.cl does not compile for dg2: error"),
        ("ocloc was killed by SIGSEGV", "/a/k.cl does not compile for dg2: ocloc was killed by SIGSEGV"),
        (None, "/a/k.cl does not compile for dg2: the compiler says no more"),
    ],
)
def test_a_failure_names_its_source_once(reason: str | None, failure: str) -> None:
    assert Build("k", "dg2", ok=False, reason=reason, path="/a/k.cl").failure == failure

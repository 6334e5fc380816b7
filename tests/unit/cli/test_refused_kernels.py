"""What ``compile`` says of kernels that drivers refuse."""

from __future__ import annotations

import pytest

from kernlens.cli import compile as compile_verb
from kernlens.model.build import Build, BuildToolchain


def test_what_drivers_refuse_is_said_with_the_toolchain_where_there_are_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compile_verb, "refusal_lines", lambda kernels: ["the driver does not create k"])
    builds: compile_verb.Builds = [(Build("huge", "dg2", BuildToolchain(name)), []) for name in ("system", "newest")]
    assert list(compile_verb._refusals(builds[:1])) == ["huge for dg2: the driver does not create k"]
    assert list(compile_verb._refusals(builds)) == [
        f"huge for dg2 by {name}: the driver does not create k" for name in ("system", "newest")
    ]

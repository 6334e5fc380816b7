"""The stage tables of the code and of docs/stages.md are one: the OpenCL layer and the command use the same names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.model.stage import Stage
from kernlens.pipeline import clang_spirv as clang_stages
from kernlens.pipeline import cpu_runtime as cpu_runtime_stages
from kernlens.pipeline import pocl as pocl_stages
from kernlens.pipeline.igc import IGC_1, IGC_2
from kernlens.pipeline.igc_dump import PHASE_ENDS

DOCUMENT = Path(__file__).parents[2] / "docs" / "stages.md"
ENDING = re.compile(r"`(\.[\w.]+)`")


def documented(title: str) -> Iterator[tuple[str, list[str], list[str], str, str, str]]:
    """(name, text endings, binary endings, default form, scope, dump files) of each row under a heading."""
    section = DOCUMENT.read_text("utf-8").split(f"## {title}", 1)[1].split("\n## ", 1)[0]
    for row in re.findall(r"^\|`([\w-]+)`\|(.*?)\|(.*?)\|(\w+)\|(.*?)\|.*?\|(.*?)\|", section, re.MULTILINE):
        yield row[0], ENDING.findall(row[1]), ENDING.findall(row[2]), row[3], row[4], row[5]


@pytest.mark.parametrize(
    ("title", "stages"),
    [
        ("Intel GPU compiler (IGC), all versions", IGC_1),
        ("Intel GPU compiler (IGC), all versions", IGC_2),
        ("PoCL", pocl_stages.STAGES),
        ("Intel's CPU runtime", cpu_runtime_stages.STAGES),
        ("SPIR-V for no device", clang_stages.STAGES),
    ],
)
def test_names_order_forms_and_scope_are_the_documents(title: str, stages: tuple[Stage, ...]) -> None:
    rows = list(documented(title))
    assert sorted(stage.name for stage in stages) == sorted(row[0] for row in rows)
    assert [stage.name for stage in stages] == [row[0] for row in rows]
    for stage, (_, texts, binaries, default, scope, dumps) in zip(stages, rows, strict=True):
        assert stage.text is None or stage.text in texts
        assert stage.binary is None or stage.binary in binaries
        assert bool(texts) <= (stage.text is not None)
        assert stage.default == default
        assert stage.scope in scope
        assert stage.sentence
        assert not stage.dump or dumps == f"`OCL_asmH_{stage.dump}{stage.text}`"


def test_passes_are_put_before_stages_of_the_table() -> None:
    for stages in (IGC_1, IGC_2):
        assert set(PHASE_ENDS.values()) <= {stage.name for stage in stages if stage.dump}
        assert sum(bool(stage.dump) for stage in stages) == 5


def test_a_stage_of_one_form_has_that_form_whatever_is_asked_for() -> None:
    by_name = {stage.name: stage for stage in IGC_1}
    assert by_name["spirv"].forms == ("binary", "text")
    assert [by_name["spirv"].form(wanted) for wanted in (None, "text", "binary")] == ["binary", "text", "binary"]
    assert [by_name["program"].form(wanted) for wanted in (None, "text", "binary")] == ["binary"] * 3

"""The JSON Schemas in docs/schemas: there is one for each verb with --json, and each can fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import jsonschema_rs
import pytest

from kernlens.cli.verb_group import VERBS
from kernlens.cli.verb_group import kernlens as kernlens_command
from kernlens.model.figures import COSTS, EVERY_FIGURE, OBSERVED, OF_CORES, OF_FAMILIES, STATED, WAITS
from tests import documents
from tests.tree import ROOT
from tests.unit.conftest import Kernlens


def test_every_verb_with_json_has_a_schema_that_the_page_links() -> None:
    context = click.Context(kernlens_command)
    commands = {verb: kernlens_command.get_command(context, verb) for verb in VERBS}
    parameters = {
        verb: [each for part in (command, *getattr(command, "commands", {}).values()) for each in part.params]
        for verb, command in commands.items()
        if command is not None
    }
    prints = {verb for verb, params in parameters.items() if any("--json" in each.opts for each in params)}
    assert {path.stem for path in documents.SCHEMAS.iterdir()} == {*prints, "common"}
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    assert set(re.findall(r"\(schemas/(\w+)\.json\)", page)) == {*prints, "common"}


@pytest.mark.parametrize("path", sorted(documents.SCHEMAS.iterdir()), ids=lambda path: path.stem)
def test_a_schema_is_one_and_closed(path: Path) -> None:
    """An object that says which keys it has takes no other, but those that are parts of others."""
    schema = json.loads(path.read_text("utf-8"))
    jsonschema_rs.meta.validate(schema)
    parts = {id(part) for part in schema["$defs"].values()} if path.stem in ("common", "stages") else set()
    open_ones = []
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
            is_closed = {"additionalProperties", "unevaluatedProperties"} & each.keys()
            if each.get("type") == "object" and not is_closed and id(each) not in parts:
                open_ones.append(list(each["properties"]))
        elif isinstance(each, list):
            waiting += each
    # Figures stand among other keys of a kernel.
    assert all(set(keys) <= _keys_of_figures() for keys in open_ones), open_ones


def _keys_of_figures() -> set[str]:
    return {figure.key for figure in EVERY_FIGURE}


def test_the_figures_are_those_of_the_model() -> None:
    parts = documents.schema("common")["$defs"]
    for part, figures in (
        ("figures", (*STATED, *OF_FAMILIES)),
        ("costs", COSTS),
        ("some_figures", EVERY_FIGURE),
        ("origins", [figure for figure in EVERY_FIGURE if figure not in (*OF_FAMILIES, *OF_CORES, *WAITS, *OBSERVED)]),
    ):
        verdicts = {"has_spills"} if part == "figures" else set()
        assert set(parts[part]["properties"]) - verdicts == {figure.key for figure in figures}, part


def test_a_fault_is_named_with_its_place(kernlens: Kernlens, file: Path) -> None:
    document = kernlens("inspect", file, "--json").document
    assert documents.faults("inspect", document) == []
    kernel = document["programs"][0]["kernels"][0]
    kernel["simd"] = "16"
    assert any(
        fault.startswith("listing/programs/0/kernels/0/simd: ") for fault in documents.faults("inspect", document)
    )
    del kernel["simd"]
    assert any('"simd" is a required property' in fault for fault in documents.faults("inspect", document))

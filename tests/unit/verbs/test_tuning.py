"""``sweep --tuning``: the configurations of a tuner, of which those that spill more than they need are not to be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import KernlensError
from kernlens.verbs.sweep.tuning import tuning_document
from tests.unit.conftest import Kernlens
from tests.unit.model.test_best_sets import row
from tests.writers.programs import SOURCE


def results(*options: str) -> list[Any]:
    document = tuning_document([row(each) for each in options])
    return [result["configuration"] for result in document["results"]]


def test_what_spills_more_than_another_is_not_to_be_run() -> None:
    rows = [
        row("-DA=1", spill_stores=2, cycles=None),
        row("-DA=1", "l"),
        row("-DA=2", fill_loads=1),
        row("-DA=2", "l"),
        row("-DA=3", None),
        row("-DA=4", spill_stores=1),
        row("-DA=5", spill_stores=None),
    ]
    document = tuning_document(rows)
    assert document["schema_version"] == "1.0.0"
    assert document["metadata"] == {"source": "a.cl", "device": "dg2", "toolchain": "system", "compiler": "NEO 1"}
    assert [(each["configuration"], each["invalidity"]) for each in document["results"]] == [
        ({"A": 1}, "constraints"),
        ({"A": 2}, "correct"),
        ({"A": 3}, "compile"),
        ({"A": 4}, "correct"),
        ({"A": 5}, "correct"),
    ]
    measured = {each["name"]: (each["value"], each["unit"]) for each in document["results"][0]["measurements"]}
    assert (measured["k.spill_stores"], measured["l.spill_stores"]) == ((2, "messages"), (0, "messages"))
    assert "k.wait_cycles" not in measured
    assert measured["l.wait_cycles"] == (0, "cycles")
    assert document["results"][2]["measurements"] == []
    # What the format requires of each result.
    assert all(each.keys() >= {"configuration", "times", "invalidity", "correctness"} for each in document["results"])


def test_spills_are_held_against_those_of_the_same_loops_and_memory() -> None:
    """A set that spills nothing, as its array is in memory, makes no other invalid."""
    rows = [
        row("-DA=1", spill_stores=5, loops=0),
        row("-DA=2", loops=2),
        row("-DA=3", loops=0, private_bytes=1024),
        row("-DA=4", spill_stores=4, loops=0),
    ]
    states = [each["invalidity"] for each in tuning_document(rows)["results"]]
    assert states == ["constraints", "correct", "correct", "correct"]


def test_a_configuration_has_what_differs() -> None:
    assert results("-w -DA=1 -DB=2", "-w -DA=2 -DB=2") == [{"A": 1}, {"A": 2}]
    assert results("-DA=1.5", "-D A=0x10", '-D"A=a b"', "-DA", "-DA=007", "-DA=1f", "") == [
        {"A": 1.5},
        {"A": "0x10"},
        {"A": "a b"},
        {"A": 1},
        {"A": "007"},
        {"A": "1f"},
        {"A": ""},
    ]
    assert results("-w -DA=1", "-cl-opt -DA=1 -I x") == [{"build_options": "-w"}, {"build_options": "-cl-opt -I x"}]


def test_it_is_for_one_source_device_and_toolchain() -> None:
    with pytest.raises(KernlensError, match="one source, device and toolchain"):
        tuning_document([row("", device="skl"), row("", device="dg2")])
    with pytest.raises(KernlensError, match="one source, device and toolchain"):
        tuning_document([row(""), replace(row(""), source="b.cl")])


def test_the_command(kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("scale.cl").write_text(SOURCE)
    command = ("sweep", "scale.cl", "-D", "A=1,2", "--tuning", "t.json")
    assert kernlens(*command, "--device", "dg2").status == 0
    first = Path("t.json").read_bytes()
    assert [each["configuration"] for each in json.loads(first)["results"]] == [{"A": 1}, {"A": 2}]
    assert kernlens(*command, "--device", "dg2").status == 0
    assert Path("t.json").read_bytes() == first
    calls = compiler.with_name("calls").read_text()
    done = kernlens(*command, "--device", "dg2,skl")
    assert (done.status, done.err.partition(";")[0]) == (
        2,
        "kernlens: --tuning is for one source, device and toolchain, which a tuner runs",
    )
    assert compiler.with_name("calls").read_text() == calls

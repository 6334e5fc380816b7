"""The ledger of sizes: no room grows by more than a tenth without a word in ``docs/decisions/`` (``tests/sizes.py``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import sizes
from tests.sizes import GRANTED, LEDGER, granted, too_large


def ledger() -> dict[str, int]:
    lines: dict[str, int] = json.loads(LEDGER.read_text("utf-8"))
    return lines


def test_no_room_has_grown_by_a_tenth_without_a_reason() -> None:
    assert too_large(sizes.sizes(), ledger(), granted()) == {}


def test_each_room_stands_in_the_ledger() -> None:
    assert sizes.sizes().keys() == ledger().keys(), "python -m tests.sizes writes it"


def test_a_room_that_has_grown_needs_a_page_that_names_it_and_its_lines() -> None:
    before = {"model": 1000}
    assert too_large({"model": 1100}, before, {}) == {}
    assert too_large({"model": 1101}, before, {}).keys() == {"model"}
    assert too_large({"model": 1101}, before, {"model": 1101}) == {}
    assert too_large({"model": 1300}, before, {"model": 1200, "verbs": 9000}).keys() == {"model"}
    assert too_large({"new": 10}, before, {}) == {}
    (both,) = GRANTED.findall("Since then **`verbs/sweep` has\n2,345 lines**, as it does more.")
    assert both == ("verbs/sweep", "2,345")


def test_the_command_writes_no_room_that_has_grown_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sizes.json"
    path.write_text(json.dumps({"model": 10}))
    monkeypatch.setattr(sizes, "LEDGER", path)
    monkeypatch.setattr(sizes, "sizes", lambda: {"model": 12})
    assert sizes.main() == 1
    assert "model: 12 lines, 10 in the ledger" in capsys.readouterr().err
    assert json.loads(path.read_text()) == {"model": 10}
    monkeypatch.setattr(sizes, "sizes", lambda: {"model": 9, "new": 500})
    assert sizes.main() == 0
    assert json.loads(path.read_text()) == {"model": 9, "new": 500}

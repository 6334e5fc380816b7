"""docs/architecture.md says what is so: its rooms, and where everyday changes go; and no file is too long to read."""

from __future__ import annotations

import re

import pytest

from tests.tree import PACKAGE, ROOT
from tests.unit.rules.test_import_rules import ALLOWED

PAGE = ROOT / "docs" / "architecture.md"
#: Lines of the longest file that is written by hand.
LONGEST = 400
CODE = {".py", ".pyi", ".c", ".h", ".html", ".sh", ".ts"}


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its heading row."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [line[1:-1].split("|") for line in lines[2:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_of_rooms_is_the_rule() -> None:
    result = {}
    for room, _, *imports in rows("Rooms"):
        name = quoted(room)[0] if quoted(room) else ""
        result[name] = quoted("".join(imports))
    assert list(result) == list(ALLOWED)
    assert result == {room: sorted(allowed) for room, allowed in ALLOWED.items()}


def test_an_everyday_change_touches_three_files_at_most() -> None:
    changes = rows("Where a change goes")
    assert len(changes) >= 10
    for change, files in changes:
        places = [part for part in files.split(", ") if "/" in part or ".py" in part]
        assert 1 <= len(places) <= 3, change


@pytest.mark.parametrize("path", sorted({path for _, cell in rows("Where a change goes") for path in quoted(cell)}))
def test_the_files_of_a_change_are_there(path: str) -> None:
    assert (PACKAGE / path).exists() or (ROOT / path).exists()


def test_no_file_is_too_long_to_be_read_at_one_sitting() -> None:
    long = {}
    for folder in ("src", "native", "tests", "benchmarks", "examples", "scripts", "viewer/src"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in CODE:
                count = len(path.read_text("utf-8").splitlines())
                if count > LONGEST:
                    long[str(path.relative_to(ROOT))] = count
    assert long == {}

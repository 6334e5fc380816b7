"""The tests' own rooms: those of the package and its verbs, and a few more, each a package."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.cli.verb_group import VERBS
from tests.conftest import LONG
from tests.tree import PACKAGE, ROOT

TESTS = ROOT / "tests"
#: Kind of tests -> its rooms; behind those of the package and the verbs are those for what belongs to none of them.
ROOMS = {
    "unit": {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    | {"docs", "native", "package", "rules", "testing", "viewer"},
    "integration": {*VERBS, "cli", "docs", "drivers", "layers", "nvidia", "package", "testing"},
}


def misplaced(folder: Path, rooms: set[str]) -> list[str]:
    """What lies in none of the rooms, and the rooms whose modules pytest would not tell from others of the name."""
    outside = [
        f"{path.relative_to(folder)} must go into one of the rooms {', '.join(sorted(rooms))}"
        for path in sorted(folder.rglob("test_*.py"))
        if len(parts := path.relative_to(folder).parts) != 2 or parts[0] not in rooms
    ]
    places = sorted({path.parent for path in folder.rglob("test_*.py")})
    return outside + [
        f"{place.relative_to(folder)} needs an empty file __init__.py"
        for place in places
        if not (place / "__init__.py").is_file()
    ]


@pytest.mark.parametrize("kind", ROOMS)
def test_tests_stay_in_rooms(kind: str) -> None:
    assert misplaced(TESTS / kind, ROOMS[kind]) == []


def test_what_is_misplaced_would_be_seen(tmp_path: Path) -> None:
    for name in ("test_flat.py", "isa/test_right.py", "isa/deep/test_too_deep.py", "elsewhere/test_unknown.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "isa/__init__.py").touch()
    assert [words.split()[0] for words in misplaced(tmp_path, {"isa"})] == [
        *("elsewhere/test_unknown.py", "isa/deep/test_too_deep.py", "test_flat.py"),
        *(".", "elsewhere", "isa/deep"),
    ]


def test_files_that_take_long_are_there() -> None:
    assert [name for name in LONG if not (ROOT / name).is_file()] == []
    assert len(set(LONG)) == len(LONG)

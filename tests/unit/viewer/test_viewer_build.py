"""The viewer's scripts are committed as they were built, so that users need no Node: they must be what their sources give."""

import hashlib
import re
from pathlib import Path

import pytest

from tests.tree import ROOT

VIEWER = ROOT / "viewer"
SCRIPTS = [ROOT / "src/kernlens/explorer/viewer" / name for name in ("viewer.js", "notebook.js")]
each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def digest_of_sources() -> str:
    """What viewer/vite.config.ts writes into the script's first line."""
    names = [str(path.relative_to(VIEWER)) for path in (VIEWER / "src").rglob("*") if path.is_file()]
    names += ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (VIEWER / name).read_bytes() + b"\0")
    return digest.hexdigest()


@each_script
def test_the_script_is_built_from_these_sources(script: Path) -> None:
    first_line = script.read_text().partition("\n")[0]
    assert digest_of_sources() in first_line, "the viewer's sources have changed: run scripts/viewer.sh"


@each_script
def test_the_script_asks_nobody_for_anything(script: Path) -> None:
    # Names of XML are no addresses; others would be something to load.
    addresses = set(re.findall(r"https?://[\w./-]+", script.read_text()))
    assert addresses <= {"http://www.w3.org/2000/svg"}, addresses


def test_what_stands_in_for_a_file_in_notebooks_has_a_file_to_stand_in_for() -> None:
    folder = VIEWER / "src/notebook"
    stand_ins = [path.relative_to(folder) for path in folder.rglob("*.ts")]
    assert stand_ins
    assert [path for path in stand_ins if not (VIEWER / "src" / path).is_file()] == []


def test_no_registry_is_named() -> None:
    assert '"resolved"' not in (VIEWER / "package-lock.json").read_text()

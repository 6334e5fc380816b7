"""The viewer's script is committed as it was built, so that users need no Node: it must be what its sources give."""

import hashlib
import re

from tests.tree import ROOT

VIEWER = ROOT / "viewer"
SCRIPT = ROOT / "src/kernlens/explorer/viewer/viewer.js"


def digest_of_sources() -> str:
    """What viewer/vite.config.ts writes into the script's first line."""
    names = [str(path.relative_to(VIEWER)) for path in (VIEWER / "src").rglob("*") if path.is_file()]
    names += ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (VIEWER / name).read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_script_is_built_from_these_sources() -> None:
    first_line = SCRIPT.read_text().partition("\n")[0]
    assert digest_of_sources() in first_line, "the viewer's sources have changed: run scripts/viewer.sh"


def test_the_script_can_stand_in_a_page() -> None:
    text = SCRIPT.read_text().lower()
    assert "</script" not in text
    assert "<!--" not in text


def test_the_script_asks_nobody_for_anything() -> None:
    # Names of XML are no addresses; others would be something to load.
    addresses = set(re.findall(r"https?://[\w./-]+", SCRIPT.read_text()))
    assert addresses <= {"http://www.w3.org/2000/svg"}, addresses


def test_no_registry_is_named() -> None:
    assert '"resolved"' not in (VIEWER / "package-lock.json").read_text()

"""The lines of each room: ``python -m tests.sizes`` writes them into ``tests/unit/rules/sizes.json``.

A room may grow by a tenth. More has a reason, which a page in ``docs/decisions/`` states with the room and its lines, as
``docs/decisions/17-sizes.md`` says; the command writes no number that is larger without one.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping

from tests.tree import PACKAGE, ROOT, package_files, text_of

LEDGER = ROOT / "tests" / "unit" / "rules" / "sizes.json"
#: What a page says of a room that may have more lines: "**`verbs/sweep` has 2,000 lines**".
GRANTED = re.compile(r"\*\*`([\w/ ]+)`\s+has\s+([\d,]+)\s+lines\*\*")
#: Sources that are no rooms of the package, and how their files end.
OTHERS = {"native": ("c", "h"), "viewer/src": ("ts", "css")}
#: The single modules of the package.
SINGLE = "single modules"


def sizes() -> dict[str, int]:
    """Return the lines of each folder that holds sources, by its path, without those of the folders in it."""
    lines: dict[str, int] = {}
    for path in package_files():
        folder = path.parent.relative_to(PACKAGE).as_posix()
        room = SINGLE if folder == "." else folder
        lines[room] = lines.get(room, 0) + text_of(path).count("\n")
    for name, endings in OTHERS.items():
        paths = [path for ending in endings for path in (ROOT / name).rglob(f"*.{ending}")]
        lines[name] = sum(path.read_text("utf-8").count("\n") for path in paths)
    return dict(sorted(lines.items()))


def granted() -> dict[str, int]:
    """Return the lines that pages grant to rooms, the most of each."""
    most: dict[str, int] = {}
    for page in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        for room, number in GRANTED.findall(page.read_text("utf-8")):
            most[room] = max(most.get(room, 0), int(number.replace(",", "")))
    return most


def too_large(lines: Mapping[str, int], ledger: Mapping[str, int], reasons: Mapping[str, int]) -> dict[str, str]:
    """Return the rooms that have grown by more than a tenth without a reason, with the sentence on each. A room that the
    ledger does not know yet has none."""
    return {
        room: f"{number:,} lines, {ledger[room]:,} in the ledger: say why in docs/decisions/ (**`{room}` has N lines**)"
        for room, number in lines.items()
        if room in ledger and number > max(ledger[room] * 1.1, reasons.get(room, 0))
    }


def main() -> int:
    """Write the ledger, unless a room has grown too much."""
    lines = sizes()
    refused = too_large(lines, json.loads(LEDGER.read_text("utf-8")) if LEDGER.is_file() else {}, granted())
    for room, sentence in refused.items():
        print(f"{room}: {sentence}", file=sys.stderr)
    if not refused:
        LEDGER.write_text(json.dumps(lines, indent=1) + "\n", "utf-8")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

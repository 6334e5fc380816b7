"""``kernlens doctor``: what is installed, what works, and what closes each gap."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.verbs.doctor import Check


@option.verb(option.Answer, "kernlens doctor")
def command(asked: option.Answer) -> None:
    """Test every tool and driver that kernlens uses. The exit status is 1 if a required one does not work."""
    from kernlens.verbs.doctor import checks

    results = []
    for check in checks():
        results.append(check)
        if not asked.as_json:
            colour = "green" if check.works else "red" if check.needed else "yellow"
            mark = style("ok     " if check.works else "missing", fg=colour)
            print_lines([f"{mark}  {check.name}: {check.finding}"])
            if not check.works and check.fix:
                print_lines([f"         to get it: {check.fix}"])
    if asked.as_json:
        print_json({"schema": 1, "checks": [_document(check) for check in results]})
    sys.exit(0 if all(check.works or not check.needed for check in results) else 1)


def _document(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "works": check.works,
        "found": check.finding,
        "fix": check.fix,
        "needed": check.needed,
    }

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
    """Test every tool and driver that kernlens uses: first what is needed, then what some commands or inputs need alone. The
    exit status is 1 if something that is needed does not work."""
    from kernlens.verbs.doctor import checks

    results: list[Check] = []
    for check in checks():
        if not asked.as_json:
            if not check.needed and all(each.needed for each in results):
                print_lines(["", style("Optional", bold=True)])
            print_lines(_lines(check))
        results.append(check)
    if asked.as_json:
        print_json({"schema": 1, "checks": [_document(check) for check in results]})
    sys.exit(0 if all(check.works or not check.needed for check in results) else 1)


def _lines(check: Check) -> list[str]:
    mark = style("ok     ", fg="green") if check.works else style("missing", fg="red") if check.needed else "-      "
    serves = f", for {check.serves}" if check.serves and not check.works else ""
    fix = [f"         to get it: {check.fix}"] if check.fix and not check.works else []
    return [f"{mark}  {check.name}{serves}: {check.finding}", *fix]


def _document(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "works": check.works,
        "found": check.finding,
        "fix": check.fix,
        "needed": check.needed,
        "serves": check.serves or None,
    }

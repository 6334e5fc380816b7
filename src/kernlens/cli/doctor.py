"""``kernlens doctor``: what is installed, what works, and what closes each gap."""

from __future__ import annotations

import sys
from dataclasses import asdict

from kernlens.cli.options import json_option, verb
from kernlens.cli.output import print_json, print_lines
from kernlens.report.style import style


@verb("kernlens doctor")
@json_option()
def command(as_json: bool) -> None:
    """Try every part that kernlens works with; exit status 1 if a needed one does not work."""
    from kernlens.verbs.doctor import checks

    found = []
    for check in checks():
        found.append(check)
        if not as_json:
            colour = "green" if check.works else "red" if check.needed else "yellow"
            mark = style("ok     " if check.works else "missing", fg=colour)
            print_lines([f"{mark}  {check.name}: {check.found}"])
            if not check.works and check.fix:
                print_lines([f"         to get it: {check.fix}"])
    if as_json:
        print_json({"schema": 1, "checks": [asdict(check) for check in found]})
    sys.exit(0 if all(check.works or not check.needed for check in found) else 1)

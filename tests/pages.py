"""Pages whose commands are run: each must print what its page shows.

A page's blocks ``console`` hold commands after ``$`` and what they print, shortened: ``...`` on a line of its own stands for
any lines, at the beginning or end of a line for the rest of that line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.tree import ROOT

LEFT_OUT = "..."
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page in order, each with what the page says that it prints."""
    blocks = _BLOCK.findall(page.read_text("utf-8"))
    return [pair for block in blocks for pair in _COMMAND.findall(block)]


def run(page: Path, folder: Path) -> int:
    """Run a page's commands in a folder that holds ``examples/``, and return how many there were.

    Each sees the last one's status as ``$?``. Raises AssertionError where one prints something else than the page shows.
    """
    if not (folder / "examples").exists():
        shutil.copytree(ROOT / "examples", folder / "examples")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    status, pairs = 0, commands(page)
    for command, expected in pairs:
        done = subprocess.run(
            ["bash", "-c", f"(exit {status}); {command}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert matches(done.stdout, expected), f"{page.name}: $ {command}\n{done.stdout}"
        status = done.returncode
    return len(pairs)


def matches(printed: str, expected: str) -> bool:
    """Return whether a command printed what a page shows."""
    pattern = ""
    for line in expected.splitlines():
        if line == LEFT_OUT:
            pattern += r"(?:.*\n)*?"
        else:
            inner = line.removeprefix(LEFT_OUT).removesuffix(LEFT_OUT)
            before, after = (".*" * edge for edge in (line.startswith(LEFT_OUT), line.endswith(LEFT_OUT)))
            pattern += f"{before}{re.escape(inner)}{after}\n"
    return re.fullmatch(pattern, printed) is not None

"""Pages that show what commands print: each must print what its page shows.

A page's blocks ``console`` hold commands after ``$``, continued behind a backslash, and what they print, shortened: ``...`` on
a line of its own stands for any lines, within a line for any part of it.
``python -m tests.pages [PAGE...]`` writes each verb's help into its page, runs the commands of the pages that are named, and
writes what they print now into them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from kernlens.cli.verb_group import VERBS
from tests.page_commands import why_not_run
from tests.tree import ROOT

VERB_PAGES = ROOT / "docs/commands"
LEFT_OUT = "..."
#: Columns of a line, at most.
WIDTH = 100
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_HELP = re.compile(r"(?<=^```text\n)Usage: .*?(?=^```)", re.DOTALL | re.MULTILINE)


def with_help(text: str, shown: str) -> str:
    """Return a verb's page with its help in place of the one that it shows; unchanged where it shows none."""
    return _HELP.sub(lambda _: shown, text)


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a page in order, each with what the page says that it prints."""
    return [pair for block in _BLOCK.findall(text) for pair in _COMMAND.findall(block)]


def runs(page: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Run a page's commands in a folder that holds ``examples/``: each, what the page shows, and what it prints.

    Each command sees the last one's status as ``$?``.
    """
    if not (folder / "examples").exists():
        shutil.copytree(ROOT / "examples", folder / "examples")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    status = 0
    for command, expected in commands(page.read_text("utf-8")):
        if why_not_run(command):
            continue
        done = subprocess.run(
            ["bash", "-c", f"(exit {status}); {command}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        status = done.returncode
        yield command, expected, done.stdout


def check(page: Path, folder: Path) -> int:
    """Run a page's commands, and return how many there were. Raises AssertionError where one prints something else."""
    count = 0
    for command, expected, printed in runs(page, folder):
        assert matches(printed, expected), f"{page.name}: $ {command}\n{printed}"
        count += 1
    return count


def matches(printed: str, expected: str) -> bool:
    """Return whether a command printed what a page shows."""
    pattern = ""
    for line in expected.splitlines():
        pattern += r"(?:.*\n)*?" if line == LEFT_OUT else ".*".join(map(re.escape, line.split(LEFT_OUT))) + r"\n"
    return re.fullmatch(pattern, printed) is not None


def updated(printed: str, expected: str) -> str:
    """Return what a page is to show: of the lines printed now those most like the ones that it shows, shortened alike."""
    if matches(printed, expected):
        return expected
    lines, result, last = printed.splitlines(), [], -1
    for shown in expected.splitlines():
        if shown == LEFT_OUT or last + 1 == len(lines):
            continue
        part = shown.removeprefix(LEFT_OUT).removesuffix(LEFT_OUT)
        likeness = [SequenceMatcher(None, part, line[: len(part)]).ratio() for line in lines[last + 1 :]]
        nearest = last + 1 + likeness.index(max(likeness))
        if nearest > last + 1:
            result.append(LEFT_OUT)
        line = lines[nearest]
        result.append(line if len(line) <= WIDTH else line[: WIDTH - len(LEFT_OUT)] + LEFT_OUT)
        last = nearest
    if last + 1 < len(lines):
        result.append(LEFT_OUT)
    return "".join(f"{line}\n" for line in result)


def main() -> None:
    for verb in VERBS:
        page = VERB_PAGES / f"{verb}.md"
        words = [sys.executable, "-m", "kernlens", verb, "--help"]
        shown = subprocess.run(
            words, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": str(WIDTH)}
        )
        page.write_text(with_help(page.read_text("utf-8"), shown.stdout), "utf-8")
    for page in map(Path, sys.argv[1:]):
        text = page.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            for command, expected, printed in runs(page, Path(folder)):
                before = f"$ {command}\n"
                text = text.replace(before + expected, before + updated(printed, expected), 1)
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

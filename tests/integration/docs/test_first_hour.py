"""docs/first_hour.md is done as it says, in an empty folder: every command prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.tree import ROOT

PAGE = ROOT / "docs/first_hour.md"
#: Stands for lines that the page leaves out, or for the beginning of a line.
LEFT_OUT = "..."


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    (source,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (tmp_path / "blur.cl").write_text(source)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    status, count = 0, 0
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = subprocess.run(
                ["bash", "-c", f"(exit {status}); {command}"],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
            )
            assert matches(done.stdout, expected), f"$ {command}\n{done.stdout}"
            status, count = done.returncode, count + 1
    assert count > 8
    assert (tmp_path / "blur.html").read_text().startswith("<!")


def matches(printed: str, expected: str) -> bool:
    pattern = ""
    for line in expected.splitlines():
        if line == LEFT_OUT:
            pattern += r"(?:.*\n)*?"
        elif line.startswith(LEFT_OUT):
            pattern += ".*" + re.escape(line.removeprefix(LEFT_OUT)) + r"\n"
        else:
            pattern += re.escape(line) + r"\n"
    return re.fullmatch(pattern, printed) is not None

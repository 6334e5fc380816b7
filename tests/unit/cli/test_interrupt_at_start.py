"""Ctrl-C while the command starts and ends: never a traceback. Each moment is one import, or the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from tests.tree import ROOT

COMMANDS = {
    "command": [sys.executable, str(ROOT / "bin/kernlens")],
    "module": [sys.executable, "-m", "kernlens"],
}
#: Python imports it before anything else: the process sends itself SIGINT when the module MOMENT is looked for, or at its end.
SITE = """\
import atexit, os, signal, sys
class Finder:
    def find_spec(name, path, target=None):
        if name == os.environ["MOMENT"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
if os.environ["MOMENT"] == "end":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(SITE)
    return tmp_path


def interrupted(
    command: str, moment: str, site: Path, *words: str, before: signal.Handlers = signal.SIG_DFL
) -> tuple[int, str, str]:
    package = str(Path(kernlens.__file__).parents[1])
    done = subprocess.run(
        [*COMMANDS[command], *words],
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{package}", "MOMENT": moment},
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("moment", ["kernlens.cli.main", "kernlens.cli.output", "kernlens.log"])
def test_before_the_command_is_read(command: str, moment: str, site: Path) -> None:
    """The process ends by the signal, and says nothing."""
    assert interrupted(command, moment, site, "--version") == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("moment", ["click", "kernlens.cli.devices"])
def test_while_a_verb_is_read(command: str, moment: str, site: Path) -> None:
    assert interrupted(command, moment, site, "devices") == (130, "", "kernlens: interrupted\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_at_the_end(command: str, site: Path) -> None:
    """The answer is there: that it was interrupted would be untrue."""
    assert interrupted(command, "end", site, "--version") == (0, f"kernlens {kernlens.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("moment", ["kernlens.cli.main", "click", "end"])
def test_where_it_is_ignored_it_stays_so(command: str, moment: str, site: Path) -> None:
    """As in the background of a script."""
    status, out, err = interrupted(command, moment, site, "toolchain", "list", "--help", before=signal.SIG_IGN)
    assert (status, out.partition("\n")[0], err) == (0, "Usage: kernlens toolchain list [OPTIONS]", "")


def test_the_library_leaves_signals_alone() -> None:
    script = (
        "import signal, kernlens; kernlens.load, kernlens.capture\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "True\n"

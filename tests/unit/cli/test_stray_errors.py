"""Errors that nobody can catch, in a thread or a finalizer: a sentence and a status, never the interpreter's traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kernlens
from kernlens.toolchain.process import run

#: What goes wrong while ``kernlens devices`` answers: ``{}`` is where.
_CHILD = """
import sys, threading
import kernlens.cli.devices
from kernlens.cli.main import main
from kernlens.errors import ToolError

def fail():
    raise ToolError("the helper \\x1b[31mbroke", command="c")

class Fails:
    def __del__(self):
        fail()

def in_thread():
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()

def in_finalizer():
    Fails()

def leaves_thread():
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()

answer = kernlens.cli.devices.command.callback
def asked(*arguments, **keywords):
    PLACE()
    return answer(*arguments, **keywords)
kernlens.cli.devices.command.callback = asked
sys.argv = ["kernlens", "devices", *sys.argv[1:]]
main()
"""


def answer(place: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _CHILD.replace("PLACE", place), *words],
        env={**os.environ, "PYTHONPATH": str(Path(kernlens.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("place", ["in_thread", "in_finalizer"])
def test_an_error_that_nobody_catches(place: str) -> None:
    done = answer(place)
    assert done.stderr == "kernlens: the helper \\x1b[31mbroke\n"
    assert done.returncode == 3, "the answer may lack something"
    assert "dg2" in done.stdout, "the answer is given all the same"


@pytest.mark.parametrize("place", ["in_thread", "in_finalizer"])
def test_its_traceback_is_shown_to_who_asks(place: str) -> None:
    done = answer(place, "--debug")
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("kernlens: the helper \\x1b[31mbroke\n")
    assert "Exception in thread" not in done.stderr


def test_a_thread_that_leaves_is_no_error() -> None:
    done = answer("leaves_thread")
    assert (done.stderr, done.returncode) == ("", 0)


def test_what_is_raised_outside_of_everything() -> None:
    script = "import sys; from kernlens.cli.main import _tell_stray_errors as t; t(sys.argv); raise KeyError('x')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == (
        "kernlens: a fault of kernlens itself, please report it with what --debug prints: KeyError: 'x'\n"
    )


def test_an_error_of_who_reads_a_compilers_lines() -> None:
    """The child is read to its end, and the error reaches the caller."""
    seen = []

    def on_line(line: str) -> None:
        seen.append((line, threading.current_thread() is threading.main_thread()))
        raise ValueError("no such line")

    with pytest.raises(ValueError, match="no such line"):
        run(
            ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i of a long text; i=$((i+1)); done"],
            timeout=60,
            on_line=on_line,
        )
    assert seen == [("line 0 of a long text", False)]

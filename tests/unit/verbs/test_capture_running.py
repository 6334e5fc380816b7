"""The run of an application: signals that come while it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: An application is ended while this process looks at it, and gets a signal itself before it waits for it.
SCRIPT = """\
import os, signal, sys, time
from kernlens.toolchain.loaders.application import Application
from kernlens.verbs.capture.running import run
def look(process):
    os.kill(process, signal.SIGINT)
    while open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    os.kill(os.getpid(), signal.Signals[sys.argv[1]])
ended = run(Application("sleep", "/bin/sleep", ("sleep", "60"), dict(os.environ)), lambda: None, look)
print(ended.status, flush=True)
"""


@pytest.mark.parametrize(("name", "status", "printed"), [("SIGINT", 0, "-2\n"), ("SIGTERM", -15, "")])
def test_a_signal_that_ended_the_application_too_is_no_interruption(name: str, status: int, printed: str) -> None:
    """A Ctrl-C goes to both, and the recording is still to be written; a signal for this process alone ends it."""
    words = [sys.executable, "-c", SCRIPT, name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (status, printed), done.stderr

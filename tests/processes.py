"""Processes that must have ended: how long a test waits for that, and how long what it waits for would stay."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

#: Seconds that a test waits for an end that comes at once where the code is right, on a busy machine too.
PATIENCE = 60.0
#: Seconds that a process sleeps which the code under test must end: a test that waited for it would never pass.
ASLEEP = 86_400
#: The file that a process leaves in its folder which was not ended as long as a test has patience.
LATE = "late"
#: Python of such a process.
OVERSTAY = f"import time; time.sleep({PATIENCE}); open({LATE!r}, 'w').close()"


def have_ended(processes: Iterable[int], patience: float = PATIENCE) -> bool:
    """Wait until these processes have ended. Those that have not when the patience is over are killed."""
    deadline = time.monotonic() + patience
    running = list(processes)
    while running := [process for process in running if _is_running(process)]:
        if time.monotonic() > deadline:
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            return False
        time.sleep(0.02)
    return True


def _is_running(process: int) -> bool:
    """Return whether it exists, and is no zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"

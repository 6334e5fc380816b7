"""Captures within a capture: the application runs ``kernlens capture``, whose recorders then write to a folder of its own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kernlens import log
from kernlens.verbs.capture.spool import FOLDER, MISSING, Spool


def tell_outer(spool: Spool, environment: dict[str, str]) -> None:
    """Tell the capture that this environment is of, if any, that what is run now is recorded elsewhere."""
    outer = Path(environment.get(FOLDER) or spool.folder)
    if outer == spool.folder or not (outer / MISSING).is_file():
        return
    try:
        (outer / f"{secrets.token_hex(8)}-{os.getpid()}.nested").write_text(str(spool.recording.absolute()))
    except OSError as error:
        log.debug("verbs", "cannot write to %s: %s", outer, error)


def nested_recordings(spool: Spool) -> list[str]:
    """Return the recordings that captures within this one make."""
    return sorted({path.read_text("utf-8", "replace") for path in spool.folder.glob("*.nested")})

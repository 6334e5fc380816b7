"""The run of an oracle."""

from __future__ import annotations

import subprocess
from pathlib import Path


class OracleError(Exception):
    """An oracle is missing or refused its input: nothing can be said about kernlens's answer then."""


def output_of(command: list[str], *, cwd: Path | None = None, statuses: tuple[int, ...] = (0,)) -> str:
    """Return what the tool printed. Raises OracleError if it is missing or its exit status is not among ``statuses``."""
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300
        )
    except FileNotFoundError as error:
        raise OracleError(f"{command[0]} is not installed") from error
    if done.returncode not in statuses:
        raise OracleError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[:500]}")
    return done.stdout

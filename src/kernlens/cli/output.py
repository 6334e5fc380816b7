"""Printing and writing, with errors that say what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from kernlens.errors import OutputError


def print_json(document: dict[str, Any]) -> None:
    import json

    json.dump(document, sys.stdout, indent=None if not sys.stdout.isatty() else 2)
    sys.stdout.write("\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print styled lines, colours only on a terminal; one write per batch, as listings can be long."""
    colour = sys.stdout.isatty()
    batch: list[str] = []
    for line in lines:
        batch.append(line if colour else click.unstyle(line))
        if len(batch) == 1000:
            sys.stdout.write("\n".join(batch) + "\n")
            batch.clear()
    if batch:
        sys.stdout.write("\n".join(batch) + "\n")


def write_text(path: str, text: str) -> None:
    """Write a file that the user named. Raises OutputError with the system's reason."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another place with -o") from error

"""Printing and writing, with errors that say what to do."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from kernlens.errors import OutputError

#: How deep a document is taken to pieces: each kernel in the list of a program, in the list of programs, is one.
_PIECES_DEPTH = 4


def print_json(document: dict[str, Any]) -> None:
    """Print a document, indented on a terminal."""
    if sys.stdout.isatty():
        import json

        json.dump(document, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_compact_json(document)


def print_compact_json(document: dict[str, Any]) -> None:
    """Print a document on one line."""
    sys.stdout.writelines(itertools.chain(json_pieces(document), ["\n"]))


def json_pieces(value: Any, depth: int = 0) -> Iterator[str]:
    """The text of a document in pieces: what stands deep within is encoded at once, which is many times faster than
    ``json.dump``, and the whole text need never be in memory."""
    import json

    if depth == _PIECES_DEPTH or not isinstance(value, dict | list) or not value:
        yield json.dumps(value)
        return
    before = "{" if isinstance(value, dict) else "["
    for item in value:
        yield before
        before = ", "
        if isinstance(value, dict):
            yield json.dumps(item) + ": "
            item = value[item]
        yield from json_pieces(item, depth + 1)
    yield "}" if isinstance(value, dict) else "]"


def write_json(path: str, document: dict[str, Any]) -> None:
    """Write a document to a file that the user named. Raises OutputError with the system's reason."""
    _write(path, itertools.chain(json_pieces(document), ["\n"]))


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
    _write(path, [text])


def _write(path: str, pieces: Iterable[str]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(pieces)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another place with -o") from error

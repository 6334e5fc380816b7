"""The colours and the pager of a terminal."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TextIO

from kernlens.log import debug

#: What ``--color`` takes.
COLOURS = ("auto", "always", "never")
_choice = "auto"


def choose_colours(when: str) -> None:
    """Obey ``--color``, which counts for more than any variable."""
    global _choice
    _choice = when


def leads_to_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream leads to a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def in_colour(stream: TextIO | None) -> bool:
    """Return whether what is written to a stream is coloured: on terminals, unless ``--color`` or a variable says otherwise.

    Sources: https://no-color.org and https://force-color.org; a terminal of the type ``dumb`` has no colours.
    """
    if _choice != "auto":
        return _choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return leads_to_terminal(stream) and os.environ.get("TERM") != "dumb"


class Pager:
    """The program that shows what is printed a page at a time; it gets the terminal until its user leaves it."""

    def __init__(self, words: list[str], terminal: TextIO) -> None:
        import subprocess

        # Without a word of the user's, less leaves at once what fits on a page, keeps it on the screen, takes colours, and
        # cuts long lines at the terminal's width: the arrow keys move sideways.
        environment = {"LESS": "FRSX", **os.environ}
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=terminal.fileno(),
            env=environment,
            encoding=terminal.encoding,
            errors="backslashreplace",
        )
        assert self._process.stdin is not None
        self.input: IO[str] = self._process.stdin

    def finish(self) -> None:
        """Say that this was all, and wait for the user. Raises BrokenPipeError if that was before the end."""
        try:
            self.input.close()
        finally:
            # Ctrl-C ends a search in the pager, which stays; so do we.
            while self._process.returncode is None:
                with contextlib.suppress(KeyboardInterrupt):
                    self._process.wait()


def start_pager(terminal: TextIO) -> Pager | None:
    """Start the pager that KERNLENS_PAGER or PAGER names, else less; None if that is empty or cannot be started, and on
    a terminal that cannot move its cursor."""
    import shlex

    named = os.environ.get("KERNLENS_PAGER", os.environ.get("PAGER", "less"))
    if os.environ.get("TERM") in (None, "", "dumb"):
        return None
    try:
        words = shlex.split(named)
        return Pager(words, terminal) if words and words != ["cat"] else None
    except (OSError, ValueError) as error:
        debug("cli", "the pager %s cannot be started: %s", named, error)
        return None

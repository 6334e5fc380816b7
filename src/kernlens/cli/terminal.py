"""The colours and the pager of a terminal."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TextIO

from kernlens.log import debug
from kernlens.report.style import without_colours

#: What ``--color`` takes.
COLOURS = ("auto", "always", "never")
_choice = "auto"
#: Whether what is longer than the terminal may go through a pager.
_has_pager = True


def choose_pager(has_pager: bool) -> None:
    """Obey ``--no-pager``, which counts for more than any variable."""
    global _has_pager
    _has_pager = has_pager


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


class Screen:
    """A terminal that gets what is printed, or from the moment on when that is more than it shows at once, its pager."""

    def __init__(self, terminal: TextIO) -> None:
        import shutil

        self._terminal = terminal
        self._size = shutil.get_terminal_size()
        self._rows = 0
        self._held: list[str] = []
        self._words = _pager_words()
        self._pager: Pager | None = None
        self._messages: list[tuple[TextIO, str]] = []

    def write(self, text: str) -> None:
        """Print a text, which may be held back until ``show`` or ``finish``."""
        if self._pager is not None:
            self._pager.input.write(text)
            return
        if not self._words:
            self._terminal.write(text)
            return
        self._held.append(text)
        columns = max(self._size.columns, 1)
        self._rows += sum(max(-(-len(line) // columns), 1) for line in without_colours(text).split("\n")) - 1
        if self._rows >= self._size.lines:
            self._start()

    def tell(self, stream: TextIO, message: str) -> None:
        """Print a message of standard error behind what was printed before it, and not into the page that a pager shows."""
        if self._pager is not None:
            self._messages.append((stream, message))
            return
        self.show()
        stream.write(message)
        stream.flush()

    def show(self) -> None:
        """Print what is held back."""
        self._terminal.writelines(self._held)
        self._terminal.flush()
        self._held, self._rows = [], 0

    def finish(self) -> None:
        """Print the rest, and wait for the user of a pager. Raises BrokenPipeError if that was before the end."""
        if self._pager is None:
            self.show()
            return
        try:
            self._pager.finish()
        finally:
            self._pager = None
            for stream, message in self._messages:
                self.tell(stream, message)

    def _start(self) -> None:
        held, self._held = self._held, []
        self._terminal.flush()
        try:
            self._pager = Pager(self._words, self._terminal)
        except OSError as error:
            debug("cli", "the pager %s cannot be started: %s", self._words[0], error)
            self._words = []
        for text in held:
            self.write(text)


def _pager_words() -> list[str]:
    """Return the words that start the pager that KERNLENS_PAGER or PAGER names, else less; none if that is empty, or after
    ``--no-pager``, and on a terminal that cannot move its cursor."""
    import shlex

    named = os.environ.get("KERNLENS_PAGER", os.environ.get("PAGER", "less"))
    if not _has_pager or os.environ.get("TERM") in (None, "", "dumb"):
        return []
    try:
        words = shlex.split(named)
    except ValueError as error:
        debug("cli", "the pager %s cannot be started: %s", named, error)
        return []
    return [] if words == ["cat"] else words

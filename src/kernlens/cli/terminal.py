"""The colours of a terminal."""

from __future__ import annotations

import os
from typing import TextIO

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

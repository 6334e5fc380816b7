"""Paths of source files as compilers write them down: of another machine, perhaps a Windows one, and never opened as such."""

from __future__ import annotations

import re

#: What compilers call the program's own source when it came to them without a name: Intel's, and NVIDIA's driver.
_NAMELESS = re.compile(r"(?:.*/)?(?:<stdin>|<source>|\d+|<kernel>)")
#: The same, as a user may write it.
NAMES_OF_THE_NAMELESS = ("1", "<stdin>", "<source>", "<kernel>")


#: The most folders in one another, and bytes, of a path that is written to disk: with the folder around, a system's paths have
#: 4,096 bytes at most.
DEEPEST, LONGEST = 100, 2048


def why_unfit(path: str) -> str | None:
    """Return why no file is made of a source of this path, as the rest of a sentence; None if one can be."""
    size, depth = len(path.encode("utf-8", "surrogatepass")), len(path.replace("\\", "/").split("/"))
    if size > LONGEST:
        return f"has {size:,} bytes, at most {LONGEST:,} are allowed"
    return f"has {depth:,} folders in one another, at most {DEEPEST} are allowed" if depth > DEEPEST else None


def is_nameless(path: str) -> bool:
    """Return whether this is what a compiler calls a program's source that came to it without a name."""
    return _NAMELESS.fullmatch(path) is not None


def joined(directory: str, path: str) -> str:
    """Return ``path`` within ``directory``; absolute ones, Windows's too, and an empty one stay as they are."""
    if not directory or not path or path.startswith(("/", "\\")) or path[1:2] == ":":
        return path
    return directory.rstrip("/\\") + "/" + path


def end_alike(first: str, second: str) -> bool:
    """Return whether one of the two paths is the end of the other, piece by piece; false if one has no pieces."""
    ours, theirs = pieces_of(first), pieces_of(second)
    length = min(len(ours), len(theirs))
    return length > 0 and ours[-length:] == theirs[-length:]


def pieces_of(path: str) -> list[str]:
    """Return the names of folders and file in a path; of ``a/../b`` only ``b``, as a header that is included is called."""
    pieces: list[str] = []
    for piece in path.replace("\\", "/").split("/"):
        if piece == "..":
            del pieces[-1:]
        elif piece not in ("", "."):
            pieces.append(piece)
    return pieces

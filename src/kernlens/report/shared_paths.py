"""The paths on a page that is given away: relative to the folder of the sources, and without the sharer's home folder."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterable, Iterator

#: Files below these are installed, and nobody's own.
_INSTALLED = ("/usr/", "/opt/", "/lib/", "/nix/")
#: The home folder of anybody, as whoever made a recording.
_HOME = r"/(?:home|Users)/[\w.-]+"
#: What may stand behind a path that is replaced: not the rest of a longer name.
_END = r"(?![\w.~+-])"


class SharedPaths:
    """The replacements of absolute paths: the sources' common folder gives way to names within it, the working folder to ``.``,
    and home folders to ``~``."""

    def __init__(self, sources: Iterable[str] = (), working: str = "", home: str = "") -> None:
        """Take the paths of source files, and the ``working`` and the ``home`` folder of who shares the page."""
        names = {home: "~", working: "."}
        if root := _common_folder(sources):
            names |= {f"{root}/": "", root: "."}
        told = {path: name for path, name in names.items() if _is_told(path)}
        self._names = replaced = {text: name for path, name in told.items() for text in _texts(path)}
        longest = sorted(replaced, key=len, reverse=True)
        ends = ("" if path.endswith("/") else _END for path in longest)
        pattern = "|".join([*(re.escape(path) + end for path, end in zip(longest, ends, strict=True)), _HOME])
        self._text, self._data = re.compile(pattern), re.compile(pattern.encode())

    def text(self, text: str) -> str:
        """Return a text without these paths."""
        return self._text.sub(lambda match: self._names.get(match[0], "~"), text)

    def json(self, document: bytes) -> bytes:
        """Return a document without these paths in its texts."""
        return self._data.sub(lambda match: self._names.get(match[0].decode(), "~").encode(), document)

    def pieces(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the pieces of a page without these paths."""
        return map(self.text, pieces)


def _texts(path: str) -> set[str]:
    """Return a path as it stands in texts and in JSON, which may have characters beyond ASCII as escapes."""
    return {path, *(json.dumps(path, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))}


def _is_told(path: str) -> bool:
    """Return whether a folder is somebody's own: ``/root``, or below another than the root folder."""
    return path.startswith("/") and (path.strip("/").count("/") >= 1 or path.rstrip("/") == "/root")


def _common_folder(sources: Iterable[str]) -> str:
    """Return the folder that holds all own sources, "" if they have no more in common than a folder of all users."""
    folders = [os.path.dirname(path) for path in sources if path.startswith("/") and not path.startswith(_INSTALLED)]
    common = os.path.commonpath(folders) if folders else "/"
    return common if _is_told(common) and common.count("/") >= 2 else ""

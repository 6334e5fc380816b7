"""The paths that a server for agents was started with: no tool reads anything else of the user's.

What runs a verb can open nothing else (``confined_verb.py``). The check here comes first, and is for its plain message.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.toolchain.sources.includes import join_options, options_with_values, split_options
from kernlens.toolchain.sources.recorded_sources import PLAIN_OPTION
from kernlens.toolchain.sources.source_reading import is_wide


class AllowedPaths:
    """Files and folders, ``paths``, without links. Raises NotFoundError for one that is not there, and UnsupportedError for a
    folder that holds much more than what could be meant, such as a home folder."""

    def __init__(self, paths: Sequence[str]) -> None:
        for path in paths:
            if not os.path.exists(path):
                raise NotFoundError(f"there is no file or folder {path}; name what the tools may read")
            if is_wide(path):
                raise UnsupportedError(f"{path} holds much that no tool is to read; name a folder below it")
        self.paths = tuple(dict.fromkeys(map(os.path.realpath, paths)))
        self.folders = tuple(path for path in self.paths if os.path.isdir(path))

    def resolved(self, path: str) -> str:
        """Return a path without links; a relative one is looked for in the folders. Raises UnsupportedError if it leads
        elsewhere, and NotFoundError if it is not there."""
        if "\0" in path or len(path) > 4096:
            raise UnsupportedError("a path of a file has at most 4,096 characters, none of them NUL; correct it")
        candidates = [os.path.join(folder, path) for folder in self.folders] or [path]
        real = next((os.path.realpath(each) for each in candidates if os.path.exists(each)), candidates[0])
        real = os.path.realpath(real)
        if not any(real == each or real.startswith(each.rstrip("/") + "/") for each in self.paths):
            raise UnsupportedError(
                f"{path} is outside of what this server may read: {', '.join(self.paths)}; name a path there, or start kernlens"
                " mcp with this one too"
            )
        if not os.path.exists(real):
            raise NotFoundError(f"there is no file {path} in {', '.join(self.paths)}; correct the path")
        return real

    def checked_options(self, options: str) -> str:
        """Return build options with the folders of ``-I`` resolved. Raises UnsupportedError for a folder that is elsewhere, and
        for any other option that may name a file."""
        words: list[str] = []
        for word, value in options_with_values(split_options(options)):
            if word == "-I":
                words += [word, self.resolved(value or ".")]
            elif word in ("-D", "-U"):
                words += [word, value]
            elif PLAIN_OPTION.fullmatch(word):
                words.append(word)
            else:
                raise UnsupportedError(f"the build option {word!a} may name a file; only -I FOLDER may do that here")
        return join_options(words)

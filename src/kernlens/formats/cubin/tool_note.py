"""The tool that made a cubin, as the cubin states it: in the note of ``.note.nv.tkinfo``, in older files in ``.comment``.

NVIDIA publishes no description. Observed in cubins of ptxas 12.8 to 13.5: an ELF note of ``NVIDIA Corp``, type 2000; its
content has six words (version 2, four of them the offsets of strings) and then the strings that these name: the tool, its
version, its build and its options.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from kernlens.model.binary import c_text

SECTION, COMMENT = ".note.nv.tkinfo", ".comment"
_NAME, _TYPE, _VERSION = b"NVIDIA Corp\0", 2000, 2
_HEAD, _WORDS = struct.Struct("<III12s"), struct.Struct("<6I")
_NUMBER = re.compile(r"V(\d+(?:\.\d+)+)")


class ToolNote(NamedTuple):
    """The tool (``ptxas``), its version (``13.5.37``, or all that it says of it) and its options; empty where not said."""

    tool: str = ""
    version: str = ""
    options: str = ""

    @property
    def title(self) -> str:
        """The tool with its version: ``ptxas 13.5.37``."""
        return f"{self.tool} {self.version}".strip()


def read_tool_note(note: bytes | memoryview, comment: bytes | memoryview) -> ToolNote:
    """Return what the contents of both sections say; nothing of a note that is damaged or of another form."""
    if len(note) < _HEAD.size + _WORDS.size:
        return ToolNote(
            version=" ".join(filter(None, c_text(bytes(comment).strip(b"\0").replace(b"\0", b" ")).split()))
        )
    name_size, size, kind, name = _HEAD.unpack_from(note)
    version, *offsets = _WORDS.unpack_from(note, _HEAD.size)
    if (name_size, kind, name, version) != (len(_NAME), _TYPE, _NAME, _VERSION):
        return ToolNote()
    strings = bytes(note[_HEAD.size + _WORDS.size : _HEAD.size + size])
    tool, release, _, options = (c_text(strings[offset:]) for offset in offsets[1:])
    number = _NUMBER.search(release)
    return ToolNote(tool, number[1] if number else release, " ".join(options.split()))

"""Host assembly (``.s``) as LLVM writes it for x86-64: the source line that each instruction came from.

Source: GNU ``as`` manual, chapter "Assembler Directives": ``.file NUMBER ["DIRECTORY"] "NAME"``, ``.loc FILE LINE
[COLUMN] [OPTIONS]``, which holds up to the next one, and ``.type NAME, @function``. Line 0 means no line. These
directives do not mention inlined calls.
"""

from __future__ import annotations

import re

from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import joined
from kernlens.model.stage_map import StageRows

_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_TYPE = re.compile(r'\.type\s+("[^"]*"|[^,\s]+),\s*@function')
_LABEL = re.compile(r'("[^"]*"|[^\s:"]+):')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))")


def read_host_assembly_lines(text: str) -> StageRows:
    """Read the instructions in order, each with its source place; those before a function's first ``.loc`` have none."""
    rows = StageRows()
    files: dict[int, str] = {}
    functions: set[str] = set()
    function = ""
    place: SourcePlace | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if match := _LABEL.match(word):
            if (name := match[1].strip('"')) in functions:
                function, place = name, None
        elif match := _LOC.match(word):
            path, source_line = files.get(int(match[1][:9]), ""), int(match[2][:9])
            place = SourcePlace(path, source_line, int((match[3] or "0")[:9])) if source_line else None
        elif match := _FILE.match(word):
            files[int(match[1][:9])] = _path(match[2], match[3])
        elif match := _TYPE.match(word):
            functions.add(match[1].strip('"'))
        elif not word.startswith(".") and function:
            rows.add(number, place, (), function)
    return rows


def _path(first: str, second: str | None) -> str:
    """Return the file's path: ``first`` is its directory if there is a ``second``."""
    return _plain(first) if second is None else joined(_plain(first), _plain(second))


def _plain(text: str) -> str:
    """Return a string without its escapes; bytes of UTF-8 stand in octal."""
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(lambda match: chr(int(match[1], 8) & 0xFF) if match[1] else match[2], text)
    try:
        return unescaped.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return unescaped

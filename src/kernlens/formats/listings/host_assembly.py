"""Assembly as text: the source line that each instruction of a ``.s`` by LLVM for x86-64 or an AMD GPU came from, and the
place of each instruction of a disassembly in the text and in the object.

Source: GNU ``as`` manual, chapter "Assembler Directives": ``.file NUMBER ["DIRECTORY"] "NAME"``, ``.loc FILE LINE
[COLUMN] [OPTIONS]``, which holds up to the next one, and ``.type NAME, @function``. Line 0 means no line. These
directives do not mention inlined calls.

Sources of disassembly: GNU binutils 2.40, ``binutils/objdump.c``, and LLVM 15, ``llvm/tools/llvm-objdump``, whose layout the
listings of Intel's CPU runtime have: ``Disassembly of section .text:``, ``0000000000001000 <function>:``, and a line per
instruction, ``    1004:``, a tab and its text. Relocations and source lines stand between them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import joined
from kernlens.model.stage_map import StageRows

#: A file's number, and its name, or its folder and its name.
FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_TYPE = re.compile(r'\.type\s+("[^"]*"|[^,\s]+),\s*@function')
_LABEL = re.compile(r'("[^"]*"|[^\s:"]+):')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))")
_METADATA = (".amdgpu_metadata", ".end_amdgpu_metadata")
_SECTION = re.compile(r"Disassembly of section (.+):\s*$")
_LISTED_FUNCTION = re.compile(r"([0-9A-Fa-f]{8,16}) <(.+)>:\s*$")
_LISTED_INSTRUCTION = re.compile(r" *([0-9A-Fa-f]{1,16}): *\t *\S")


def read_host_assembly_lines(text: str) -> StageRows:
    """Read the instructions in order, each with its source place; those before a function's first ``.loc`` have none."""
    rows = StageRows()
    files: dict[int, str] = {}
    functions: set[str] = set()
    function = ""
    place: SourcePlace | None = None
    is_metadata = False  # A code object's, in YAML.
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if word.startswith(_METADATA):
            is_metadata = word == _METADATA[0]
        if is_metadata or not word or word.startswith(("#", ";")):
            continue
        if match := _LABEL.match(word):
            if (name := match[1].strip('"')) in functions:
                function, place = name, None
        elif match := _LOC.match(word):
            path, source_line = files.get(int(match[1][:9]), ""), int(match[2][:9])
            place = SourcePlace(path, source_line, int((match[3] or "0")[:9])) if source_line else None
        elif match := FILE.match(word):
            files[int(match[1][:9])] = file_path(match[2], match[3])
        elif match := _TYPE.match(word):
            functions.add(match[1].strip('"'))
        elif not word.startswith(".") and function:
            rows.add(number, place, (), function)
    return rows


def file_path(first: str, second: str | None) -> str:
    """Return the path of a ``FILE``: ``first`` is its directory if there is a ``second``."""
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


class ListedInstruction(NamedTuple):
    """An instruction in a listing. ``line`` is the text's line, from 1; ``address`` is as in the object, within its
    ``section``; ``function`` is the nearest symbol before it, empty if there is none, and ``start`` that symbol's
    address."""

    line: int
    address: int
    section: str
    function: str
    start: int


def read_host_listing(text: str) -> list[ListedInstruction]:
    """Read the listed instructions of all sections, in order. Listings go through data too: choose by ``section``."""
    instructions: list[ListedInstruction] = []
    section, function, start = "", "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _LISTED_INSTRUCTION.match(line):
            instructions.append(ListedInstruction(number, int(match[1], 16), section, function, start))
        elif match := _LISTED_FUNCTION.match(line):
            function, start = match[2], int(match[1], 16)
        elif match := _SECTION.match(line):
            section, function, start = match[1], "", 0
    return instructions

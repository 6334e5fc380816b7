"""What an attack is, and what it leaves behind where it succeeds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

#: What every private text holds, and what it is called in the private binaries.
MARK = "PRIVATE-5c1e"
KERNEL = "private_5c1e"
#: The guards, each of which is taken out to see that an attack would succeed without it. ``BESIDE`` and ``SOURCE`` are those
#: of the door to files (``toolchain/sources/source_reading.py``), ``SHOWN`` is what makes lines and documents printable.
#: ``PARTS``, ``TEXTS`` and ``SPOOL`` keep what is written where it belongs: extracted parts, recorded sources, recordings.
BESIDE, SOURCE, SHOWN = "beside", "source", "shown"
#: ``COMPILER`` is the confinement of compilers, ``REPOSITORY`` is what git is told, ``SERVER`` is what each request passes.
PARTS, TEXTS, SPOOL = "parts", "texts", "spool"
COMPILER, REPOSITORY, SERVER = "compiler", "repository", "server"
#: Characters that a terminal obeys, and those that make a line read otherwise than it is.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: What a name holds that forges a line.
FORGED = "FORGED-5c1e"


@dataclass(frozen=True)
class Attack:
    """A command that is run in ``folder``, and the guard that keeps it from what it is after."""

    name: str
    folder: Path
    words: tuple[str, ...]
    guard: str


def told(attack: Attack) -> str:
    """Return which file of what was printed or written holds private text, "" if none does."""
    marks = (MARK.encode(), KERNEL.encode())
    written = (path for path in attack.folder.rglob("*") if path.suffix in (".said", ".html") or "out" in path.parts)
    holding = (path.name for path in written if path.is_file() and any(mark in path.read_bytes() for mark in marks))
    return next((f"written to {name}" for name in holding), "")


def obeyed(attack: Attack) -> str:
    """Return what a terminal would obey in what was printed or written, and in the names of extracted parts, "" if there is
    nothing. The parts are the file's own bytes."""
    for path in (attack.folder / "out").rglob("*"):
        if match := _CONTROLS.search(path.name):
            return f"{path.name!a} holds {match[0]!a}"
    for path in (attack.folder / "command.said", attack.folder / "out.html"):
        text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n") if path.is_file() else ""
        if match := _CONTROLS.search(text):
            return f"{path.name} holds {match[0]!a}"
        if any(line.startswith(FORGED) for line in text.split("\n")):
            return f"{path.name} has a forged line"
    return ""


def escaped(attack: Attack, before: dict[str, str]) -> str:
    """Return what changed outside of the folder ``out``, or what is written there under two names that differ in letter case
    only, "" if nothing is."""
    after = changes(attack.folder)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            return f"changed {os.path.relpath(path, attack.folder)}"
    written = [str(path).lower() for path in (attack.folder / "out").rglob("*")]
    return next((f"{path} is there twice" for path in written if written.count(path) > 1), "")


def changes(folder: Path) -> dict[str, str]:
    """Return what lies below a folder but for what a command may write there: its output, and the folder ``out``. A file is
    its content, a link what it leads to."""
    listed = {}
    for top, folders, files in os.walk(folder):
        if Path(top) == folder and "out" in folders and not (folder / "out").is_symlink():
            folders.remove("out")
        for name in (*folders, *files):
            path = Path(top, name)
            if path.is_symlink():
                listed[str(path)] = os.readlink(path)
            elif path.is_file() and name != "command.said":
                listed[str(path)] = sha256(path.read_bytes()).hexdigest()
            elif path.is_dir():
                listed[str(path)] = ""
    return listed

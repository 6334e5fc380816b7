"""Finds the text of the files that line tables name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from kernlens.model.line_table import LineTable, SourceFile
from kernlens.model.program import Source

#: What Intel's compilers call the program's own source when it came to them without a name.
_NAMELESS = re.compile(r"(?:.*/)?(?:<stdin>|\d+)")
#: Names below which no source lies, but which a hostile line table could name to have them shown.
_FORBIDDEN_ROOTS = ("/proc/", "/sys/", "/dev/")
#: A table with more files than this is damage; each may cost several look-ups on disk.
_MOST_READS = 4096


def match_sources(
    tables: Iterable[LineTable], available: Sequence[Source], read: Callable[[str], str | None]
) -> tuple[Source, ...]:
    """Returns a Source for each file that the tables' rows name and whose text can be had, under the tables' name for
    it.

    In this order: the text within the table itself (DWARF 5); of ``available`` the one with this name, then the only
    one whose path ends alike; for the nameless program source (``<stdin>``, ``1``) the one that has no name either,
    or the only one that no named file claims; at last ``read``, which is given the name joined with the compile
    directory and answers None for what it cannot find. Text from disk that differs from the table's own checksum is
    not taken: the file has changed since.
    """
    wanted = _wanted(tables)
    matched: dict[str, Source] = {}
    claimed: set[int] = set()
    for path, (file, directory) in wanted.items():
        if file.text is not None:
            matched[path] = Source(path, file.text, "binary")
        elif not _is_nameless(path) and (source := _named(path, directory, available)) is not None:
            matched[path] = Source(path, source.text, source.origin)
            claimed.add(id(source))
    nameless = _nameless([source for source in available if id(source) not in claimed])
    reads = 0
    for path, (file, directory) in wanted.items():
        if path in matched:
            continue
        if _is_nameless(path):
            if nameless is not None:
                matched[path] = Source(path, nameless.text, nameless.origin)
        elif reads < _MOST_READS and _may_be_read(full := joined(directory, path)):
            reads += 1
            text = read(full)
            if text is not None and _is_unchanged(text, file.md5):
                matched[path] = Source(path, text, "disk")
    return tuple(matched[path] for path in wanted if path in matched)


def joined(directory: str, path: str) -> str:
    """Returns ``path`` as the compiler saw it: within the compile directory, unless it is absolute."""
    if not directory or path.startswith(("/", "\\")) or path[1:2] == ":":
        return path
    return directory.rstrip("/\\") + "/" + path


def _wanted(tables: Iterable[LineTable]) -> dict[str, tuple[SourceFile, str]]:
    """Returns the files that rows name, with their table's compile directory, by path."""
    wanted: dict[str, tuple[SourceFile, str]] = {}
    for table in tables:
        for number in sorted(set(table.files_of)):
            file = table.files[number]
            if file.path:
                wanted.setdefault(file.path, (file, table.directory))
    return wanted


def _is_nameless(path: str) -> bool:
    return _NAMELESS.fullmatch(path) is not None


def _named(path: str, directory: str, available: Sequence[Source]) -> Source | None:
    """Returns the source of this name, or the only one whose path is the end of this one or the other way round."""
    names = {path, joined(directory, path)}
    for source in available:
        if source.path in names:
            return source
    pieces = _pieces(joined(directory, path))
    alike = [source for source in available if _end_alike(_pieces(source.path), pieces)]
    return alike[0] if len(alike) == 1 else None


def _pieces(path: str) -> list[str]:
    return [piece for piece in path.replace("\\", "/").split("/") if piece not in ("", ".")]


def _end_alike(first: list[str], second: list[str]) -> bool:
    length = min(len(first), len(second))
    return length > 0 and first[-length:] == second[-length:]


def _nameless(available: Sequence[Source]) -> Source | None:
    """Returns the program's own source among those that no named file is."""
    for source in available:
        if source.origin == "program" or not source.path or _is_nameless(source.path):
            return source
    return available[0] if len(available) == 1 else None


def _may_be_read(path: str) -> bool:
    """Tells whether a table's name may be looked up on disk: not if it leads to the system's or to hidden files."""
    plain = path.replace("\\", "/")
    pieces = plain.split("/")
    if "\0" in plain or any(piece.startswith(".") and piece not in (".", "..") for piece in pieces):
        return False
    climbed = "/" + "/".join(_resolved(pieces)) + "/"
    return not climbed.startswith(_FORBIDDEN_ROOTS)


def _resolved(pieces: list[str]) -> list[str]:
    """Returns the path's pieces with ``.`` and ``..`` taken out."""
    kept: list[str] = []
    for piece in pieces:
        if piece == "..":
            del kept[-1:]
        elif piece not in ("", "."):
            kept.append(piece)
    return kept


def _is_unchanged(text: str, md5: str | None) -> bool:
    # Text with replaced bytes has another checksum than its file; then there is nothing to compare.
    if md5 is None or "\ufffd" in text:
        return True
    from hashlib import md5 as checksum

    return checksum(text.encode(), usedforsecurity=False).hexdigest() == md5

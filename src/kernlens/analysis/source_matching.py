"""The texts of the files that line tables name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

from kernlens.model.build import Source
from kernlens.model.line_table import LineTable, SourceFile
from kernlens.model.source_path import is_nameless, joined, pieces_of

#: ``#line 7 "blur.cl"``, or ``# 7 "blur.cl"`` by a preprocessor: the number and file that the next line counts as.

#: Files that directives name have no more lines together: the empty ones between cost room, too.
_MOST_LINES = 1 << 20
#: A table with more files than this is damage; each may cost several look-ups on disk.
_MOST_READS = 4096


@cache
def _line_directive() -> re.Pattern[str]:
    return re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d{1,9})(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?', re.MULTILINE)


def match_sources(
    tables: Iterable[LineTable], available: Sequence[Source], read: Callable[[str], Source | None]
) -> tuple[Source, ...]:
    """Return a Source for each file that the tables' rows name and whose text can be had, under the tables' name for it.

    In this order: the text within the table itself (DWARF 5); of ``available`` the one with this name, then the only
    one whose path ends alike; for the nameless program source (``<stdin>``, ``1``) the one that has no name either,
    or the only one that no named file claims; the lines that directives in any of these count to the file; at last
    ``read``, which is given the name joined with the compile directory and answers None for what it cannot find, and a
    Source without text for what must not be read. Text from disk that differs from the table's own checksum is not
    taken: the file has changed since.
    """
    listed = _listed_files(tables)
    matched: dict[str, Source] = {}
    claimed: set[int] = set()
    names = _SourceNames(available)
    for path, (file, directory) in listed.items():
        if file.text is not None:
            matched[path] = Source(path, file.text, "binary")
        elif not is_nameless(path) and (source := names.find(path, directory)) is not None:
            matched[path] = replace(source, path=path)
            claimed.add(id(source))
    nameless = _nameless([source for source in available if id(source) not in claimed])
    is_named = any(path not in matched and not is_nameless(path) for path in listed)
    counted = _counted_lines(source for source in available if id(source) not in claimed) if is_named else {}
    reads = 0
    for path, (file, directory) in listed.items():
        if path in matched:
            continue
        if is_nameless(path):
            if nameless is not None:
                matched[path] = Source(path, nameless.text, nameless.origin)
        elif path in counted:
            matched[path] = counted[path]
        elif reads < _MOST_READS:
            reads += 1
            on_disk = read(joined(directory, path))
            if on_disk is not None and (on_disk.unread or _is_unchanged(on_disk.text, file.md5)):
                matched[path] = replace(on_disk, path=path)
    return tuple(matched[path] for path in listed if path in matched)


def _listed_files(tables: Iterable[LineTable]) -> dict[str, tuple[SourceFile, str]]:
    """Return the files that rows name, with their table's compile directory, by path."""
    listed: dict[str, tuple[SourceFile, str]] = {}
    for table in tables:
        for number in sorted(set(table.files_of)):
            file = table.files[number]
            if file.path:
                listed.setdefault(file.path, (file, table.directory))
    return listed


class _Ends:
    """Paths by their pieces, the last piece first: which of them end alike is found by walking down once."""

    __slots__ = ("beginning", "count", "next", "through")

    def __init__(self) -> None:
        self.next: dict[str, _Ends] = {}
        self.count = 0  # of the paths that lead here or further
        self.through: Source | None = None  # the first of them
        self.beginning: list[Source] = []  # whose path has no more pieces


class _SourceNames:
    """The sources at hand by their names."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._by_path: dict[str, Source] = {}
        self._ends = _Ends()
        for source in sources:
            self._by_path.setdefault(source.path, source)
            pieces = pieces_of(source.path)
            if pieces:
                self._add(pieces, source)

    def _add(self, pieces: list[str], source: Source) -> None:
        node = self._ends
        for piece in reversed(pieces):
            if piece not in node.next:
                node.next[piece] = _Ends()
            node = node.next[piece]
            node.count += 1
            node.through = node.through or source
        node.beginning.append(source)

    def find(self, path: str, directory: str) -> Source | None:
        """Return the source of this name, or the only one whose path is the end of this one or the other way round."""
        full = joined(directory, path)
        named = self._by_path.get(path) or self._by_path.get(full)
        return named or self._alike(pieces_of(full))

    def _alike(self, pieces: list[str]) -> Source | None:
        node, alike, count = self._ends, None, 0
        for piece in reversed(pieces):
            if node.beginning:
                alike, count = alike or node.beginning[0], count + len(node.beginning)
            if piece not in node.next:
                break
            node = node.next[piece]
        else:
            # The path is the end of all that go on from here.
            if pieces:
                alike, count = alike or node.through, count + node.count
        return alike if count == 1 else None


def _nameless(available: Sequence[Source]) -> Source | None:
    """Return the program's own source among those that no named file is."""
    for source in available:
        if source.origin == "program" or not source.path or is_nameless(source.path):
            return source
    return available[0] if len(available) == 1 else None


def _counted_lines(available: Iterable[Source]) -> dict[str, Source]:
    """Return the files to which line directives count lines of these sources, by name; lines between are empty."""
    lines: dict[str, dict[int, str]] = {}
    origins: dict[str, str] = {}
    for source in available:
        name, number = "", 0
        for line in source.text.split("\n") if _line_directive().search(source.text) else ():
            directive = _line_directive().match(line)
            if directive is not None:
                number = int(directive[1])
                name = name if directive[2] is None else re.sub(r"\\(.)", r"\1", directive[2])
                origins.setdefault(name, source.origin)
            else:
                if name:
                    lines.setdefault(name, {}).setdefault(number, line)
                number += 1
    counted = {}
    room = _MOST_LINES
    for name, of_file in lines.items():
        last = max(of_file)
        if last <= room:
            room -= last
            text = "\n".join(of_file.get(number, "") for number in range(1, last + 1))
            counted[name] = Source(name, text, origins[name])
    return counted


def _is_unchanged(text: str, md5: str | None) -> bool:
    # Text with replaced bytes has another checksum than its file; then there is nothing to compare.
    if md5 is None or "\ufffd" in text:
        return True
    from hashlib import md5 as checksum

    return checksum(text.encode(), usedforsecurity=False).hexdigest() == md5

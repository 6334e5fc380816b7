"""The reader of explore documents and of pages that hold them, by docs/formats/explore.md alone, without kernlens."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any, NamedTuple

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_/{|}~"
VALUES = {digit: value for value, digit in enumerate(DIGITS)}
LIMIT = 1 << 26


def bytes_of_base85(text: str) -> bytes:
    """Return four bytes for each five digits."""
    assert len(text) % 5 == 0
    content = bytearray()
    for start in range(0, len(text), 5):
        number = 0
        for digit in text[start : start + 5]:
            number = number * 85 + VALUES[digit]
        content += number.to_bytes(4, "big")
    return bytes(content)


def inflated(packed: bytes) -> bytes:
    """Return what DEFLATE packed: all of it, and nothing behind it."""
    reader = zlib.decompressobj(wbits=-15)
    content = reader.decompress(packed)
    assert reader.eof
    assert not reader.unused_data
    return content


def unpacked(frame: bytes) -> Any:
    """Return the JSON in a frame."""
    content = inflated(frame)
    assert len(content) <= LIMIT
    return json.loads(content.decode("utf-8", "strict"))


def summed(deltas: Sequence[int]) -> list[int]:
    return list(accumulate(deltas))


class Place(NamedTuple):
    """A place with the calls that it was inlined through, innermost first."""

    path: str
    line: int
    column: int
    calls: tuple[tuple[str, int, int], ...]


#: Bits of a row's flags with one of which it counts for no line: of the prologue, inherited, lost.
NOT_OWN = 1 | 2 | 4


@dataclass
class Stage:
    document: Mapping[str, Any]
    #: The lines of the stages before it; takes its own.
    known: list[str]

    def __post_init__(self) -> None:
        self.known += self.document["text"].split("\n") if self.document["text"] is not None else []
        self.rows = [self.known[number] for number in summed(self.document["row"])]
        self.lines = summed(self.document["line"])
        self.places = summed(self.document["place"])
        ids = self.document["id"]
        starts = summed(ids) if ids is not None else [-1] * len(self.rows)
        counts = self.document["ids"] or [0] * len(self.rows)
        self.numbers = [range(start, start + count) for start, count in zip(starts, counts, strict=True)]
        assert len(self.rows) == len(self.lines) == len(self.places) == len(self.numbers)


class KernelChunk:
    """A kernel's chunk, its columns undone."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        assert (document["schema"], document["kind"]) == (2, "kernel")
        self.document = document
        places = document["places"]
        lines = summed(places["line"])
        self._places: list[Place] = []
        for file, line, column, caller in zip(places["file"], lines, places["column"], places["caller"], strict=True):
            calls: tuple[tuple[str, int, int], ...] = ()
            if caller >= 0:
                outer = self._places[caller]  # Callers come before their callees.
                calls = ((outer.path, outer.line, outer.column), *outer.calls)
            self._places.append(Place(document["files"][file], line, column, calls))
        known: list[str] = []
        self.stages = {stage["stage"]: Stage(stage, known) for stage in document["stages"] if not stage["missing"]}
        code = document["code"]
        if code is not None:
            self.rows = code["text"].split("\n")
            self.offsets = summed(code["offset"])
            self.places = [self.place(number) for number in summed(code["place"])]
            self.ids = summed(code["id"]) if code["id"] is not None else None
            self.flags = code["flags"]
            self.opcodes = [code["opcode"][number] for number in code["op"]]
            self.blocks = summed(code["block"])
            assert len({len(self.rows), len(self.offsets), len(self.places), len(self.flags), len(self.opcodes)}) == 1

    def place(self, number: int) -> Place | None:
        return self._places[number] if number >= 0 else None

    def own_line(self, place: Place) -> tuple[str, int]:
        """The line that a place is on with own lines."""
        own = {self.document["files"][number] for number in self.document.get("own", ())}
        chain = [place[:2], *(call[:2] for call in place.calls)]
        return next(((path, line) for path, line in chain if path in own and line), (place.path, place.line))

    def counts(self, *, is_own: bool) -> Counter[tuple[str, int]]:
        """The instructions of each line."""
        counted = [place for place, flags in zip(self.places, self.flags, strict=True) if place and not flags & NOT_OWN]
        return Counter(self.own_line(place) if is_own else (place.path, place.line) for place in counted)


class _Blocks(HTMLParser):
    """The elements of a page: what the blocks hold, and its policy."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.sizes: dict[str, str] = {}
        self.scripts: list[str] = []
        self.policy = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append((tag, values))
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values.get("content") or ""
        if tag == "script":
            self._inside = values.get("id") or ""
            self.sizes[self._inside] = values.get("data-bytes") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "":
            self.scripts.append(data)
        elif self._inside is not None:
            self.texts[self._inside] = self.texts.get(self._inside, "") + data


class Page:
    """A report: its index, and its chunks by their ids."""

    def __init__(self, text: str) -> None:
        blocks = _Blocks()
        blocks.feed(text)
        blocks.close()
        self.tags, self.policy, self.scripts = blocks.tags, blocks.policy, blocks.scripts
        self.text = text
        index = bytes_of_base85(blocks.texts["index"])[: int(blocks.sizes["index"])]
        self.index = unpacked(index)
        self._chunks = blocks.texts.get("chunks", "")
        packed = bytes_of_base85(blocks.texts["viewer"])[: int(blocks.sizes["viewer"])]
        #: The script that the page unpacks and runs.
        self.viewer = inflated(packed).decode()

    def chunk(self, chunk_id: str) -> Any:
        entry = self.index["chunks"][chunk_id]
        start = entry["offset"] // 4 * 5
        end = start + (entry["packed"] + 3) // 4 * 5
        frame = bytes_of_base85(self._chunks[start:end])[: entry["packed"]]
        content = inflated(frame)
        assert len(content) <= LIMIT
        document = json.loads(content[entry["start"] :][: entry["size"]].decode("utf-8", "strict"))
        assert (document["schema"], document["kind"]) == (2, entry["kind"])
        return document


def referenced(index: Any) -> set[str]:
    """Return every chunk that an index names outside of its list of chunks."""
    rest = json.dumps({key: value for key, value in index.items() if key != "chunks"})
    return set(re.findall(r'"([0-9a-f]{16})"', rest)) & set(index["chunks"])

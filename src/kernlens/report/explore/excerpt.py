"""An excerpt of ``explore`` documents: some kernels of some of their programs, as one document for a page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kernlens.dataclass import dataclass
from kernlens.report.explore.explore_document import ExploreDocument
from kernlens.report.explore.packing import encoded


@dataclass(frozen=True, slots=True)
class Part:
    """A document to take programs from. ``clean`` changes the JSON of its index and chunks; None: it stays as it is."""

    document: ExploreDocument
    clean: Callable[[bytes], bytes] | None = None

    def index(self) -> dict[str, Any]:
        """Return the document's index with what is known by now."""
        import orjson

        index = self.document.index
        return index if self.clean is None else orjson.loads(self.clean(encoded(index)))


class Chosen(NamedTuple):
    """The kernels of these names of a program, by its id; None: all."""

    program: str
    kernels: Collection[str] | None = None


class ShownChunks(Protocol):
    """The chunks of a document, as a page takes them."""

    def __iter__(self) -> Iterator[str]: ...

    def kind(self, chunk_id: str) -> str:
        """Return the kind of a chunk."""

    def content(self, chunk_id: str) -> bytes:
        """Return what a chunk unpacks to."""


class Shown(Protocol):
    """A document, as a page takes it."""

    @property
    def index(self) -> dict[str, Any]:
        """The index, with what is known by now."""

    @property
    def chunks(self) -> ShownChunks:
        """The chunks that the index names."""


class ExcerptChunks:
    """The chunks of an excerpt, each from the document that it is of."""

    def __init__(self, parts: dict[str, Part]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def kind(self, chunk_id: str) -> str:
        """Return the kind of a chunk."""
        return self._parts[chunk_id].document.chunks.kind(chunk_id)

    def content(self, chunk_id: str) -> bytes:
        """Return what a chunk unpacks to."""
        part = self._parts[chunk_id]
        content = part.document.chunks.content(chunk_id)
        return content if part.clean is None else part.clean(content)


class Excerpt:
    """A document of what is ``chosen`` of ``parts``, in that order; with ``has_tables`` with the metadata tables of stages.
    Programs that no part has are left out."""

    def __init__(
        self, parts: Sequence[Part], chosen: Sequence[Chosen], *, title: str | None = None, has_tables: bool = True
    ) -> None:
        self._parts = parts
        self._chosen = chosen
        self._title = title
        self._has_tables = has_tables
        self.chunks = ExcerptChunks({chunk: part for part, entry in self._entries() for chunk in _chunks_of(entry)})

    @property
    def index(self) -> dict[str, Any]:
        """The index, with the figures of kernels whose chunks were made."""
        indexes = [part.index() for part in self._parts]
        opcodes = {name: words for index in indexes for name, words in index["opcodes"].items()}
        title = {} if self._title is None else {"title": self._title}
        programs = [entry for _, entry in self._entries()]
        chunks = {chunk: {"kind": self.chunks.kind(chunk)} for chunk in self.chunks}
        return indexes[0] | title | {"opcodes": opcodes, "programs": programs, "chunks": chunks}

    def _entries(self) -> Iterator[tuple[Part, dict[str, Any]]]:
        known: dict[str, tuple[Part, dict[str, Any]]] = {}
        for part in self._parts:
            for entry in part.index()["programs"]:
                known.setdefault(entry["id"], (part, entry))
        for program, kernels in self._chosen:
            if program in known:
                part, entry = known[program]
                yield part, self._with_kernels(entry, kernels)

    def _with_kernels(self, entry: dict[str, Any], kernels: Collection[str] | None) -> dict[str, Any]:
        columns = entry["kernels"]
        rows = [row for row, name in enumerate(columns["name"]) if kernels is None or name in kernels]
        reasons = {
            str(number): entry["reasons"][str(row)] for number, row in enumerate(rows) if str(row) in entry["reasons"]
        }
        stages = entry["stages"] if self._has_tables else [stage | {"meta": None} for stage in entry["stages"]]
        columns_left = {key: [column[row] for row in rows] for key, column in columns.items()}
        return entry | {"kernels": columns_left, "reasons": reasons, "stages": stages}


def _chunks_of(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the chunks that a program's entry names, each once or more."""
    named = [entry["log"], entry["passes"]]
    named += [file["chunk"] for file in entry["files"]]
    named += [stage["meta"] for stage in entry["stages"]]
    yield from entry["kernels"]["chunk"]
    yield from (chunk for chunk in named if chunk is not None)

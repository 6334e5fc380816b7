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
    """The kernels of these names of a program, by its id; None: all. ``version`` stands beside their names, to tell it
    from others that were compiled from the same source."""

    program: str
    kernels: Collection[str] | None = None
    version: str | None = None


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
        self.chunks = ExcerptChunks({chunk: part for part, entry, _ in self._entries() for chunk in _chunks_of(entry)})

    @property
    def index(self) -> dict[str, Any]:
        """The index, with the figures of kernels whose chunks were made. The chunk that all kernels of a document are
        searched by is left out."""
        indexes = [part.index() for part in self._parts]
        opcodes = {name: words for index in indexes for name, words in index["opcodes"].items()}
        title = {} if self._title is None else {"title": self._title}
        groups: list[dict[str, Any]] = []
        programs = [_regrouped(entry, own, groups) for _, entry, own in self._entries()]
        chunks = {chunk: {"kind": self.chunks.kind(chunk)} for chunk in self.chunks}
        return (
            indexes[0]
            | title
            | {"opcodes": opcodes, "groups": groups, "search": None, "programs": programs, "chunks": chunks}
        )

    def _entries(self) -> Iterator[tuple[Part, dict[str, Any], list[dict[str, Any]]]]:
        """Yield each program's entry, with the part that it is of, and the groups of that."""
        known: dict[str, tuple[Part, dict[str, Any], list[dict[str, Any]]]] = {}
        for part in self._parts:
            index = part.index()
            for entry in index["programs"]:
                known.setdefault(entry["id"], (part, entry, index["groups"]))
        for chosen in self._chosen:
            if chosen.program in known:
                part, entry, groups = known[chosen.program]
                yield part, self._with_kernels(entry, chosen), groups

    def _with_kernels(self, entry: dict[str, Any], chosen: Chosen) -> dict[str, Any]:
        columns = entry["kernels"]
        rows = [row for row, name in enumerate(columns["name"]) if chosen.kernels is None or name in chosen.kernels]
        numbers = {str(row): str(number) for number, row in enumerate(rows)}
        beside, reasons = (
            {numbers[row]: words for row, words in entry[key].items() if row in numbers}
            for key in ("beside", "reasons")
        )
        if chosen.version is not None:
            beside = dict.fromkeys(numbers.values(), chosen.version)
        return entry | {
            "kernels": {key: [column[row] for row in rows] for key, column in columns.items()},
            "beside": beside,
            "reasons": reasons,
            "stages": entry["stages"] if self._has_tables else [stage | {"meta": None} for stage in entry["stages"]],
            "passes": entry["passes"] and [entry["passes"][row] for row in rows],
        }


def _regrouped(entry: dict[str, Any], own: Sequence[dict[str, Any]], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an entry whose groups are of ``groups``, which get those that they lack."""
    columns = entry["kernels"]
    for number in columns["group"]:
        if own[number] not in groups:
            groups.append(own[number])
    return entry | {"kernels": columns | {"group": [groups.index(own[number]) for number in columns["group"]]}}


def _chunks_of(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the chunks that a program's entry names, each once or more."""
    named = [entry["log"], *(entry["passes"] or ())]
    named += [file["chunk"] for file in entry["files"]]
    named += [stage["meta"] for stage in entry["stages"]]
    yield from entry["kernels"]["chunk"]
    yield from (chunk for chunk in named if chunk is not None)

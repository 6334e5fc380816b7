"""The contents of a recording, and how much room they take: nothing is unpacked for that."""

from __future__ import annotations

import hashlib
from dataclasses import astuple

from kernlens.dataclass import dataclass
from kernlens.model.build import Build
from kernlens.recording.launch_rows import behaviour_rows, launch_rows, piece_rows
from kernlens.recording.reader import Recording
from kernlens.recording.schema import BEHAVIOUR, LAUNCH, LAUNCHES, damaged, typed

#: What a program may hold, by the names that people have for it, and each part's role; stages have a table of their own.
KINDS = {
    "sources": "source", "binaries": "binary", "debug": "debug", "spirv": "spirv", "logs": "log", "stages": "stage",
    "behaviour": BEHAVIOUR, "launches": LAUNCH,
}  # fmt: skip
#: The kind of launches that were kept, and the kinds of what a program did, which are no part of what it is.
KEPT = "launches"
_OF_RUNS = (BEHAVIOUR, KEPT)
#: What tells launches apart: kernel, number, process. Pieces of memory have more.
_LAUNCH_LABEL = 3
#: What launches ask for is a few bytes, which stay and are listed with what the compiler said.
_KIND_OF = {role: kind for kind, role in KINDS.items()} | {LAUNCHES: "logs"}


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """Content in the file: ``size`` bytes, that take ``packed`` bytes there."""

    sha256: bytes
    size: int
    packed: int


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a program: its kind, what tells it apart from others of the kind, and its content, None if that was left
    out."""

    kind: str
    label: tuple[object, ...]
    blob: StoredBlob | None


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program in the file: its number, and its parts in their order."""

    number: int
    build: Build
    parts: tuple[StoredPart, ...]

    @property
    def size(self) -> int:
        """The bytes of all its contents, unpacked."""
        return sum(part.blob.size for part in self.parts if part.blob)

    @property
    def kept_launches(self) -> int:
        """The number of launches that were kept."""
        return sum(part.kind == KEPT and len(part.label) == _LAUNCH_LABEL for part in self.parts)

    def identity(self) -> bytes:
        """Return a hash that two programs share if the same was made of the same, whatever they are called and whenever
        it was; what it did on some data is no part of it."""
        build = self.build
        parts = [
            (part.kind, part.label, part.blob and part.blob.sha256) for part in self.parts if part.kind not in _OF_RUNS
        ]
        toolchain = build.toolchain and astuple(build.toolchain)
        what = (build.device, toolchain, build.options, build.outcome, build.reason, parts)
        return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).digest()


def stored_programs(recording: Recording) -> list[StoredProgram]:
    """Return all programs of a recording in its order. Raises FormatError if its tables are damaged."""
    blobs = {
        typed(number, int, "blob"): StoredBlob(
            typed(digest, bytes, "blob"), max(0, typed(size, int, "blob")), typed(packed, int, "blob")
        )
        for number, digest, size, packed in recording.rows("SELECT id, sha256, size, length(content) FROM blob")
    }
    parts: dict[int, list[StoredPart]] = {}
    for program, role, path, blob in recording.rows("SELECT program, role, path, blob FROM part ORDER BY position"):
        kind = _KIND_OF.get(typed(role, str, "part"))
        if kind is None:
            raise damaged(f"a part has the role {role!r}")
        part = StoredPart(kind, (typed(path, str, "part"),), None if blob is None else _blob(blobs, blob))
        parts.setdefault(typed(program, int, "part"), []).append(part)
    stages = recording.rows("SELECT program, blob, stage, kernel, form, ending FROM snapshot ORDER BY position")
    for program, blob, *label in stages:
        stage = StoredPart("stages", tuple(label), _blob(blobs, blob))
        parts.setdefault(typed(program, int, "snapshot"), []).append(stage)
    for program in parts.keys() | {row[0] for row in recording.rows("SELECT id FROM program")}:
        for kernel, launches, number, _ in behaviour_rows(recording, program):
            launch = StoredPart(BEHAVIOUR, (kernel, launches), _blob(blobs, number))
            parts.setdefault(program, []).append(launch)
        for row in launch_rows(recording, program):
            parts.setdefault(program, []).append(StoredPart(KEPT, row[1:4], _blob(blobs, row.blob)))
            for memory, moment, piece, number, _ in piece_rows(recording, program, row.position):
                content = StoredPart(KEPT, (*row[1:4], memory, moment, piece), _blob(blobs, number))
                parts.setdefault(program, []).append(content)
    numbers = [typed(number, int, "program") for (number,) in recording.rows("SELECT id FROM program ORDER BY id")]
    return [
        StoredProgram(number, build, tuple(parts.get(number, ())))
        for number, build in zip(numbers, recording.builds(), strict=True)
    ]


def _blob(blobs: dict[int, StoredBlob], number: object) -> StoredBlob:
    blob = blobs.get(typed(number, int, "part"))
    if blob is None:
        raise damaged("content is missing")
    return blob

"""The ``explore`` document: an index of programs and kernels, and chunks with their contents, made when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernlens.model.build import Build
from kernlens.model.figures import FIGURES
from kernlens.model.program import Program
from kernlens.report.explore.chunks import Chunks
from kernlens.report.explore.program_index import failed_index, program_index

SCHEMA = 2


@dataclass(frozen=True)
class Document:
    """``index`` is ready for JSON; ``chunks`` maps ids to zstd frames, whose content is JSON."""

    index: dict[str, Any] = field(repr=False)
    chunks: Chunks = field(repr=False)


def document(
    programs: Sequence[Program],
    *,
    title: str = "",
    version: str = "",
    kernels: Sequence[Collection[str]] | None = None,
    failed: Sequence[Build] = (),
    redacted: Sequence[str] = (),
    has_stages: bool = True,
) -> Document:
    """Makes the document of these programs.

    ``kernels`` are the names of those that are wanted of each program; None: all of all. ``failed`` are builds without a
    binary, which are listed with their logs; ``redacted`` says what was left out of the programs' texts. No kernel is
    decoded before its chunk is asked for. Raises FormatError if a program is damaged.
    """
    chunks = Chunks()
    wanted = kernels or [tuple(program.entry_kernels) for program in programs]
    entries = [
        program_index(program, names, chunks, version, has_stages=has_stages)
        for program, names in zip(programs, wanted, strict=True)
    ]
    entries += [failed_index(build, chunks) for build in failed]
    index = {
        "schema": SCHEMA,
        "kernlens": version,
        "title": title,
        "redacted": list(redacted),
        "figures": [
            {"key": figure.key, "heading": figure.heading, "unit": figure.unit, "meaning": figure.meaning}
            | {"words": figure.words, "zero": figure.zero, "unknown": figure.unknown}
            for figure in FIGURES
        ],
        "opcodes": {},
        "programs": entries,
        "chunks": {chunk: {"kind": chunks.kind(chunk)} for chunk in chunks},
    }
    return Document(index, chunks)

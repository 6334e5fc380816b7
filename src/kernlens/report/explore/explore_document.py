"""The ``explore`` document: an index of programs and kernels, and chunks with their contents, made when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import repeat
from typing import Any

from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.analysis.start_here import start_here
from kernlens.errors import KernlensError
from kernlens.isa.intel.opcodes import EXPLANATIONS
from kernlens.model.build import Build
from kernlens.model.figures import FIGURES, OF_FAMILIES
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.describe import kernel_words
from kernlens.report.explore.chunks import Chunks
from kernlens.report.explore.name_groups import Listed, kernel_names
from kernlens.report.explore.program_index import SPILL_COLUMNS, Diagnosed, ProgramEntries, Redaction, with_any
from kernlens.report.json_text import attributes
from kernlens.report.start_words import start_sentence, text_of

SCHEMA = 2


class ExploreDocument:
    """A document: ``chunks`` maps ids to JSON, packed with DEFLATE; ``index`` says what they are."""

    def __init__(self, index: dict[str, Any], chunks: Chunks) -> None:
        self._index = index
        self.chunks = chunks

    @property
    def index(self) -> dict[str, Any]:
        """The index, ready for JSON, with what is known so far: the figures of kernels whose chunks were made."""
        programs = []
        for program in self._index["programs"]:
            columns = self._counted(program["kernels"])
            known = [self.chunks.figures.get(chunk, {}) for chunk in columns["chunk"]]
            for name in ("memory", "peak"):
                columns[name] = [figures.get(name) for figures in known]
            programs.append(program | {"kernels": columns})
        kinds = {chunk: {"kind": self.chunks.kind(chunk)} for chunk in self.chunks}
        return self._index | {"programs": programs, "chunks": kinds}

    def _counted(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a program's kernels with what was counted when their chunks were made."""
        rows = [self.chunks.counted.get(chunk, {}) for chunk in columns["chunk"]]
        counted = {
            key: [row.get(key, value) for row, value in zip(rows, columns.get(key) or repeat(None), strict=False)]
            for key in dict.fromkeys(key for row in rows for key in row)
        }
        spills = {key: counted.pop(key) for key in SPILL_COLUMNS if key in counted}
        return columns | counted | with_any(spills)


def explore_document(
    programs: Sequence[Program],
    *,
    title: str = "",
    version: str = "",
    kernels: Sequence[Collection[str]] | None = None,
    failed: Sequence[Build] = (),
    redaction: Redaction | None = None,
    has_stages: bool = True,
    own_roots: Collection[str] = (),
    is_own: bool = False,
    sampled: SampledKernels | None = None,
    diagnosed: Diagnosed | None = None,
    left_out: Sequence[tuple[str, str]] = (),
    is_whole: bool = False,
) -> ExploreDocument:
    """Make the document of these programs.

    ``kernels`` are the names of those that are wanted of each program; None: all of all. ``failed`` are builds without a
    binary, which are listed with their logs. With a ``redaction`` neither source text nor stages are in the
    document.
    Files below the folders ``own_roots`` are the user's own too (``analysis.own_lines``); with ``is_own`` the page begins
    with instructions on own lines. ``sampled`` has a profiler's samples of the kernels. ``diagnosed`` returns the compiler's
    messages about a build that failed; None: they are not listed. ``left_out`` names what the document does
    not show, and why. No kernel is decoded before its chunk is asked for, but those by themselves that the index counts in:
    none with ``is_whole``, which says that the index is read when all chunks have been made.
    Raises FormatError if a program is damaged.
    """
    chunks = Chunks()
    entries = ProgramEntries(
        chunks,
        version,
        redaction,
        has_stages=has_stages,
        own_roots=own_roots,
        sampled=sampled,
        diagnosed=diagnosed,
        is_whole=is_whole,
    )
    chosen = [tuple(program.listed_kernels) for program in programs] if kernels is None else kernels
    built = [entries.program(program, names) for program, names in zip(programs, chosen, strict=True)]
    own = [figure for figure in OF_FAMILIES if any(figure.key in entry["kernels"] for entry in built)]
    index = {
        "schema": SCHEMA,
        "kernlens": version,
        "title": title,
        "redacted": [] if redaction is None else ["source"],
        **({"own_lines": True} if is_own else {}),
        "figures": [
            attributes(figure, "key", "heading", "unit", "meaning", "words", "zero", "unknown")
            for figure in (*FIGURES, *own)
        ],
        "opcodes": EXPLANATIONS,
        "groups": _grouped(built, programs, chosen),
        **_start(programs, chosen, built, is_redacted=redaction is not None),
        "search": entries.search(programs, built),
        "programs": [*built, *map(entries.failed, failed), *(entries.left_out(*each) for each in left_out)],
    }
    return ExploreDocument(index, chunks)


def _start(
    programs: Sequence[Program],
    chosen: Sequence[Collection[str]],
    entries: Sequence[dict[str, Any]],
    *,
    is_redacted: bool,
) -> dict[str, Any]:
    """Return the key ``start``: at which lines to start, if kernels were observed. Of others nothing is decoded."""
    rows = {
        (id(program), name): (entry["id"], row)
        for program, names, entry in zip(programs, chosen, entries, strict=True)
        for row, name in enumerate(names)
    }
    selection = [
        (program, [program.kernels[name] for name in names]) for program, names in zip(programs, chosen, strict=True)
    ]
    start = start_here(selection, has_estimate=False)
    lines = []
    for line in start.lines:
        program, row = rows[id(line.program), line.kernel.name]
        lines.append(
            {
                "program": program,
                "row": row,
                "path": line.place.path if line.place else None,
                "line": line.place.line if line.place else 0,
                "title": line.cause.kind if line.cause else "no waste is known",
                "sentence": start_sentence(line),
                "action": line.cause.action if line.cause else None,
                "text": None if is_redacted else text_of(line),
            }
        )
    return {"start": lines} if lines else {}


def _grouped(
    entries: Sequence[dict[str, Any]], programs: Sequence[Program], chosen: Sequence[Collection[str]]
) -> list[dict[str, str]]:
    """Return the groups of the list of kernels, and enter each kernel's into the entry of its program."""
    listed = []
    for entry, program, names in zip(entries, programs, chosen, strict=True):
        build = (entry["device"] or "", entry["toolchain"] or "", entry["options"] or "")
        kernels = [program.kernels[name] for name in names]
        listed += [Listed(kernel_words(kernel), _home(program, kernel), *build) for kernel in kernels]
    shown = kernel_names(listed)
    first = 0
    for entry, names in zip(entries, chosen, strict=True):
        end = first + len(names)
        own = slice(first, end)
        whole = (
            shown.groups[group].row(each.name) for group, each in zip(shown.group_of[own], listed[own], strict=True)
        )
        texts = zip(shown.rows[own], whole, strict=True)
        entry["kernels"]["group"] = shown.group_of[own]
        entry["rows"] = {str(row): text for row, (text, row_text) in enumerate(texts) if text != row_text}
        entry["beside"] = {str(row): words for row, words in enumerate(shown.beside[own]) if words}
        first = end
    return [group._asdict() for group in shown.groups]


def _home(program: Program, kernel: Kernel) -> str:
    """Return the file that a kernel begins in; where no line says it, its program's only source, or the program."""
    try:
        table = kernel.line_table
    except KernlensError:
        table = None
    if table is not None:
        for file, line in zip(table.files_of, table.lines, strict=True):
            path = table.files[file].path
            # IGC calls a text that an application built "1".
            if line > 0 and "." in path.rsplit("/", 1)[-1]:
                return path
    sources = program.sources
    return sources[0].path if len(sources) == 1 else program.name

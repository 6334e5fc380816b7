"""A program in the index of an ``explore`` document: how it was built, its files, its kernels with their figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from shlex import quote
from typing import Any, Protocol

from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.errors import KernlensError
from kernlens.isa.devices import register_bytes
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.model.figure import Figure
from kernlens.model.figures import FIGURES, OF_FAMILIES, own_figures
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_path import is_nameless
from kernlens.model.spills import SPILLED_BYTES, spill_messages
from kernlens.model.stage_text import NoStages, StageName, StageTexts
from kernlens.model.stages import stage_named
from kernlens.report.describe import device_words, kernel_words
from kernlens.report.explore.chunks import Chunks, id_of
from kernlens.report.explore.kernel_chunk import kernel_document
from kernlens.report.explore.packing import RAW_LIMIT, within
from kernlens.report.explore.passes import passes_documents
from kernlens.report.explore.search_words import KernelWords, kernel_words_of, search_document

#: The columns of kernels beside their figures.
_COLUMNS = ("name", "shown", "lines", "chunk", "group")
#: The bytes that spills write: they rank kernels whose binaries do not state the bytes that spills take.
_WRITTEN = SPILLED_BYTES.caused_by[0]
SPILL_COLUMNS = ("spill_messages", _WRITTEN)
_NOT_KEPT = "no stages of the compile were kept; {command} keeps them"
#: What ``kernlens stages`` adds by itself, among other options.
_ADDED = re.compile(rf"(^|\s){LINE_OPTIONS[0]}(?=\s|$)")
_LEFT_OUT = "source text was left out of this document"
_NOT_KEPT_TEXT = "its compiler was given a text without a file's name, and that was not kept"
_NOT_AT_HAND = "the text of this file is not at hand; --source-root DIR looks for it in a folder"


#: Returns the compiler's messages about a build, ready for JSON.
Diagnosed = Callable[[Build], list[dict[str, Any]]]


class Redaction(Protocol):
    """A remover of source text from what compilers say."""

    def log(self, log: str) -> str: ...


class ProgramEntries:
    """The entries of programs; their chunks are added as they are made."""

    def __init__(
        self,
        chunks: Chunks,
        version: str,
        redaction: Redaction | None,
        *,
        has_stages: bool,
        own_roots: Collection[str] = (),
        sampled: SampledKernels | None = None,
        diagnosed: Diagnosed | None = None,
        is_whole: bool = False,
    ) -> None:
        self._is_whole = is_whole
        self._diagnosed = diagnosed
        self._chunks = chunks
        self._own_roots = own_roots
        self._sampled = sampled
        self._version = version
        self._redaction = redaction
        self._has_stages = has_stages and redaction is None
        #: The words that were read when a kernel's chunk was made, by the program's id and the kernel's name.
        self._words: dict[tuple[str, str], KernelWords] = {}
        #: What was read of one program's stages is kept for its next kernel; programs come one after the other.
        self._texts = lru_cache(1)(self._stage_texts)
        #: The passes of a program are read once for all its kernels.
        self._pass_documents = lru_cache(1)(self._all_passes)

    def program(self, program: Program, names: Collection[str]) -> dict[str, Any]:
        """Return the entry of a program with the kernels of these names."""
        build = program.build
        stages = list(self._texts(program).stages)
        identity = self._identity(program, stages)
        kernels = [program.kernels[name] for name in names]
        own = [figure for figure in OF_FAMILIES if any(figure in _own(kernel) for kernel in kernels)]
        early = [kernel if self._is_early(kernel) and kernel.code_size else None for kernel in kernels]
        reasons = [_reason(kernel) for kernel in kernels]
        return {
            "id": identity,
            "name": program.name,
            "format": program.format,
            "device": program.device.name if program.device else None,
            "device_title": program.device.title if program.device else None,
            "device_words": device_words(program),
            "register_bytes": register_bytes(program.device) if program.device else None,
            **self._build(build),
            "files": self._files(program, kernels),
            "kernels": {
                "name": [kernel.name for kernel in kernels],
                "shown": [kernel_words(kernel) for kernel in kernels],
                **{
                    figure.key: [_value(kernel, figure) for kernel in (early if figure.needs_decoding else kernels)]
                    for figure in (*FIGURES, *own)
                },
                **with_any(_counted_spills([kernel and kernel.unread() for kernel in early])),
                "lines": [int(reason is None) for reason in reasons],
                "chunk": [self._kernel(program, kernel, identity) for kernel in kernels],
            },
            "reasons": {str(row): reason for row, reason in enumerate(reasons) if reason},
            "stages": self._stages(program, stages, identity),
            "no_stages": None if stages else self._why_no_stages(program),
            "passes": self._passes(program, kernels, identity),
        }

    def _is_early(self, kernel: Kernel) -> bool:
        """Return whether the index counts in a kernel's code: not where that decodes it, and its chunk will be made too."""
        return not self._is_whole or kernel.is_decoded_with_others

    def failed(self, build: Build) -> dict[str, Any]:
        """Return the entry of a build that gave no binary."""
        return {
            "id": id_of("failed", self._version, build.name, build.device, build.options, build.log, build.created),
            "name": build.name,
            "format": None,
            "device": build.device,
            "device_title": None,
            "device_words": build.device,
            "register_bytes": None,
            **self._build(build),
            "files": [self._file(source) for source in build.sources],
            "kernels": {column: [] for column in (*_COLUMNS, *(figure.key for figure in FIGURES))},
            "rows": {},
            "beside": {},
            "reasons": {},
            "stages": [],
            "no_stages": None,
            "passes": None,
            "diagnostics": [] if self._diagnosed is None else self._diagnosed(build),
        }

    def left_out(self, name: str, reason: str) -> dict[str, Any]:
        """Return the entry of what the document leaves out: it has no kernels, and the reason stands in the place of a log."""
        return self.failed(Build(name, parts=HeldParts(log=reason))) | {"device": None, "reason": reason}

    def _stage_texts(self, program: Program) -> StageTexts:
        return program.find_stage_texts() if self._has_stages else NoStages()

    def _identity(self, program: Program, stages: Sequence[StageName]) -> str:
        """Return a hash of what the program's chunks are made from."""
        build = program.build
        parts = [self._version, program.name, str(program.device), build.device, build.options, build.toolchain_title]
        parts += [build.command, str(self._redaction is None), *map(repr, stages)]
        parts += [text for source in program.sources for text in (source.path, source.text)]
        return id_of("program", bytes(program.binary), build.debug, *parts)

    def _build(self, build: Build) -> dict[str, Any]:
        log = build.log
        reason = build.failure
        if self._redaction is not None:
            log, reason = self._redaction.log(log), self._redaction.log(reason)
        return {
            "toolchain": build.toolchain.name if build.toolchain else None,
            "versions": [build.toolchain.title] if build.toolchain else [],
            "options": build.own_options,
            "command": build.command or None,
            "ok": build.ok,
            "reason": reason or None,
            "log": self._text_chunk("log", log) if log else None,
        }

    def _text_chunk(self, kind: str, text: str) -> str:
        shown = within(text)
        return self._chunks.add(kind, id_of(kind, shown), lambda: {"schema": 2, "kind": kind, "text": shown})

    def _files(self, program: Program, kernels: Sequence[Kernel]) -> list[dict[str, Any]]:
        """Return the files that have a text, those that were not read, and others that the line tables name."""
        sources = [*program.sources, *program.unread_sources]
        known = {source.path for source in sources}
        named = dict.fromkeys(path for kernel in kernels for path in _paths(kernel) if path not in known)
        missing = [Source(path, "", unread=_NOT_KEPT_TEXT if is_nameless(path) else _NOT_AT_HAND) for path in named]
        return [*map(self._file, sources), *map(self._file, missing)]

    def _file(self, source: Source) -> dict[str, Any]:
        text = source.text.replace("\r\n", "\n")
        missing = _LEFT_OUT if self._redaction is not None else source.unread
        return {
            "path": source.path,
            "origin": None if source.unread else source.origin,
            "lines": None if source.unread else text.count("\n") + 1,
            "chunk": None if missing else self._text_chunk("source", text),
            "missing": missing or None,
        }

    def _kernel(self, program: Program, kernel: Kernel, identity: str) -> str:
        words = [str(self._has_stages), str(self._own_roots), self._sampled_words(kernel), _observed_words(kernel)]
        chunk = id_of("kernel", identity, kernel.name, *words)
        return self._chunks.add("kernel", chunk, partial(self._kernel_document, program, kernel, identity, chunk))

    def _sampled_words(self, kernel: Kernel) -> str:
        """Return what a kernel's samples are told apart by."""
        if self._sampled is None:
            return ""
        return repr([(each.device, sorted(each.counts.items())) for each in self._sampled.of(kernel.name)])

    def search(self, programs: Sequence[Program], entries: Sequence[dict[str, Any]]) -> str | None:
        """Return the chunk with the words that a search finds these programs' kernels by; None if there are none."""
        chunks = [chunk for entry in entries for chunk in entry["kernels"]["chunk"]]
        if not chunks:
            return None
        return self._chunks.add("search", id_of("search", *chunks), partial(self._search_document, programs, entries))

    def _search_document(self, programs: Sequence[Program], entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return search_document(
            [
                [self._words_of(entry["id"], program.kernels[name].unread()) for name in entry["kernels"]["name"]]
                for program, entry in zip(programs, entries, strict=True)
            ]
        )

    def _words_of(self, identity: str, kernel: Kernel) -> KernelWords:
        words = self._words.get((identity, kernel.name))
        if words is None:
            words = self._words[identity, kernel.name] = kernel_words_of(kernel)
        return words

    def _kernel_document(self, program: Program, kernel: Kernel, identity: str, chunk: str) -> dict[str, Any]:
        is_redacted = self._redaction is not None
        texts, sampled, read = self._texts(program), self._sampled, kernel.unread()
        document = kernel_document(program, read, texts, self._own_roots, sampled, is_redacted=is_redacted)
        # What is decoded now is not decoded again for the search, nor for the index.
        self._words_of(identity, read)
        if not self._is_early(kernel) and kernel.code_size:
            columns = {figure.key: [_value(read, figure)] for figure in FIGURES if figure.needs_decoding}
            self._chunks.counted[chunk] = {key: value for key, (value,) in (columns | _counted_spills([read])).items()}
        return document

    def _stages(self, program: Program, stages: Sequence[StageName], identity: str) -> list[dict[str, Any]]:
        entries = []
        for stage in stages:
            listed = stage_named(stage.stage, program.build.device)
            meta = None
            if stage.has_tables:
                # What is alike in the tables of one attempt's stages is packed once.
                alike = [other for other in stages if other.has_tables and other.attempt == stage.attempt]
                make = partial(self._metadata, program, alike)
                meta = self._chunks.add("meta", id_of("meta", identity, str(stage.attempt)), make)
            entries.append(
                {"name": stage.stage, "attempt": stage.attempt, "scope": stage.scope}
                | {"title": (listed and listed.title) or stage.stage, "sentence": listed.sentence if listed else ""}
                | {"meta": meta}
            )
        return entries

    def _metadata(self, program: Program, stages: Sequence[StageName]) -> dict[str, Any]:
        texts = []
        for stage in stages:
            text = within(self._texts(program).tables(stage), RAW_LIMIT // len(stages) // 2)
            texts.append({"stage": stage.stage, "text": text})
        return {"schema": 2, "kind": "meta", "attempt": stages[0].attempt, "stages": texts}

    def _passes(self, program: Program, kernels: Sequence[Kernel], identity: str) -> list[str] | None:
        """Return the chunk of each kernel's passes."""
        snapshots = program.build.snapshots if self._has_stages else ()
        if not any(snapshot.is_pass for snapshot in snapshots):
            return None
        names = tuple(kernel.name for kernel in kernels)
        return [
            self._chunks.add("passes", id_of("passes", identity, name), partial(self._pass_chunk, program, names, name))
            for name in names
        ]

    def _pass_chunk(self, program: Program, names: tuple[str, ...], name: str) -> dict[str, Any]:
        return self._pass_documents(program, names)[name]

    def _all_passes(self, program: Program, names: tuple[str, ...]) -> Mapping[str, dict[str, Any]]:
        return passes_documents(self._texts(program), program.build.snapshots, names)

    def _why_no_stages(self, program: Program) -> str:
        if not self._has_stages:
            return "the stages of the compile were left out of this document"
        return _NOT_KEPT.format(command=_stages_command(program))


def _observed_words(kernel: Kernel) -> str:
    """Return what a kernel's launches are told apart by, as an interpreter counted them."""
    return repr([(each, each.lines) for each in kernel.behaviours]) if kernel.behaviours else ""


def _stages_command(program: Program) -> str:
    """Return the command that compiles a program again as it was compiled, and keeps its stages."""
    build = program.build
    source = build.path or next(iter(build.parts.source_paths), "")
    if not source and build.created:
        # An application built it, and only that has what it was built from.
        return "kernlens capture --stages -o FILE -- APPLICATION"
    words = ["kernlens", "stages", quote(source) if source else "SOURCE", "--device", str(program.device or "DEVICE")]
    if build.toolchain is not None:
        words += ["--toolchain", quote(build.toolchain.name)]
    options = _ADDED.sub("", build.own_options or "").strip()
    # Options may begin with a dash, as nearly all do: joined, they are no options of the command.
    words += [f"--build-options={quote(options)}"] if options else []
    return " ".join([*words, "-o", "FILE"])


def _paths(kernel: Kernel) -> list[str]:
    """Return the files that the rows of a kernel's line table name."""
    try:
        table = kernel.line_table
    except KernlensError:
        return []
    return [table.files[file].path for file in set(table.files_of)] if table is not None else []


def _value(kernel: Kernel | None, figure: Figure) -> int | None:
    """Return a kernel's figure; instructions are counted without decoding them, where that can be."""
    if kernel is None:
        return None
    try:
        return kernel.instruction_count if figure.needs_decoding else figure.read(kernel)
    except KernlensError:
        return None


def _own(kernel: Kernel) -> tuple[Figure, ...]:
    try:
        return own_figures(kernel)
    except KernlensError:
        return ()


def _counted_spills(kernels: Sequence[Kernel | None]) -> dict[str, list[int | None]]:
    """Return the columns of what spills in the code of those kernels whose binaries do not state the bytes. Only these are
    decoded, which are few: those with scratch memory."""
    columns: dict[str, list[int | None]] = {key: [] for key in SPILL_COLUMNS}
    for kernel in kernels:
        try:
            costs = kernel.costs if kernel is not None and kernel.resources.spill_bytes is None else None
        except KernlensError:
            costs = None
        columns["spill_messages"].append(spill_messages(costs) if costs else None)
        columns[_WRITTEN].append(costs.get(_WRITTEN) if costs else None)
    return columns


def with_any(columns: dict[str, list[int | None]]) -> dict[str, list[int | None]]:
    """Return the columns if any of them has anything but 0."""
    return columns if any(map(any, columns.values())) else {}


def _reason(kernel: Kernel) -> str | None:
    """Return why a kernel has no lines."""
    try:
        return kernel.line_table_reason
    except KernlensError as error:
        return str(error)

"""The programs that the server was started for, opened once; and the chunks of all documents, made when they are asked for."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from kernlens import __version__
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.dataclass import dataclass, field
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.explorer.compile_work import Newest, Results, as_asked, confined, diagnostics
from kernlens.loading import open_build, open_file
from kernlens.loading.open import Contents
from kernlens.loading.uncompiled import uncompiled
from kernlens.model.build import Build, Source
from kernlens.model.program import Program
from kernlens.pipeline.compile_stages import compile_stages
from kernlens.report.explore import ExploreDocument, explore_document
from kernlens.report.explore.packing import encoded, packed
from kernlens.toolchain.confinement import Limits
from kernlens.toolchain.foreign_text import shown_to_compilers
from kernlens.toolchain.sources.includes import include_folders, with_lines
from kernlens.toolchain.sources.source_reading import is_wide, open_regular
from kernlens.toolchain.sources.source_settings import SourceSettings, settings_for
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.compile import targets_of
from kernlens.verbs.programs import is_source, silent
from kernlens.verbs.sources.spread import spread
from kernlens.verbs.targets import target_of

#: Bytes of packed chunks that are kept.
KEPT = 64 << 20
#: Bytes of a sweep's table, at most: 100,000 rows.
_TABLE_LIMIT = 128 << 20
#: Inode, size and time of the last change; None: no such file.
Stamp = tuple[int, int, int] | None
#: What each row has (docs/json.md).
_ROW_KEYS = {"source", "device", "toolchain", "options", "kernel", "figures", "reason"}


@dataclass(frozen=True, slots=True)
class SourceBuild:
    """The way to compile sources among the paths when the server starts: for this device, or all, by this toolchain."""

    device: str | None
    toolchain: str
    options: str


@dataclass(frozen=True)
class Served:
    """The served programs. ``contents`` are those of paths that are no sources, ``include`` the folders to include files from:
    those that the user named, and those of sources among the paths. ``ids`` are the programs'; ``sweep`` is
    the table of a sweep, None if no path is one. ``own_roots`` is that of ``report.explore.explore_document``."""

    contents: tuple[Contents, ...]
    programs: tuple[Program, ...]
    failed: tuple[Build, ...]
    include: tuple[str, ...]
    document: ExploreDocument
    ids: tuple[str, ...]
    sweep: dict[str, Any] | None
    own_roots: Sequence[str] = ()
    #: The files that were read, each with what says that it is still the same.
    stamps: Mapping[str, Stamp] = field(default_factory=dict)

    @property
    def failed_ids(self) -> tuple[str, ...]:
        """The ids of builds without a binary."""
        return tuple(entry["id"] for entry in self.document.index["programs"][len(self.programs) :])

    def changed(self) -> list[str]:
        """Return the files that were changed, replaced or removed since they were read: what is served is as it was."""
        return [path for path, stamp in self.stamps.items() if _stamp(path) != stamp]

    def program(self, program: str) -> Program | None:
        """Return the program of this id; None if there is none."""
        return next((each for each, known in zip(self.programs, self.ids, strict=True) if known == program), None)

    def failed_build(self, program: str) -> Build | None:
        """Return the build that stands in the index with this id because it failed; None if there is none."""
        entries = self.document.index["programs"][len(self.programs) :]
        return next((build for build, entry in zip(self.failed, entries, strict=True) if entry["id"] == program), None)

    def failed_sources(self, path: str, text: str, build: Build) -> tuple[Sequence[Source], str]:
        """Return as ``sources`` does those of a build that failed. Raises NotFoundError if it has no such file."""
        return with_texts(build.sources, {path: text}), build.options or ""

    def sources(self, path: str, text: str, program: Program | None) -> tuple[Sequence[Source], str]:
        """Return the sources of the program with a file of this path, the main one first, with a new text for the file; and
        the options that the program was built with, of a linked one those of its compile before its own. A file that no
        program has is compiled alone.

        ``program`` is the one that is meant, None: the first. Raises NotFoundError if it has no such file.
        """
        edited = Source(path, text, "edited")
        for candidate in self.programs if program is None else (program,):
            own = candidate.build
            named = next((source for source in candidate.sources if source.path == path), None)
            for build in (own, *own.all_inputs):
                recorded = list(build.sources)
                for number, source in enumerate(recorded):
                    # A line table may call a file otherwise than the recording does.
                    if source.path == path or (named is not None and source.text == named.text):
                        recorded[number] = replace(source, path=source.path or path, text=text, origin="edited")
                        options = (own.options,) if build is own else (build.options, own.options)
                        return recorded, " ".join(filter(None, options))
            if named is not None:
                return [edited, *(source for source in candidate.sources if source is not named)], own.options or ""
        if program is not None:
            raise NotFoundError(f"the program {program.name} has no source file {path}")
        return [edited], ""


def open_served(
    paths: Sequence[str],
    *,
    source_build: SourceBuild,
    include: Sequence[str],
    limits: Limits,
    source_roots: Sequence[str],
    own_roots: Sequence[str] = (),
    is_own: bool = False,
    sampled: SampledKernels | None = None,
    unconfined: bool = False,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Served:
    """Open all paths. What is in their files is read now, so that they may change or vanish afterwards. ``sampled`` has a
    profiler's samples of the programs' kernels. ``on_progress`` is told, before each path of several, or a source, is opened,
    how many are done, how many there are, and its name.

    Raises KernlensError for what cannot be read; a source that does not compile is served with what the compiler says.
    """
    files = dict.fromkeys(spread(paths))
    stamps = {path: _stamp(path) for path in files if os.path.isfile(path)}
    opened = _Opened([os.path.abspath(folder) for folder in include])
    for folder in opened.folders:
        if not os.path.isdir(folder):
            raise NotFoundError(f"there is no folder {folder} to include files from")
        if not unconfined:
            shown_to_compilers([folder])  # which says so if it is too wide
    for number, path in enumerate(files):
        if on_progress is not None and (len(files) > 1 or is_source(path)):
            on_progress(number, len(files), os.path.basename(path))
        if os.path.isfile(path) and (table := sweep_in(path)) is not None:
            opened.sweep = table
        elif is_source(path):
            opened.compile(path, source_build, include, limits, unconfined=unconfined)
        else:
            opened.read(path, source_roots)
    programs, failed = tuple(opened.programs), tuple(opened.failed)
    document = explore_document(
        programs,
        title=", ".join(os.path.basename(os.path.abspath(path)) for path in paths),
        version=__version__,
        failed=failed,
        own_roots=own_roots,
        is_own=is_own,
        sampled=sampled,
        diagnosed=diagnostics,
    )
    ids = tuple(entry["id"] for entry in document.index["programs"][: len(programs)])
    folders = tuple(dict.fromkeys(opened.folders))
    return Served(tuple(opened.contents), programs, failed, folders, document, ids, opened.sweep, own_roots, stamps)


@dataclass(slots=True)
class _Opened:
    """The programs, builds that failed, files, and the folders to include from."""

    folders: list[str]
    programs: list[Program] = field(default_factory=list)
    failed: list[Build] = field(default_factory=list)
    contents: list[Contents] = field(default_factory=list)
    sweep: dict[str, Any] | None = None

    def compile(self, path: str, how: SourceBuild, include: Sequence[str], limits: Limits, *, unconfined: bool) -> None:
        """Add the programs of a source, or what its compiles failed with."""
        beside = [folder for folder in (os.path.dirname(os.path.abspath(path)),) if not is_wide(folder)]
        settings = settings_for(path)
        self.folders += [*beside, *map(os.path.abspath, settings.include)]
        for build in _compiled(path, how, settings, include, beside, limits, unconfined=unconfined):
            self.programs += as_asked(open_build(build), build.options) if build.ok else ()
            self.failed += [] if build.ok else [build]

    def read(self, path: str, source_roots: Sequence[str]) -> None:
        """Add what is in a file."""
        contents = open_file(path, source_roots=source_roots, held=True)
        self.contents.append(contents)
        counted = list(uncompiled(contents.programs))
        builds = {id(program.build) for program in counted}
        shown = [
            program
            for program in contents.programs
            if program.kernels or (program.build.snapshots and id(program.build) not in builds)
        ] + counted
        contents.check()
        refused = contents.failed_builds().builds
        if not shown and not refused:
            contents.machine_code()  # which says why there is nothing to show
        self.programs += shown
        self.failed += refused


def _stamp(path: str) -> Stamp:
    """Return what changes when somebody writes to a file, or puts another in its place; None if it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def with_texts(sources: Sequence[Source], texts: Mapping[str, str], named: Sequence[Source] = ()) -> Sequence[Source]:
    """Return sources with other texts, by their paths, or by those that the same texts have in ``named``: a line table may
    call a file otherwise than the recording does. Raises NotFoundError if none of them has such a path."""
    new = dict(texts)
    by_text = {source.text: source.path for source in sources if source.origin != "edited"}
    called = {source.path: by_text[source.text] for source in named if source.text in by_text}
    for path in texts.keys() - {source.path for source in sources}:
        if path not in called:
            raise NotFoundError(f"the program has no source file {path}")
        new[called[path]] = new.pop(path)
    return [replace(each, text=new[each.path], origin="edited") if each.path in new else each for each in sources]


def sweep_in(path: str) -> dict[str, Any] | None:
    """Return the document of ``kernlens sweep --json``, if a file holds one. Raises UnsupportedError if it is too large."""
    with open_regular(path) as file:
        if file.read(64).lstrip()[:1] != b"{":
            return None
        file.seek(0)
        content = file.read(_TABLE_LIMIT + 1)
    if len(content) > _TABLE_LIMIT:
        raise UnsupportedError(f"{path} is larger than {_TABLE_LIMIT >> 20} MB, which is too much for a sweep's table")
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    rows = document.get("rows") if isinstance(document, dict) and document.get("schema") == 1 else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= _ROW_KEYS for row in rows):
        return None
    return document  # type: ignore[no-any-return]


def _compiled(
    path: str,
    how: SourceBuild,
    settings: SourceSettings,
    include: Sequence[str],
    beside: Sequence[str],
    limits: Limits,
    *,
    unconfined: bool,
) -> Iterator[Build]:
    """Yield a source's build for each device. It sees the files ``beside`` it, those to include, and what its options name."""
    named = target_of(path, how.device, silent)
    chosen = toolchain(how.toolchain)
    words = [how.options, *(f'-I "{os.path.abspath(folder)}"' for folder in include)]
    options = settings.options(with_lines(" ".join(word for word in words if word)))
    absolute = os.path.abspath(path)
    shown = [absolute, *beside, *filter(os.path.isdir, include_folders(options))]
    for device, _ in targets_of([named], [chosen.name])[0]:
        with confined(limits, shown, unconfined=unconfined):
            build = compile_stages(absolute, device, options=options, toolchain=chosen.name).build
        # The folders of --include come to every compile: they are no options of this one.
        build = replace(build, options=with_lines(how.options))
        yield build if build.ok else _named_from(build, os.path.dirname(absolute))


def _named_from(build: Build, folder: str) -> Build:
    """Return a build that failed with its files named from the folder of the source, as line tables name them: they keep their
    names when what was mended compiles."""
    below = re.compile(f"^{re.escape(folder.rstrip('/'))}/", re.MULTILINE)
    sources = [replace(source, path=below.sub("", source.path)) for source in build.sources]
    named = build.with_parts(sources=tuple(sources), log=below.sub("", build.log))
    return replace(named, path=below.sub("", build.path))


class Chunks:
    """The chunks of what is served and of all results that are kept, by their ids; usable from several threads."""

    def __init__(self, served: Served, results: Results, most: int = KEPT) -> None:
        self._served = served.document
        self._results = results
        self._newest = Newest[bytes](most, len)
        #: One chunk is made at a time: what programs read on first use is made for one reader.
        self._making = threading.Lock()

    def index(self) -> bytes:
        """Return the index of what is served, with the figures that are known by now."""
        with self._making:
            return encoded(self._served.index)

    def held(self, chunk: str) -> bytes | None:
        """Return a chunk if it is at hand."""
        return self._newest.get(chunk)

    def content_of(self, chunk: str) -> bytes | None:
        """Make a chunk, and keep it; None if there is none of this id. Raises KernlensError if it cannot be read."""
        with self._making:
            content = self.held(chunk) or self._content(chunk)
        if content is not None:
            self._newest.add(chunk, content)
        return content

    def _content(self, chunk: str) -> bytes | None:
        if chunk in self._served.chunks:
            return self._served.chunks[chunk]
        for result in self._results.all():
            if result.document is not None and chunk in result.document.chunks:
                return packed(result.without_folders(result.document.chunks.content(chunk)))
        return None

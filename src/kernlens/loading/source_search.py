"""The source texts of a program: what came with it, what its SPIR-V holds, what lies on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from kernlens import log
from kernlens.analysis.source_matching import match_sources
from kernlens.loading.context import Context
from kernlens.model.build import Source
from kernlens.model.kernel import Kernel
from kernlens.model.line_table import LineTable
from kernlens.model.source_path import is_nameless, joined
from kernlens.model.spirv import SpirvSource
from kernlens.toolchain.sources.source_reading import PATH_LIMIT, SourceFolders


def find_sources(kernels: Iterable[Kernel], named: Iterable[SpirvSource], context: Context) -> tuple[Source, ...]:
    """Return a Source for each file of the kernels' line tables whose text can be had, under the name that the tables
    use. ``named`` are those that its SPIR-V names."""
    tables = [kernel.line_table for kernel in kernels if kernel.line_table is not None]
    embedded = [Source(source.file or "", source.text, "spirv") for source in named if source.text]
    near = [os.getcwd(), *([context.folder] if context.folder is not None else [])]
    folders = SourceFolders(near, context.source_roots)
    on_disk: set[str] = set()

    def read(path: str) -> Source | None:
        source = _read(path, context, folders)
        if source is not None:
            on_disk.add(path)
        return source

    matched = match_sources(tables, (*context.sources, *embedded), read)
    if log.is_on("loading"):
        _report(tables, {source.path: source for source in matched}, on_disk)
    return matched


def _report(tables: Iterable[LineTable], sources: Mapping[str, Source], on_disk: set[str]) -> None:
    """Tell where the text of each file of the line tables comes from; ``_read`` has told where it looked in vain."""
    named = [(table, file.path) for table in tables for file in table.files if file.path]
    for path, whole in dict.fromkeys((path, joined(table.directory, path)) for table, path in named):
        if path in sources and not sources[path].unread:
            log.debug("loading", "source %s: the text comes from: %s", path, sources[path].origin)
        elif path not in sources and whole in on_disk:
            log.debug("loading", "source %s: passed over, %s is not what was compiled (checksum)", path, whole)


def _read(path: str, context: Context, folders: SourceFolders) -> Source | None:
    """Return the text of ``path`` on this machine; the source roots are tried with ever shorter ends of the path."""
    candidates = [path] if os.path.isabs(path) or context.folder is None else [os.path.join(context.folder, path), path]
    for root in context.source_roots:
        candidates += [os.path.join(root, end) for end in _ends(path)]
    unread = None
    for candidate in candidates:
        source = folders.read(candidate)
        if source is None:
            log.debug("loading", "source %s: there is no file of a source's size at %s", path, candidate)
        elif source.unread:
            log.debug("loading", "source %s: %s is passed over: %s", path, candidate, source.unread)
        else:
            log.debug("loading", "source %s: read from %s", path, candidate)
            return source
        unread = unread or source
    if unread is None and context.source_roots and not is_nameless(path):
        return Source(path, "", unread=f"no file of this name lies below {' or '.join(context.source_roots)}")
    return unread


def _ends(path: str) -> list[str]:
    """Return the path without its root, and its ever shorter ends; those that are too long for a file's path left out."""
    pieces = [piece for piece in path[-PATH_LIMIT:].replace("\\", "/").split("/") if piece not in ("", ".", "..")]
    return ["/".join(pieces[start:]) for start in range(len(pieces))]

"""Instructions of inlined library code, laid on the lines of the user's own files that they were inlined into."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache, cached_property

from kernlens.dataclass import dataclass, field
from kernlens.model.kernel import Kernel
from kernlens.model.line_table import LineTable
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.model.source_path import joined

#: Folders of compilers and libraries, in a path that begins behind the folder of the program's source.
_LIBRARY = re.compile(r"/(?:include/(?:sycl|c\+\+|CL)|lib/clang|site-packages)/|^/(?:usr|opt|sycl-jit-toolchain)/")


@dataclass(frozen=True, slots=True)
class _Laid:
    """The place where an instruction is laid, the calls around that, and the places that were inlined there, the
    innermost, which is the instruction's own, first; empty if the place is its own."""

    place: SourcePlace | None
    calls: tuple[SourcePlace, ...]
    inner: tuple[SourcePlace, ...]


@dataclass(frozen=True)
class OwnLines(SourceMap):
    """A source map in which each instruction is on the innermost line of the user's own files that it was inlined through; on
    its own line if there is none. ``laid`` has an entry for each instruction."""

    laid: Sequence[_Laid] = field(default=(), repr=False)

    def place(self, index: int) -> SourcePlace | None:
        return self.laid[index].place

    @cached_property
    def inner(self) -> list[tuple[SourcePlace, ...]]:
        return [laid.inner for laid in self.laid]

    @cached_property
    def places(self) -> list[SourcePlace | None]:
        return [laid.place for laid in self.laid]

    @cached_property
    def stacks(self) -> list[tuple[SourcePlace, ...]]:
        return [laid.calls for laid in self.laid]


def own_files(table: LineTable, roots: Collection[str] = ()) -> Callable[[str], bool]:
    """Return the test that tells whether a path of a line table is that of an own file.

    Own files are the program's source, and those in its folder or below, but for folders of compilers and libraries there;
    and those below the folders ``roots``.
    """
    folder = _folder_of_source(table)
    folders = [posixpath.normpath(root) for root in roots]

    @cache
    def is_own(path: str) -> bool:
        return path == table.source or _is_own(_whole(table, path), folder, folders)

    return is_own


def on_own_lines(source_map: SourceMap, roots: Collection[str] = ()) -> SourceMap:
    """Return the map with instructions of other files on the innermost own line that they were inlined through.
    ``own_files`` says which are own files."""
    table = source_map.table
    own = own_files(table, roots)
    # Neighbours share places and stacks.
    known: dict[tuple[int, int], _Laid] = {}
    laid = []
    for place, calls in zip(source_map.places, source_map.stacks, strict=True):
        key = id(place), id(calls)
        if key not in known:
            chain = () if place is None else (place, *calls)
            first = next((position for position, each in enumerate(chain) if each.line and own(each.path)), 0)
            known[key] = _Laid(chain[first], chain[first + 1 :], chain[:first]) if chain else _Laid(None, calls, ())
        laid.append(known[key])
    return OwnLines(
        table=table,
        offsets=source_map.offsets,
        row_of=source_map.row_of,
        prologue=source_map.prologue,
        functions=source_map.functions,
        stated=source_map.stated,
        begins_own=source_map.begins_own,
        stages_by=source_map.stages_by,
        laid=laid,
    )


def kernel_on_own_lines(kernel: Kernel, roots: Collection[str] = ()) -> Kernel:
    """Return the kernel with its instructions on own lines."""
    if kernel.source_map is None:
        return kernel
    view = kernel.unread()
    view.__dict__.update(vars(kernel))
    view.source_map = on_own_lines(kernel.source_map, roots)
    return view


def _whole(table: LineTable, path: str) -> str:
    return posixpath.normpath(joined(table.directory, path).replace("\\", "/"))


def _folder_of_source(table: LineTable) -> str:
    return posixpath.dirname(_whole(table, table.source or "source"))


def _is_own(path: str, folder: str, roots: Sequence[str]) -> bool:
    if any(_within(path, root) is not None for root in roots):
        return True
    behind = _within(path, folder)
    return behind is not None and not _LIBRARY.search(behind)


def _within(path: str, folder: str) -> str | None:
    """Return what of a path stands behind a folder, with the slash before it; None if it is not below that."""
    if folder in ("", "."):
        return None if path.startswith(("/", "..")) else f"/{path}"
    start = folder.rstrip("/") + "/"
    return path[len(start) - 1 :] if path.startswith(start) else None

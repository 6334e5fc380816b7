"""One cell: compiled, opened, decoded and measured; or taken from the cache, where it was measured before."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernlens import __version__
from kernlens.analysis.loop_shapes import nest_of
from kernlens.analysis.trip_weights import kernel_with_trips
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.loading import open_build
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.build import Build
from kernlens.model.figures import figures_of, own_figures
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.sweep_row import SweepRow, measured_figures
from kernlens.model.trips import Trips
from kernlens.toolchain.compile_cache import CompileCache, packed
from kernlens.toolchain.device_compilers import title_for
from kernlens.toolchain.diagnostics import error_lines, of_severity
from kernlens.toolchain.parallel_compiles import OnStart, compile_job
from kernlens.verbs.sweep.cells import Cell

#: A place in the reason why a source does not compile.
_PLACE = re.compile(r" at ((?:(?! at )[^:])+)(?=:\d+)")
#: The text of ``nest_of``, which another one must be before it is read.
_NEST = re.compile(r"(?:\d{1,18}(?:;\d{1,18}(?:,\d{1,18}){3})*)?")
#: The warnings of a compile that are kept.
_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request for each cell: the Build itself, how many registers the code needs, and its cycles. ``trips`` are the rounds
    of loops, in words. ``folder`` is the working folder of who asks: names in answers are relative to it."""

    folder: str
    build: bool = False
    pressure: bool = False
    waits: bool = False
    trips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a cell: its number, a row for each kernel, at least one, and the Build if it was wanted."""

    number: int
    rows: tuple[SweepRow, ...]
    build: Build | None = None


def measured(cell: Cell, request: Wanted, cache: CompileCache | None, on_start: OnStart) -> Measured:
    """Compile and measure a cell. Whatever goes wrong in it is the ``reason`` of its row, so that the others go on."""
    try:
        compile_key, key = _keys(cell, request, cache)
        entry = cache.get(key) if cache is not None and key is not None else None
        if entry is not None:
            return Measured(cell.number, tuple(rows_of(cell, json.loads(entry))))
        build, is_steady = compile_job(cell.job, cache, compile_key, on_start, has_sources=request.build)
        rows = measured_rows(cell, build, request)
        if cache is not None and key is not None and build.ok and is_steady:
            cache.put(key, json.dumps(plain_rows(rows)).encode())
        return Measured(cell.number, rows, build if request.build else None)
    except KernlensError as error:
        return failed(cell, str(error))
    except Exception as error:  # A fault in one cell of thousands must not cost the others.
        return failed(cell, f"a fault of kernlens itself, please report it: {type(error).__name__}: {error}")


def _keys(cell: Cell, request: Wanted, cache: CompileCache | None) -> tuple[str | None, str | None]:
    """Return the keys under which the cache has the compile of a cell, and its rows; None for what it cannot have."""
    compile_key = cell.job.key if cache is not None else None
    asked = (request.pressure, request.waits, request.trips, request.folder)
    return compile_key, figures_key(compile_key, *asked) if compile_key is not None and not request.build else None


def from_cache(cell: Cell, request: Wanted, cache: CompileCache | None) -> Measured | None:
    """Return the result of a cell whose compile or rows are in the cache; None if neither is."""
    keys = _keys(cell, request, cache)
    if cache is None or not any(key is not None and cache.get(key) is not None for key in keys):
        return None
    return measured(cell, request, cache, lambda child: None)


def into_cache(cell: Cell, request: Wanted, cache: CompileCache | None, result: Measured) -> None:
    """Keep in the cache what came of a cell elsewhere, if that holds for each equal one."""
    compile_key, key = _keys(cell, request, cache)
    if cache is None or any(row.kernel is None for row in result.rows):
        return
    if key is not None:
        cache.put(key, json.dumps(plain_rows(result.rows)).encode())
    elif compile_key is not None and result.build is not None:
        cache.put(compile_key, packed(result.build))


def failed(cell: Cell, reason: str) -> Measured:
    """Return the result of a cell that was not measured."""
    return Measured(cell.number, (replace(_blank(cell), reason=reason),))


def measured_rows(cell: Cell, build: Build, request: Wanted) -> tuple[SweepRow, ...]:
    """Return the rows of a cell that was compiled. Raises KernlensError for a binary that cannot be read."""
    return tuple(_rows(cell, build, request))


def _rows(cell: Cell, build: Build, request: Wanted) -> Iterator[SweepRow]:
    blank = _blank(cell)
    if not build.ok:
        reason = build.failure.replace(str(cell.job.source), cell.source)
        reason = _PLACE.sub(lambda match: f" at {_from(request.folder, match[1])}", reason)
        reason = reason.replace(f"{request.folder}/", "")
        yield replace(blank, reason=reason)
        return
    count = 0
    warnings = _warnings(build, cell, request)
    for program in open_build(build):
        kernels = list(program.entry_kernels.values())
        reason = ""
        try:
            decode_kernels([(program, kernels)], texts=False, threads=1)
            any(len(kernel.instructions) for kernel in kernels)  # Those for a device that nobody knows are not decoded.
        except UnsupportedError as error:
            reason = str(error)
        functions = _functions_code(program)
        trips = Trips.of(request.trips) if request.trips and not reason else None
        for kernel in (kernel_with_trips(each, trips) for each in kernels) if trips else kernels:
            count += 1
            yield replace(
                blank,
                kernel=kernel.name,
                values=_values(kernel, not reason, request),
                reason=reason,
                own=_own(kernel),
                code=hashlib.sha256(bytes(kernel.code) + functions).hexdigest()[:32] if len(kernel.code) else "",
                warnings=warnings,
                loops=_loops(kernel) if not reason else None,
                nest=nest_of(kernel, has_cycles=request.waits) if not reason else "",
            )
    if not count:
        yield replace(blank, reason="the program holds no kernel")


def _functions_code(program: Program) -> bytes:
    """Return the code that kernels of a program may call, and which is no kernel's."""
    kernels = program.kernels
    return b"".join(bytes(kernels[name].code) for name in sorted(kernels.keys() - program.entry_kernels.keys()))


def _warnings(build: Build, cell: Cell, request: Wanted) -> tuple[str, ...]:
    """Return the compiler's first warnings, with their places as they are called from the working folder."""
    warned = of_severity(error_lines(build.log, cell.source), "warning")
    named = [(each, _from(request.folder, each.path) if each.path else cell.source) for each in warned[:_WARNINGS]]
    own = {os.path.normpath(os.path.join(request.folder, str(cell.job.source))), str(cell.job.source)}
    return tuple(
        f"{each._replace(path=cell.source if each.path in own else path, line=each.line).place}: {each.words}"
        if each.path
        else f"{path}: {each.words}"
        for each, path in named
    )


def _from(folder: str, path: str) -> str:
    """Return a path as it is called from the working folder, whichever way the compiler came to the file."""
    return os.path.normpath(os.path.join(folder, path)).removeprefix(f"{folder}/")


def _blank(cell: Cell) -> SweepRow:
    job = cell.job
    compiler = title_for(job.device, job.toolchain)
    return SweepRow(cell.source, job.device, job.toolchain.name, compiler, cell.options, None, items=cell.items)


def _values(kernel: Kernel, is_decoded: bool, request: Wanted) -> tuple[int | None, ...]:
    figures = measured_figures(has_pressure=request.pressure, has_waits=request.waits)
    return tuple(figure.read(kernel) if is_decoded or not figure.needs_decoding else None for figure in figures)


def _own(kernel: Kernel) -> tuple[tuple[str, int], ...]:
    values = figures_of(kernel, own_figures(kernel))
    return tuple((key, value) for key, value in values.items() if value is not None)


def _loops(kernel: Kernel) -> int | None:
    loops = kernel.loops
    return None if loops is None else len(loops.loops)


def plain_rows(rows: Sequence[SweepRow]) -> list[tuple[object, ...]]:
    """Return rows as JSON has them, without what the cell says."""
    return [astuple(row)[5:-1] for row in rows]


def rows_of(cell: Cell, plain: Any) -> Iterator[SweepRow]:
    """Yield the rows of a cell that ``plain_rows`` has returned of an equal one."""
    for kernel, values, reason, own, code, warnings, loops, nest in plain:
        if not _NEST.fullmatch(nest) or (nest and loops != nest.count(";")):
            raise ValueError("its loops are not of their form")
        yield replace(
            _blank(cell),
            kernel=kernel,
            values=tuple(values),
            reason=reason,
            own=tuple(map(tuple, own)),
            code=code,
            warnings=tuple(warnings),
            loops=loops,
            nest=nest,
        )


def figures_key(compile_key: str, *asked: object) -> str:
    """Return the key of figures of a compile: that of the compile, what is measured, and what measures it."""
    parts = (compile_key, *asked, _own_files(), _decoders())
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()


@lru_cache(maxsize=1)
def _own_files() -> str:
    """Return a digest of kernlens' own files, so that what an older one measured is measured again, in a checkout too."""
    folder = Path(__file__).parents[2]
    states = sorted((str(path), path.stat()) for path in folder.rglob("*") if path.suffix in (".py", ".so"))
    told = [(path, state.st_size, state.st_mtime_ns) for path, state in states]
    return hashlib.sha256(repr((__version__, told)).encode()).hexdigest()


@lru_cache(maxsize=1)
def _decoders() -> tuple[tuple[str, int, int], ...]:
    from kernlens.isa.intel.iga_library import installed
    from kernlens.toolchain.registered import register_roots

    register_roots()
    states = [(library.path, os.stat(library.path)) for library in installed()]
    return tuple((path, state.st_size, state.st_mtime_ns) for path, state in states)

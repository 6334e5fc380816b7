"""The figures of source lines, for an editor that shows them beside its text, and the compiler's messages with their places."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson

from kernlens.analysis.costs import cycles_of
from kernlens.analysis.cxx_names import kernel_title
from kernlens.errors import KernlensError
from kernlens.explorer.compile_work import Results, diagnostics
from kernlens.explorer.responses import json_bytes, unknown_program
from kernlens.explorer.served import Served
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.explore.cycle_columns import page_waits


def line_figures(served: Served, results: Results, program: str) -> bytes:
    """Return the JSON on a program's source lines, by its id; of a build that failed the messages alone.

    Raises RefusedError 404 if there is no such program, KernlensError if nothing of it can be decoded.
    """
    named = served.program(program)
    if named is not None:
        return json_bytes(_document(named.build, named))
    failed = served.failed_build(program)
    if failed is not None:
        return json_bytes(_document(failed, None))
    result = results.of(program)
    if result is None:
        raise unknown_program(program)
    compiled = result.programs()[result.ids.index(program)]
    return result.without_folders(orjson.dumps(_document(compiled.build, compiled)))


def _document(build: Build, program: Program | None) -> dict[str, Any]:
    return {"diagnostics": diagnostics(build), "files": _files(program) if program else []}


def _files(program: Program) -> list[dict[str, Any]]:
    """Return the files that have code, in the order of their paths, each with a row for each of its lines and kernels."""
    rows: dict[str, list[dict[str, Any]]] = {}
    # What is read of these is let go with them.
    kernels = [kernel.unread() for kernel in program.kernels.values()]
    decode_kernels([(program, kernels)])
    for kernel in kernels:
        for path, row in line_rows(kernel):
            rows.setdefault(path, []).append(row)
    texts = {source.path: source.text for source in program.sources}
    return [
        {
            "path": path,
            "sha256": _hash(texts[path]) if path in texts else None,
            "lines": sorted(rows[path], key=lambda row: row["line"]),
        }
        for path in sorted(rows)
    ]


def line_rows(kernel: Kernel) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a file's path and a row for each line that has instructions of its own, as ``annotate`` counts them."""
    try:
        source_map = kernel.source_map
    except KernlensError:  # Its chunk and the index say why there are no lines.
        return
    if source_map is None:
        return
    waits = cycles_of(page_waits(kernel)).get("wait_cycles")
    name = kernel_title(kernel.name)
    for (path, line), code in source_map.lines.items():
        cycles = None if waits is None else sum(sum(waits[run.start : run.stop]) for run in code)
        row = {"line": line, "kernel": name, "instructions": code.count, "certain": code.certain}
        yield path, row | {"wait_cycles": cycles}


def _hash(text: str) -> str:
    """Return the SHA-256 of a text with the line ends that editors make of it."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")).hexdigest()

"""Documents made by hand: small, and with whatever a test is about in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kernlens.report.explore.chunks import Chunks
from kernlens.report.explore.explore_document import ExploreDocument
from kernlens.report.explore.name_groups import Listed, kernel_names
from kernlens.report.explore.packing import deltas

SOURCE = "kernel void add(global int *a)\n{\n  a[0] += 1;\n}\n"
ROWS = [
    "(W)     mov (8|M0)               r2.0<1>:ud    r0.0<1;1,0>:ud",
    "        add (16|M0)              r4.0<1>:f     r2.0<1;1,0>:f     -r3.0<0;1,0>:f    {I@1}",
    "        send.dc0 (16|M0)         r6       r4      null:0  0x0            0x02106E00           {A@1,$3}",
    "(f0.0)  goto (16|M0)                         L0                  L0",
    "(W)     mov (8|M0)               r127.0<1>:ud  r6.0<1;1,0>:ud                   {Compacted,$3.dst}",
]


def small_document(
    *,
    name: str = "add",
    path: str = "add.cl",
    source: str | None = SOURCE,
    options: str = "",
    command: str | None = "ocloc compile -file add.cl",
    title: str = "add.klens",
    log: str = "",
    rows: list[str] | None = None,
    stage: str | None = "define void @add() {\n  %1 = add i32 %0, 1\n}",
    stage_missing: str | None = None,
    has_lines: bool = True,
    has_kernels: bool = True,
    has_code: bool = True,
    is_damaged: bool = False,
    has_program: bool = True,
) -> ExploreDocument:
    """Return one program with one kernel of a few instructions, each of line 3 of ``path``; or what is left of it."""
    chunks = Chunks()
    rows = ROWS if rows is None else rows
    count = len(rows)
    kernel: dict[str, Any] = {
        "schema": 2, "kind": "kernel", "name": name, "warning": None,
        "files": [path] if has_lines else [],
        "places": {"file": [0], "line": [3], "column": [3], "caller": [-1]} if has_lines
        else {"file": [], "line": [], "column": [], "caller": []},
        "code": code(rows, 0 if has_lines else -1) if has_code else None,
        "stages": [] if stage is None else [{
            "stage": "llvm-codegen", "attempt": 1, "text": stage, "missing": stage_missing,
            "row": deltas(range(stage.count("\n") + 1)),
            "line": deltas(range(1, stage.count("\n") + 2)),
            "place": deltas([-2, 0 if has_lines else -1, *[-2] * (stage.count("\n") - 1)][: stage.count("\n") + 1]),
            "id": None, "ids": None, "functions": [],
        }],
        "advice": [],
        "missing": {} if has_code else {"code": "no decoder knows the device made-up"},
    }  # fmt: skip
    if not has_lines:
        kernel["missing"] |= {"lines": "it was built without -gline-tables-only"}
    chunks.add("kernel", "a" * 16, lambda: kernel)
    if source is not None:
        chunks.add("source", "b" * 16, lambda: {"schema": 2, "kind": "source", "text": source})
    if log:
        chunks.add("log", "c" * 16, lambda: {"schema": 2, "kind": "log", "text": log})
    columns: dict[str, list[Any]] = {
        "name": [name], "shown": [name], "simd": [16], "grf_count": [128], "spill_bytes": [0], "instructions": [count],
        "memory": [None], "peak": [None], "lines": [int(has_lines)], "chunk": ["d" * 16 if is_damaged else "a" * 16],
    }  # fmt: skip
    program = {
        "id": "e" * 16, "name": "add", "format": "zebin", "device": "dg2", "device_title": "DG2", "device_words": "dg2",
        "register_bytes": 32, "toolchain": "system", "versions": ["IGC 1"], "options": options, "command": command,
        "ok": has_kernels, "reason": None if has_kernels else "the compiler found an error", "log": "c" * 16 if log else None,
        "files": [{
            "path": path, "origin": "recording", "lines": None, "chunk": None if source is None else "b" * 16,
            "missing": None if source is not None else "not recorded (redacted)",
        }] if has_lines else [],
        "kernels": columns if has_kernels else {key: [] for key in columns},
        "reasons": {} if has_lines else {"0": "it was built without -gline-tables-only"},
        "stages": [] if stage is None else [
            {"name": "llvm-codegen", "attempt": 1, "scope": "program", "title": "LLVM IR, last", "sentence": "", "meta": None},
        ],
        "no_stages": "recorded without the stages of the compile; kernlens stages add.cl --device dg2 -o FILE keeps them"
        if stage is None else None,
        "passes": None,
    }  # fmt: skip
    index = {
        "schema": 2,
        "kernlens": "0",
        "title": title,
        "redacted": [],
        "figures": [],
        "opcodes": {},
        "programs": [program] if has_program else [],
    }
    return ExploreDocument(index | {"chunks": {chunk: {"kind": chunks.kind(chunk)} for chunk in chunks}}, chunks)


def chunk_of(document: ExploreDocument) -> dict[str, Any]:
    """Return the chunk of a made document's only kernel."""
    chunk: dict[str, Any] = orjson.loads(document.chunks.content("a" * 16))
    return chunk


def with_kernels(
    kernels: Mapping[str, dict[str, Any]],
    *,
    opcodes: Mapping[str, str] | None = None,
    passes: Sequence[dict[str, Any]] | None = None,
) -> ExploreDocument:
    """Return one program with these kernels, by name; all else is as ``made`` makes it."""
    document = small_document()
    (program,) = document.index["programs"]
    chunks = Chunks()
    for number, chunk in enumerate(kernels.values()):
        chunks.add("kernel", f"{number:016x}", lambda chunk=chunk: chunk)  # type: ignore[misc]
    chunks.add("source", "b" * 16, lambda: {"schema": 2, "kind": "source", "text": SOURCE})
    columns = {key: values * len(kernels) for key, values in program["kernels"].items()}
    columns |= {"name": [*kernels], "shown": [*kernels], "chunk": [f"{number:016x}" for number in range(len(kernels))]}
    program |= {"kernels": columns}
    if passes is not None:
        chunk = {"files": [], "passes": passes, "times": {}, "no_times": None, "missing": None}
        program["passes"] = [chunks.add("passes", "f" * 16, lambda: chunk)] * len(kernels)
    return ExploreDocument(document.index | {"opcodes": opcodes or {}, "programs": [program]}, chunks)


def code(rows: list[str], place: int) -> dict[str, Any]:
    """Return the columns of these instructions, each of 16 bytes, all of one place; a ``goto`` goes to the first."""
    gotos = [row for row, text in enumerate(rows) if " goto " in text]
    behind = [row + 1 for row in gotos if row + 1 < len(rows)]
    return {
        "text": "\n".join(rows), "offset": deltas(range(0, 16 * len(rows), 16)), "size": [16] * len(rows),
        "opcode": ["some"], "op": [0] * len(rows), "place": deltas([place] * len(rows)), "flags": [0] * len(rows), "id": None,
        "block": deltas([0, *(row + 1 for row in gotos if row + 1 < len(rows))]), "depth": [1] * (1 + len(gotos)),
        "flow": {
            "block": deltas([0, *behind]), "loop": [0 if gotos else -1, *(-1 for _ in behind)],
            "parent": [-1] if gotos else [], "header": [0] if gotos else [], "jump": [[row, 0] for row in gotos],
        },
        "targets": [[row, 0] for row in gotos],
        "wait": {"row": deltas([4]), "back": [2]} if len(rows) > 4 else {"row": [], "back": []},
        "distance": [1, [1, 2], *[0] * len(rows)][: sum("@" in text for text in rows)],
        "message": {"row": deltas([2]), "kind": [0], "kinds": [{
            "target": "dc0", "operation": "write", "action": "store", "memory": "global", "bytes": 64, "spill": False,
            "answer": 0, "addresses": 2, "data": 2, "words": "writes up to 64 bytes of global memory through the data cache",
        }]} if len(rows) > 2 else {"row": [], "kind": [], "kinds": []},
        "live": [2, 3, 5, 4, 1] * (len(rows) // 5) if len(rows) % 5 == 0 else None,
        "peak": {"row": 2, "registers": 5, "held": []} if len(rows) % 5 == 0 else None,
        "is_lower_bound": False,
        "use": {
            "row": deltas([1, 2, 4]), "back": [1, 1, 2], "register": [2, 4, 6], "value": [1, 3, 4], "part": [0, 0, 0],
            "parts": [[0, 31]], "before": {"row": deltas([0, 1]), "register": [0, 3], "value": [0, 2]}, "partial": [],
        } if len(rows) == 5 else None,
        "range": {
            "register": deltas([0, 2, 3, 4, 6, 127]), "row": deltas([0, 0, 0, 1, 2, 4]), "rows": [1, 2, 2, 2, 3, 1],
            "value": deltas([0, 1, 2, 3, 4, 5]),
        } if len(rows) == 5 else None,
        "cycles": {
            "start": deltas([0, 6, 8, 10, 154]), "issue": [1, 2, 2, 2, 1],
            "wait": {"row": deltas([1, 4]), "back": [1, 2], "cycles": [5, 142], "why": [1, 0], "reasons": ["written", "taken"]},
        } if len(rows) == 5 else None,
        "samples": None,
    }  # fmt: skip


def many_kernels(listed: Sequence[Listed], figures: Sequence[tuple[int, int, int]]) -> ExploreDocument:
    """Return programs with kernels of these names, a program per build and file; ``figures`` are each kernel's
    instructions, SIMD width and spilled bytes. All have the code of ``small_document``."""
    document = small_document()
    (program,) = document.index["programs"]
    names = kernel_names(listed)
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, kernel in enumerate(listed):
        rows.setdefault((kernel.file, kernel.device, kernel.toolchain, kernel.options), []).append(row)
    programs = []
    for number, ((file, device, toolchain, options), own) in enumerate(rows.items()):
        columns = {key: values * len(own) for key, values in program["kernels"].items()} | {
            "name": [listed[row].name for row in own], "shown": [listed[row].name for row in own],
            "instructions": [figures[row][0] for row in own], "simd": [figures[row][1] for row in own],
            "spill_bytes": [figures[row][2] for row in own], "group": [names.group_of[row] for row in own],
        }  # fmt: skip
        texts = {str(at): names.rows[row] for at, row in enumerate(own) if names.rows[row] not in listed[row].name}
        beside = {str(at): names.beside[row] for at, row in enumerate(own) if names.beside[row]}
        build = {"device": device or "dg2", "toolchain": toolchain or "system", "options": options}
        programs.append(
            program
            | build
            | {"id": f"{number:016x}", "name": file, "kernels": columns, "rows": texts, "beside": beside}
        )
    groups = [group._asdict() for group in names.groups]
    return ExploreDocument(document.index | {"groups": groups, "programs": programs}, document.chunks)

"""Programs to record, for tests of recordings."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.stage import Snapshot
from kernlens.recording.schema import SCHEMA_VERSION, SCHEMAS
from kernlens.recording.writer import RecordingWriter

CHAIN = BuildToolchain("newest", "26.27.39122", "2.40.14")
SOURCE = 'kernel void add(global int *a) {\n    a[0] = a[0] + 41 + "é";\n}\nadd_one_more\n'


def snapshot(stage: str, ending: str, content: bytes, kernel: str | None = None, attempt: int = 1) -> Snapshot:
    return Snapshot(stage, kernel, "text", ending, lambda: content, len(content), attempt=attempt)


def record(path: Path, *builds: Build) -> Path:
    with RecordingWriter(path) as writer:
        for build in builds:
            writer.add(build)
    return path


FULL = Build(
    name="add",
    device="bmg",
    toolchain=CHAIN,
    options="-g -DX=é",
    command="ocloc compile -file add.cl",
    seconds=0.25,
    parts=HeldParts(
        log='1:2:5: warning: x\n    a[0] = a[0] + 41 + "é";\n        ^\n',
        binary=b"\x7fELF" + bytes(5000),
        debug=b"debug",
        spirv=b"\x03\x02\x23\x07 kernel void add(global int *a) { tail",
        sources=(Source("/src/add.cl", SOURCE), Source("/src/add.h", "// header\n")),
        snapshots=(
            snapshot("source", ".cl", SOURCE.encode()),
            snapshot("asm", ".asm", b"// kernel void add(global int *a) {\n mov r0", kernel="add", attempt=2),
        ),
    ),
)
FAILED = Build("broken", "dg2", CHAIN, ok=False, reason="it does not compile", parts=HeldParts(log="error: x"))


def make_older(connection: sqlite3.Connection, schema: int) -> None:
    """Make a recording one of an older schema."""
    for name in SCHEMAS[SCHEMA_VERSION].keys() - SCHEMAS[schema]:
        connection.execute(f"DROP TABLE {name}")
    if schema == 1:
        connection.execute("DROP TABLE snapshot")
        connection.execute(SCHEMAS[1]["snapshot"])
    connection.execute(f"PRAGMA user_version={schema}")


def entry(number: int, size: int = 20_000) -> Build:
    """Return a build whose binary can be told from its number."""
    return holding(f"p{number}", random.Random(number).randbytes(size))


def holding(name: str, binary: bytes, **fields: Any) -> Build:
    """Return a build for dg2 with this binary."""
    return Build(name, "dg2", CHAIN, parts=HeldParts(binary=binary), **fields)


def beside(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir() if other != path)

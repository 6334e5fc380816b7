"""Programs to record, for tests of recordings."""

from __future__ import annotations

import random
from pathlib import Path

from kernlens.recording.writer import ProgramEntry, RecordedToolchain, SnapshotEntry

CHAIN = RecordedToolchain("newest", "26.27.39122", "2.40.14")
SOURCE = 'kernel void add(global int *a) {\n    a[0] = a[0] + 41 + "é";\n}\nadd_one_more\n'
FULL = ProgramEntry(
    name="add",
    device="bmg",
    toolchain=CHAIN,
    options="-g -DX=é",
    log='1:2:5: warning: x\n    a[0] = a[0] + 41 + "é";\n        ^\n',
    seconds=0.25,
    command="ocloc compile -file add.cl",
    binary=b"\x7fELF" + bytes(5000),
    debug=b"debug",
    spirv=b"\x03\x02\x23\x07 kernel void add(global int *a) { tail",
    sources=(("/src/add.cl", SOURCE), ("/src/add.h", "// header\n")),
    snapshots=(
        SnapshotEntry("source", "text", ".cl", SOURCE.encode()),
        SnapshotEntry("asm", "text", ".asm", b"// kernel void add(global int *a) {\n mov r0", kernel="add", attempt=2),
    ),
)
FAILED = ProgramEntry("broken", "dg2", CHAIN, ok=False, reason="it does not compile", log="error: x")


def entry(number: int, size: int = 20_000) -> ProgramEntry:
    """Returns a program whose binary can be told from its number."""
    return ProgramEntry(f"p{number}", "dg2", CHAIN, binary=random.Random(number).randbytes(size))


def beside(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir() if other != path)

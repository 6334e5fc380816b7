"""The accesses of a line as the machine code has them, in words and as a document."""

from __future__ import annotations

from typing import Any

from kernlens.analysis.machine_accesses import ABSENT, JOINED, KEPT, REPEATED, UNIFORM, MachineAccess
from kernlens.report.describe import plural

_MEMORIES = {"slm": "local memory"}


def machine_sentence(access: MachineAccess) -> str | None:
    """Return what became of a line's accesses in the machine code; None if they are there as the source has them."""
    memory = _MEMORIES.get(access.space, f"{access.space} memory")
    if access.state == KEPT:
        return None
    if access.state == ABSENT:
        return (
            f"as the machine code has it: no {access.kind} of {memory} stands at this line; it is gone, hoisted, or a part of"
            " another line's"
        )
    has = f"as the machine code has it: {_sizes(access.source, access.kind)} of {memory}"
    if access.state == UNIFORM:
        return f"{has}: once for a whole sub-group"
    if access.state == REPEATED:
        return f"{has}: {plural(len(access.code) // len(access.source), 'copy').replace('copys', 'copies')} of each"
    if access.state != JOINED and sum(access.code) < sum(access.source):
        return (
            f"{has}; the code has {_sizes(access.code, access.kind)} here, and the others are gone, hoisted, or parts of"
            " another line's"
        )
    if access.state != JOINED and access.source == access.code:
        return f"{has}; the code has as many, of one lane each, where lanes access several addresses"
    if access.state != JOINED:
        return f"{has}; the code has {_sizes(access.code, access.kind)}, which do not match"
    joined = f"{has} became {_sizes(access.code, access.kind)}"
    if sum(access.source) != sum(access.code):
        return f"{joined}, with those of other rounds or lines"
    if access.units is None or access.units[0] == access.units[1]:
        return joined
    return f"{joined}: {access.units[0]:,} to {access.units[1]:,} units in place of {access.units[1]:,}"


def _sizes(sizes: tuple[int, ...], kind: str) -> str:
    """Return ``4 loads of 4 bytes and 1 of 8``."""
    counts = {size: sizes.count(size) for size in sizes}
    (first, count), *others = counts.items()
    more = "".join(f" and {number} of {size}" for size, number in others)
    return f"{plural(count, kind)} of {plural(first, 'byte')}{more}"


def machine_document(access: MachineAccess) -> dict[str, Any]:
    """Return the accesses of a line for JSON."""
    path, line = access.line
    return {
        "path": path,
        "line": line,
        "kind": access.kind,
        "space": access.space,
        "state": access.state,
        "source_widths": list(access.source),
        "code_widths": list(access.code),
        "units": None if access.units is None else {"least": access.units[0], "most": access.units[1]},
        "sentence": machine_sentence(access),
    }

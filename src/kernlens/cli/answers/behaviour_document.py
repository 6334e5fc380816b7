"""The behaviour of a kernel as a document for JSON: the same wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlens.analysis.line_texts import source_texts
from kernlens.analysis.observed_causes import observed_causes
from kernlens.model.behaviour import LINE_KINDS, UNITS, Behaviour, ObservedAccess, ObservedLine
from kernlens.model.fault import Fault
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

SCHEMA = 1


def observed_document(program: Program, kernel: Kernel) -> dict[str, Any]:
    """Return the key ``behaviours`` of a kernel: its launches as ``observe --json`` has them."""
    texts = source_texts(program)
    return {"behaviours": [behaviour_document(each, texts) for each in kernel.behaviours]}


def behaviour_document(observed: Behaviour, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the document of ``observe --json``, which other documents have under ``behaviours``. ``texts`` has the lines of
    source files by their paths."""
    machine = observed.machine
    return {
        "schema": SCHEMA,
        "source": observed.source,
        "kernel": observed.kernel,
        "device": observed.device,
        "sub_group_size": machine.width,
        "unit_bytes": machine.unit,
        "banks": machine.banks or None,
        "global_size": list(observed.global_size),
        "local_size": list(observed.local_size),
        "work_groups": observed.groups,
        "work_groups_run": observed.groups_done,
        "out_of_time": observed.is_out_of_time,
        "llvm_instructions": observed.instructions,
        "copied_bytes": observed.copied_bytes,
        "lines": list(map(line_document, observed.lines)),
        "causes": [
            {
                **_where(cause.place),
                "kind": cause.kind,
                "sentence": cause.sentence,
                "action": cause.action,
                "share": None if cause.share is None else round(cause.share, 3),
                "resource": cause.resource,
            }
            for cause in observed_causes(observed, texts)
        ],
        "accesses": [_access(access) for access in observed.accesses],
        "branches": [
            {
                **_where(branch.place),
                "sub_group_runs": branch.sub_groups,
                "parted": branch.parted,
                "taken": list(branch.shares),
            }
            for branch in observed.branches
        ],
        "loops": [
            {
                **_where(loop.place),
                "entries": loop.entries,
                "rounds": {"least": loop.least, "mean": round(loop.mean, 3), "most": loop.most},
                "sub_group_rounds": None if loop.sub_group_rounds is None else round(loop.sub_group_rounds, 3),
            }
            for loop in observed.loops
        ],
        "barriers": [{**_where(place), "work_groups": count} for place, count in observed.barriers],
        "faults": [fault_document(fault) for fault in observed.faults],
        "notes": list(observed.notes),
        "launches": observed.launches,
        "reason": observed.reason or None,
    }


def line_document(line: ObservedLine) -> dict[str, Any]:
    """Return the counts of a line, its place first."""
    return dict(zip(LINE_KINDS, line.cells, strict=True))


def _where(place: SourcePlace | None) -> dict[str, Any]:
    if place is None:
        return {"path": None, "line": None, "column": None}
    return {"path": place.path, "line": place.line, "column": place.column or None}


def _access(access: ObservedAccess) -> dict[str, Any]:
    return {
        **_where(access.place),
        "inlined_at": [_where(call) for call in access.calls],
        "kind": access.kind,
        "space": access.space,
        "width": access.width,
        "requests": access.requests,
        "lanes": access.lanes,
        "bytes": access.bytes,
        "used_bytes": access.used,
        "units": {str(unit): count for unit, count in zip(UNITS, access.units, strict=True)},
        "least_units": {str(unit): count for unit, count in zip(UNITS, access.least, strict=True)},
        "wavefronts": access.wavefronts,
        "least_wavefronts": access.least_wavefronts,
        "distinct_addresses": access.distinct,
        "contention": access.contention,
        "pattern": access.pattern,
        "ungrouped": access.ungrouped,
    }


def fault_document(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "sentence": fault.sentence,
        "places": [_where(place) for place in fault.places],
        "work_items": [list(each) for each in fault.work_items],
        "argument": fault.argument,
        "count": fault.count,
    }

"""The behaviour of a kernel as a document for JSON: the same wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlens.analysis.machine_accesses import machine_accesses
from kernlens.analysis.observed_causes import Cause, causes_of_kernel, observed_causes
from kernlens.cli.answers.access_words import UNASKED, accesses_document, where_document
from kernlens.model.behaviour import LINE_KINDS, UNITS, Behaviour, ObservedAccess, ObservedLine, ObservedRequest
from kernlens.model.fault import Fault
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.machine_words import machine_document

SCHEMA = 1


def observed_document(program: Program, kernel: Kernel) -> dict[str, Any]:
    """Return the keys ``behaviours`` of a kernel, its launches as ``observe --json`` has them, and ``machine_accesses``."""
    texts = program.source_lines
    launches = [behaviour_document(each, texts) for each in kernel.behaviours]
    return {"behaviours": launches, "machine_accesses": list(map(machine_document, machine_accesses(kernel)))}


def further_document(program: Program, kernel: Kernel, *, has_addresses: bool) -> dict[str, Any]:
    """Return what a listing has of a kernel's accesses: what its code says, if ``has_addresses``, and its launches if it
    was observed."""
    observed = observed_document(program, kernel) if kernel.behaviours else {}
    return (accesses_document(program, kernel) if has_addresses else UNASKED) | observed


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
        "causes": list(map(cause_document, observed_causes(observed, texts))),
        "accesses": [_access(access) for access in observed.accesses],
        "branches": [
            {
                **where_document(branch.place),
                "sub_group_runs": branch.sub_groups,
                "parted": branch.parted,
                "taken": list(branch.shares),
            }
            for branch in observed.branches
        ],
        "loops": [
            {
                **where_document(loop.place),
                "entries": loop.entries,
                "rounds": {"least": loop.least, "mean": round(loop.mean, 3), "most": loop.most},
                "sub_group_rounds": None if loop.sub_group_rounds is None else round(loop.sub_group_rounds, 3),
            }
            for loop in observed.loops
        ],
        "barriers": [{**where_document(place), "work_groups": count} for place, count in observed.barriers],
        "faults": [fault_document(fault) for fault in observed.faults],
        "notes": list(observed.notes),
        "launches": observed.launches,
        "reason": observed.reason or None,
    }


def cause_document(cause: Cause) -> dict[str, Any]:
    """Return a cause of waste, its place first."""
    return {
        **where_document(cause.place),
        "kind": cause.kind,
        "sentence": cause.sentence,
        "action": cause.action,
        "share": None if cause.share is None else round(cause.share, 3),
        "resource": cause.resource,
    }


def causes_document(program: Program, kernel: Kernel) -> dict[str, Any]:
    """Return the key ``causes`` of a kernel that was observed: of all its launches together."""
    return {"causes": list(map(cause_document, causes_of_kernel(program, kernel)))}


def line_document(line: ObservedLine) -> dict[str, Any]:
    """Return the counts of a line, its place first."""
    return dict(zip(LINE_KINDS, line.cells, strict=True))


def _access(access: ObservedAccess) -> dict[str, Any]:
    return {
        **where_document(access.place),
        "inlined_at": [where_document(call) for call in access.calls],
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
        "example": None if access.example is None else _request(access.example),
    }


def _request(request: ObservedRequest) -> dict[str, Any]:
    return {
        "argument": request.argument,
        "offset": request.begin,
        "bytes": request.bytes,
        "lanes": [list(lane) for lane in request.lanes],
    }


def fault_document(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "sentence": fault.sentence,
        "places": [where_document(place) for place in fault.places],
        "work_items": [list(each) for each in fault.work_items],
        "argument": fault.argument,
        "count": fault.count,
    }

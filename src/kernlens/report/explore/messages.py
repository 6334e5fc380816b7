"""The effects of messages, in words."""

from __future__ import annotations

from typing import Any

from kernlens.model.flag_bits import indexes_of
from kernlens.model.instruction import Instructions
from kernlens.model.instruction_kind import ATOMIC, LOAD, PREFETCH, STORE, InstructionKind
from kernlens.model.intel_instructions import SEND, Message, packed_of
from kernlens.report.describe import plural
from kernlens.report.explore.packing import deltas

#: Shared functions, as their names are read.
TARGETS = {
    "smpl": "the sampler", "ugm": "the load/store cache", "ugml": "the load/store cache (low bandwidth)",
    "slm": "shared local memory", "tgm": "the typed load/store cache", "dc0": "the data cache", "dc1": "the data cache",
    "dc2": "the data cache", "dcro": "the read-only data cache", "gtwy": "the message gateway",
    "ts": "the thread spawner", "urb": "the unified return buffer", "rc": "the render cache",
    "pixi": "the pixel interpolator", "vme": "video motion estimation", "cre": "check and refinement",
    "btd": "the bindless thread dispatcher", "rta": "the ray-tracing unit",
}  # fmt: skip
_MEMORIES = {"global": "global memory", "slm": "shared local memory", "scratch": "scratch memory", "image": "an image"}
_VERBS = {LOAD: "reads", STORE: "writes", ATOMIC: "changes in one step", PREFETCH: "prefetches"}


def message_columns(instructions: Instructions) -> dict[str, Any]:
    """Return the rows that are messages, and the kind of each: messages that say the same share one."""
    rows: list[int] = []
    kinds: list[int] = []
    known: dict[tuple[Message, InstructionKind], int] = {}
    packed = packed_of(instructions)
    for row in indexes_of(packed.flags, SEND) if packed is not None else ():
        message = packed[row].message if packed is not None else None
        if message is None:
            continue
        rows.append(row)
        kinds.append(known.setdefault((message, instructions.kinds[row]), len(known)))
    return {"row": deltas(rows), "kind": kinds, "kinds": [_kind(message, kind) for message, kind in known]}


def _kind(message: Message, kind: InstructionKind) -> dict[str, Any]:
    access = kind.access
    return {
        "target": message.target,
        "operation": access.operation if access else None,
        "action": (access.action if access else "") or None,
        "memory": kind.name if access and access.action else None,
        "bytes": access.size if access else None,
        "spill": bool(access and access.is_spill),
        "answer": message.answer_registers,
        "addresses": message.address_registers,
        "data": message.data_registers,
        "words": message_words(message, kind),
    }


def message_words(message: Message, kind: InstructionKind) -> str:
    """Return one sentence on what a message does: to whom it goes, what it accesses, and how many registers go and come."""
    target = TARGETS.get(message.target or "", message.target or "a shared function that a register names")
    access = kind.access
    if message.end_of_thread:
        return f"ends the thread, through {target}"
    if access is None:
        return f"a message to {target}"
    words = []
    if access.action:
        size = "bytes" if access.size is None else plural(access.size, "byte")
        if access.is_spill:
            spill = "saves a value that did not fit into the registers"
            words.append(spill if access.action == STORE else "brings back a value that did not fit into the registers")
        words.append(f"{_VERBS[access.action]} up to {size} of {_MEMORIES[kind.name]} through {target}")
        if access.lanes > 1:
            each = access.element_bytes * access.elements
            words.append(f"{plural(each, 'byte')} in each of {access.lanes} lanes")
    else:
        words.append(f"{access.operation or 'a message'}, through {target}")
    if message.answer_registers:
        words.append(f"the answer fills {plural(message.answer_registers, 'register')}")
    return "; ".join(words)

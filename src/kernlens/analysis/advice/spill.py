"""Spilled values, with the lines whose values hold the registers where most are live."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.private_names import PrivateNames
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.flow.register_peak import held_at
from kernlens.model.advice import EQUAL, SPILL, Advice
from kernlens.model.instruction_kind import STORE
from kernlens.model.source_map import SourcePlace

#: The architecture and release from which on a thread can have 256 registers: Xe-HP.
_LARGE_FROM = (12, 50)
_LARGE = 256
#: The narrowest sub-group, and that of devices whose registers have 64 bytes.
_NARROWEST, _NARROWEST_WIDE = 8, 16
_SUB_GROUP = re.compile(r"\b(?!intel_reqd_)\w{0,40}sub_group\w*\s*\(", re.ASCII)
#: Source variables that are named, of those that were spilled.
_NAMED = 3


def _advise(facts: Facts) -> Iterator[Advice]:
    kinds = facts.kinds
    rows = [row for row, kind in enumerate(kinds) if kind.access is not None and kind.access.is_spill]
    if not rows:
        return
    stores = sum(1 for row in rows if (access := kinds[row].access) is not None and access.action == STORE)
    messages = f"{_count(stores, 'spill store')} and {_count(len(rows) - stores, 'fill load')}"
    place, words = _held(facts)
    subject = "The values of the line" if place is not None else "The kernel"
    yield RULE.advice(
        facts,
        place,
        rows,
        subject,
        f"{words}: {messages}{_names(facts)}",
        # A loop that is unrolled less may move an array to memory.
        f"keep fewer values live at once (compute or load them again, "
        f"{'shorten private arrays' if _has_arrays(facts) else 'unroll less'}){_to_try(facts)}",
        is_exact=True,
    )


def _to_try(facts: Facts) -> str:
    """Return what the device still has for this kernel: more registers, narrower sub-groups."""
    device, resources = facts.program.device, facts.kernel.resources
    ip = device.ip if device is not None else None
    changes = []
    if ip is not None and (ip.architecture, ip.release) >= _LARGE_FROM and (resources.grf_count or 0) < _LARGE:
        changes.append(f"{_LARGE} registers")
    effects = facts.code.effects
    narrowest = _NARROWEST_WIDE if effects is not None and effects.register_bytes == 64 else _NARROWEST
    # What functions of sub-groups compute depends on the size of these.
    texts = facts.tokens.texts.values()
    has_functions = any(_SUB_GROUP.search(line) for text in texts for line in text)
    if resources.simd is not None and resources.simd > narrowest and texts and not has_functions:
        changes.append(f"sub-groups of {resources.simd // 2}")
    return f", or try {' and '.join(changes)}" if changes else ""


def _has_arrays(facts: Facts) -> bool:
    """Return whether functions that instructions of this kernel came from declare private arrays."""
    names = PrivateNames(facts.tokens)
    return any(names.around(place.path, facts.tokens.offset(place)) for place in facts.sites if facts.tokens.at(place))


def _held(facts: Facts) -> tuple[SourcePlace | None, str]:
    """Return the line whose values hold most registers where most are live, and words for that."""
    kernel = facts.kernel
    pressure = kernel.pressure
    everything = "has more live values than registers"
    if pressure is None or pressure.peak_index is None:
        return None, everything
    lines = [held for held in held_at(facts.code, kernel.source_map, pressure.peak_index) if held.path is not None]
    if not lines or lines[0].path is None or lines[0].line is None:
        return None, everything
    peak = kernel.source_map.line_of(pressure.peak_index) if kernel.source_map else None
    where = f" (line {peak.line[1]})" if peak is not None and peak.line is not None and peak.is_certain else ""
    held = len(lines[0].registers)
    most = "" if lines[0].certain == held else "at most "
    return (
        SourcePlace(lines[0].path, lines[0].line),
        f"hold {most}{held} of the {pressure.peak} live registers at the pressure peak{where}, and the kernel spills",
    )


def _names(facts: Facts) -> str:
    """Return the source variables that were spilled, where the stages of the compile tell them."""
    names = dict.fromkeys(value.variable for value in facts.kernel.spilled_values or () if value.variable)
    return f", of {', '.join(f'`{name}`' for name in [*names][:_NAMED])}" if names else ""


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


RULE = Rule(SPILL, "Spill", (EQUAL,), _advise)

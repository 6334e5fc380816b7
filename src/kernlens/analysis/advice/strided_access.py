"""Neighbouring work-items that access global memory far apart, as the kernel's SPIR-V says whatever the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.lanes.kernel_accesses import kernel_accesses
from kernlens.analysis.observed_causes import action_of_stride
from kernlens.analysis.strides import alike, strided_lines
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.instruction_kind import GLOBAL
from kernlens.model.static_access import StaticAccess

KEY = "strided-access"
_LOCAL = "local"


def _advise(facts: Facts) -> Iterator[Advice]:
    """Yield a piece for each line. What a kernel did on data says more: its causes stand instead."""
    if facts.kernel.behaviours or facts.kernel.source_map is None:
        return
    answer = kernel_accesses(facts.program, facts.kernel)
    far = strided_lines(filter(_is_wasteful, answer.accesses))
    if not far:
        return
    assumed = "" if answer.group.local else f" for {answer.group.width} neighbours in the first dimension"
    rows_of: dict[tuple[str, int], list[int]] = {}
    for place, rows in facts.sites.items():
        rows_of.setdefault((place.path, place.line), []).extend(rows)
    for line, accesses in far.items():
        rows = rows_of.get(line, [])
        messages = [row for row in rows if (access := facts.kinds[row].access) and not access.is_spill]
        own = [row for row in messages if facts.kinds[row].name == GLOBAL]
        if rows:
            yield _piece(facts, accesses, own or rows, f"addresses from the code{assumed}")


def _is_wasteful(access: StaticAccess) -> bool:
    """Tell whether a stride is known, of memory whose units are moved, and not used up by the accesses to a structure's other
    fields."""
    is_known = access.stride is not None or " of " in access.pattern
    is_used_up = access.stride is not None and access.used == abs(access.stride)
    return access.space != _LOCAL and is_known and not is_used_up


def _piece(facts: Facts, accesses: Sequence[StaticAccess], rows: Sequence[int], origin: str) -> Advice:
    (subject, _, pattern), *others = alike(accesses)
    verb = "have" if " and " in subject else "has"
    fact = f"{verb} a {pattern} between work-items"
    fact += "".join(f", {words} a {each}" for words, _, each in others)
    action = action_of_stride(accesses[0].stride)
    return RULE.advice(*(facts, accesses[0].place, rows, subject, f"{fact}, from the code", action), origin=origin)


RULE = Rule(KEY, "Strided access", (EQUAL,), _advise)

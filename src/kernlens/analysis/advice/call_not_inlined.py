"""Functions that stayed calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.advice import EQUAL, Advice


def _advise(facts: Facts) -> Iterator[Advice]:
    calls: dict[int, list[int]] = {}
    for row, opcode in enumerate(facts.code.opcodes) if facts.kernel.functions else ():
        if opcode == "call":
            for target in facts.code[row].targets:
                calls.setdefault(target, []).append(row)
    for function in facts.kernel.functions:
        rows = calls.get(function.offset)
        if rows is None:
            continue
        action = _action(facts, kernel_title(function.name).partition("(")[0] if function.name else "")
        if not action:
            continue
        source_map = facts.kernel.source_map
        places = filter(None, (source_map.place(row) for row in rows)) if source_map else iter(())
        width = f", which keep the kernel at SIMD{facts.simd}" if facts.simd else ""
        times = "a call" if len(rows) == 1 else f"{len(rows):,} calls"
        yield RULE.advice(
            facts,
            next(places, None),
            [*rows, *function.code],
            f"`{kernel_title(function.name)}`" if function.name else "A function",
            f"is not inlined: {times} and {len(function.code):,} instructions of its own{width}",
            action,
            is_exact=True,
        )


def _action(facts: Facts, name: str) -> str:
    """Return what to do for a function to be inlined; empty if its declaration asks for that already."""
    text = "\n".join(line for lines in facts.tokens.texts.values() for line in lines)
    before = rf"[^;{{}}]*\b{re.escape(name)}\s*\(" if name else ""
    if name and re.search(rf"\balways_inline\b{before}", text):
        return ""
    removed = "remove `noinline`, and " if re.search(rf"\b(?:__)?noinline(?:__)?\b{before}", text) else ""
    return f"{removed}declare the function `__attribute__((always_inline))`"


RULE = Rule("call-not-inlined", "Call not inlined", (EQUAL,), _advise)

"""Functions that stayed calls."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.advice import Advice


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
        source_map = facts.kernel.source_map
        places = filter(None, (source_map.place(row) for row in rows)) if source_map else iter(())
        width = f", which keep the kernel at SIMD{facts.simd}" if facts.simd else ""
        times = "a call" if len(rows) == 1 else f"{len(rows):,} calls"
        yield facts.advice(
            RULE.key,
            next(places, None),
            [*rows, *function.code],
            f"`{kernel_title(function.name)}`" if function.name else "A function",
            f"is not inlined: {times} and {len(function.code):,} instructions of its own{width}",
            "remove `noinline`, or declare the function `__attribute__((always_inline))`",
        )


RULE = Rule("call-not-inlined", "Call not inlined", _advise)

"""Values of LLVM IR that carry a variable's name: what is known of it without debug data, where stages were kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.explore.code import compacted_of

#: The last stage in LLVM IR, whose values become virtual registers.
_STAGE = "llvm-codegen"
_LONGEST_TEXT = 160


class NamedValue(NamedTuple):
    """A value of the LLVM IR that the code generator left. ``text`` is the instruction that makes it, on ``line`` of the
    stage's text; ``rows`` are the machine instructions that are certainly of it."""

    value: str
    text: str
    line: int
    rows: list[int]


def named_values(program: Program, kernel: Kernel, name: str) -> Iterator[NamedValue]:
    """Yield the values that are named after a variable: compilers add numbers to its name. Nothing without kept stages."""
    texts = program.find_stage_texts()
    if not any(of.stage == _STAGE for of in texts.stages):
        return
    pattern = re.compile(rf"\s*(%{re.escape(name)}(?:\.[\w.]*|\d+)?) = (.*)")
    numbers = texts.visa_numbers(kernel.name, compacted_of(kernel.instructions))
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(numbers):
        if number is not None:
            rows_of.setdefault(number, []).append(row)
    for text in texts.of_kernel(kernel.name):
        if text.of.stage != _STAGE or text.missing:
            continue
        visa = dict(zip(text.instructions, text.visa, strict=False))
        for row, (content, line) in enumerate(zip(text.rows, text.lines, strict=True)):
            if match := pattern.match(content):
                made_by = [each for number in visa.get(row, range(0)) for each in rows_of.get(number, ())]
                yield NamedValue(match[1], match[2][:_LONGEST_TEXT], line, sorted(made_by))

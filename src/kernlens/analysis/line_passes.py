"""The passes of a compiler that changed what came from one source line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from kernlens.dataclass import dataclass
from kernlens.model.line_choice import LineChoice
from kernlens.model.stage_map import PassLines, StageMap

#: Numbers that LLVM gives anew whenever something comes or goes: of metadata, attribute groups and nameless values.
VALUE_NUMBER = re.compile(r"(?<=!)\d+|(?<= #)\d+|(?<=%)\d+")


@dataclass(frozen=True, slots=True)
class LinePass:
    """A pass that changed the line's instructions, of which there were ``before`` and then ``after`` (0: it removed the
    line). ``partial`` are the passes right before it of which only a part was dumped: it may have been one of them."""

    stage: str
    attempt: int
    before: int
    after: int
    partial: tuple[str, ...] = ()


def passes_of_line(passes: Iterable[PassLines], choice: LineChoice, others: Collection[str] = ()) -> Iterator[LinePass]:
    """Yield the passes that changed what came from the line, in order; each attempt begins with the program before its
    first pass. Instructions in the functions ``others`` do not count.

    An instruction has changed if its text has, numbers of values and metadata aside.
    """
    before: Counter[tuple[str, str]] = Counter()
    attempt = 0
    partial: list[str] = []
    for step in passes:
        if not step.is_whole:
            partial.append(step.stage)
            continue
        after = _instructions(step.lines, choice, others)
        if step.attempt != attempt or not step.stage:
            attempt = step.attempt
        elif after != before:
            yield LinePass(step.stage, attempt, before.total(), after.total(), tuple(partial))
        before = after
        partial.clear()


def _instructions(lines: StageMap | None, choice: LineChoice, others: Collection[str]) -> Counter[tuple[str, str]]:
    if lines is None:
        return Counter()
    indexes = [index for index in lines.at(choice) if lines.functions[index] not in others]
    return Counter((lines.functions[index], VALUE_NUMBER.sub("", lines.texts[index]).strip()) for index in indexes)

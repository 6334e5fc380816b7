"""The waits of instructions in the timelines of a simulation, one for each block."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import chain

from kernlens.errors import UnsupportedError
from kernlens.model.instruction import Instructions
from kernlens.model.waits import WRITTEN, Step, Wait, Waits

#: Registers of an operand: ``v3``, ``s[4:7]``, ``vcc``, ``m0``.
_REGISTERS = re.compile(r"\b([a-z]+)(?:(\d+)|\[(\d+):(\d+)\])|\b(vcc|exec|scc)(?:_lo|_hi)?\b")
#: More registers than one operand has.
_WIDEST = 64
#: What waits until counters of memory accesses have come down.
_COUNTER_WAITS = ("s_waitcnt", "s_wait_")
#: How many cycles a row can issue.
_LONGEST = 255


def waits_of_timelines(
    instructions: Instructions, firsts: Sequence[int], timelines: Sequence[Sequence[Step]], source: str, terms: str
) -> Waits:
    """Return the cycles of the instructions, by the timelines of the blocks that begin at the rows ``firsts``.

    A row waits for the row of its block that ends when it issues, or behind which alone it may write its result. Where
    there is none, the cycles since the row before are those that this one occupies. Raises UnsupportedError if they are
    more than can be.
    """
    issue, waits = list[int](), dict[int, Wait]()
    for first, steps in zip(firsts, timelines, strict=True):
        ends = dict[int, list[int]]()
        for number, step in enumerate(steps):
            if number:
                before = steps[number - 1]
                passed = step.issued - before.issued
                own = min(passed, before.operations)
                producer = _producer(instructions, first, number, step, steps, ends) if passed > own else None
                issue.append(passed if producer is None else own)
                if producer is not None:
                    waits[first + number] = Wait(first + number, first + producer, passed - own, WRITTEN)
            ends.setdefault(step.executed, []).append(number)
        issue.extend(step.operations for step in steps[-1:])
    if issue and not 0 <= min(issue) <= max(issue) <= _LONGEST:
        raise UnsupportedError(f"{source} lets an instruction issue for {max(issue, key=abs):,} cycles")
    starts = array("I", [step.issued for step in chain.from_iterable(timelines)])
    waited = sum(wait.cycles for wait in waits.values())
    return Waits(starts, bytes(issue), waits, firsts, sum(issue), waited, source, terms)


def _producer(
    instructions: Instructions, first: int, number: int, step: Step, steps: Sequence[Step], ends: dict[int, list[int]]
) -> int | None:
    """Return the row for which the row ``number`` of a block waits; None if it waits for none."""
    ending = ends.get(step.issued, [])
    if len(ending) > 1:
        # Of several that end in the same cycle only one may be meant: an access to memory, or what writes an operand.
        if instructions.opcodes[first + number].startswith(_COUNTER_WAITS):
            meant = [each for each in ending if steps[each].is_memory]
        else:
            used = _registers(instructions.texts[first + number])
            meant = [each for each in ending if used & _registers(_target(instructions.texts[first + each]))]
        return (meant or ending)[-1]
    last = ending or ends.get(step.executed)
    return last[-1] if last else None


def _target(text: str) -> str:
    return text.partition(",")[0]


def _registers(text: str) -> set[str]:
    """Return the registers that a text names, each one of a range."""
    named = set()
    for file, only, low, high, special in _REGISTERS.findall(text.partition(" ")[2]):
        start = int(only or low or 0)
        end = min(int(high), start + _WIDEST) if high else start
        named.update([special] if special else [f"{file}{each}" for each in range(start, end + 1)])
    return named

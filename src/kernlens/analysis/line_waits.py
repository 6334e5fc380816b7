"""The waits of each source line: for which lines it waits, and for what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernlens.analysis.flow.register_peak import line_of
from kernlens.model.instruction import Instructions
from kernlens.model.instruction_kind import ATOMIC, LOAD, MATH, PREFETCH, SLM, STORE
from kernlens.model.kernel import Kernel
from kernlens.model.waits import Waits

_VERBS = {LOAD: "read", STORE: "write", ATOMIC: "atomic", PREFETCH: "prefetch"}


class WaitedFor(NamedTuple):
    """The cause of a line's waits: the line ``line`` of the file ``path``, or what ``origin`` says where these are None, as
    ``HeldValues`` has it. ``operation`` is what is done there, and ``why`` one of ``waits.REASONS``. ``rows`` is how many
    instructions wait ``cycles`` for it, all together; ``certain`` of them wait for what is certainly of this line."""

    path: str | None
    line: int | None
    origin: str
    operation: str
    why: str
    cycles: int
    rows: int
    certain: int


def waits_by_line(
    kernel: Kernel, waits: Waits, weights: Sequence[int] | None = None
) -> Mapping[tuple[str, int], list[WaitedFor]]:
    """Return for each line whose own instructions wait what they wait for, most cycles first. Each instruction's cycles count
    as often as ``weights`` say, once without."""
    source_map, instructions = kernel.source_map, kernel.instructions
    sums: dict[tuple[str, int], dict[tuple[str | None, int | None, str, str, str], tuple[int, int, int]]] = {}
    for row, wait in waits.waits.items():
        (path, line, _), _ = line_of(row, source_map)
        if path is None or line is None:
            continue
        place, is_certain = line_of(wait.producer, source_map)
        key = *place, operation(instructions, wait.producer), wait.why
        of_line = sums.setdefault((path, line), {})
        cycles, count, certain = of_line.get(key, (0, 0, 0))
        cycles += wait.cycles * (1 if weights is None else weights[row])
        of_line[key] = cycles, count + 1, certain + is_certain
    return {
        line: sorted(
            (WaitedFor(*key, *sums_of) for key, sums_of in of_line.items()),
            key=lambda each: (-each.cycles, each.path or "", each.line or 0),
        )
        for line, of_line in sums.items()
    }


def operation(instructions: Instructions, row: int) -> str:
    """Return what a row that others wait for does, in words: ``image read``, ``SLM fence``, ``math``, ``dpas``."""
    kind = instructions.kinds[row]
    access = kind.access
    if access is None:
        return MATH if kind.name == MATH else instructions.opcodes[row]
    space = kind.name.upper() if kind.name == SLM else kind.name
    if access.action:
        return f"{'spill' if access.is_spill else space} {_VERBS[access.action]}"
    return access.operation if access.operation != "unknown" else "message"

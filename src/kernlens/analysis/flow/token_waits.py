"""The waits of rows for others: the tokens of the software scoreboard, followed along the ways that lanes take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kernlens.analysis.flow.blocks import Blocks
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import packed_of
from kernlens.model.operand import Swsb

#: The most rows that are told of one token: code with more ways to one place is made to have them.
_MOST = 8
#: In kernels of more blocks than these, tokens are followed within blocks only.
_MOST_BLOCKS = 20_000

#: Token -> the rows that may have taken it last.
_Takers = dict[int, frozenset[int]]


class TokenWait(NamedTuple):
    """A wait of row ``waiter`` until row ``producer`` has read or written its registers."""

    waiter: int
    producer: int


def token_waits(instructions: Instructions, *, with_takers: bool = False) -> Iterator[TokenWait]:
    """Yield the waits row by row; nothing before Xe, which has no software scoreboard, and if ``liveness_of`` knows nothing.
    ``with_takers``: those too of rows that take a token, for the rows that may still hold it."""
    packed = packed_of(instructions)
    tokens = {
        row: (swsb.token, swsb.token_use == "set")
        for row, swsb in enumerate(Swsb.of_records(packed.records) if packed is not None else ())
        if swsb is not None and swsb.token is not None
    }
    liveness = liveness_of(instructions) if tokens else None
    if liveness is None:
        return
    blocks = liveness.blocks
    before = _before_blocks(blocks, tokens) if len(blocks.code) <= _MOST_BLOCKS else [{} for _ in blocks.code]
    for number, code in enumerate(blocks.code):
        takers = dict(before[number])
        for row in code:
            token, is_taken = tokens.get(row, (None, False))
            if token is None:
                continue
            if with_takers or not is_taken:
                yield from (TokenWait(row, producer) for producer in sorted(takers.get(token, ()), reverse=True))
            if is_taken:
                takers[token] = frozenset((row,))


def _before_blocks(blocks: Blocks, tokens: Mapping[int, tuple[int, bool]]) -> list[_Takers]:
    """Return for each block the rows that may have taken each token last before it."""
    taken: list[_Takers] = []
    for code in blocks.code:
        taken.append({tokens[row][0]: frozenset((row,)) for row in code if row in tokens and tokens[row][1]})
    before: list[_Takers] = [{} for _ in blocks.code]
    waiting = list(range(len(blocks.code) - 1, -1, -1))
    is_waiting = [True] * len(waiting)
    while waiting:
        block = waiting.pop()
        is_waiting[block] = False
        after = before[block] | taken[block]
        for successor in blocks.successors[block]:
            known = before[successor]
            new = {
                token: frozenset(sorted(known.get(token, frozenset()) | rows)[:_MOST])
                for token, rows in after.items()
                if len(known.get(token, ())) < _MOST and not rows <= known.get(token, frozenset())
            }
            if new:
                known.update(new)
                if not is_waiting[successor]:
                    is_waiting[successor] = True
                    waiting.append(successor)
    return before

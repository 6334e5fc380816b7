"""Which rows wrote what each row reads, of all rows of a kernel at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.model.effects import GENERAL, Access, mask, registers_in
from kernlens.model.instruction import Instructions

#: The most writers of a register that are looked at within a block, and told of a row: code with more is made to have them.
_MOST_WRITERS = 32


class RegisterUse(NamedTuple):
    """Row ``reader`` reads what row ``writer`` may have written to the general register ``register``."""

    reader: int
    register: int
    writer: int


def register_uses(instructions: Instructions) -> Iterator[RegisterUse]:
    """Yields the uses row by row, then by register; nothing where ``liveness_of`` knows nothing."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return
    for code in liveness.blocks.code:
        yield from _uses_in(liveness, code)


def _uses_in(liveness: Liveness, code: range) -> Iterator[RegisterUse]:
    effects, size = liveness.effects.effects, liveness.effects.register_bytes
    whole = (1 << size) - 1
    #: Register -> its writers within the block, with the bytes that they wrote and whether nothing else is left there.
    local: dict[int, list[tuple[int, int, bool]]] = {}
    before: dict[int, dict[int, int]] = {}
    for row in code:
        effect = effects[row]
        for register, wanted in sorted(_registers(effect.reads, size).items()):
            writers = []
            for writer, written, is_all in reversed(local.get(register, ())):
                if written & wanted:
                    writers.append(writer)
                    wanted &= ~written if is_all else whole
                if not wanted:
                    break
            if wanted:
                if register not in before:
                    places = whole << GENERAL + register * size
                    before[register] = definitions_of(liveness, code.start, places)
                shifted = wanted << GENERAL + register * size
                writers += [writer for writer, places in before[register].items() if writer >= 0 and places & shifted]
            for writer in sorted(writers, reverse=True)[:_MOST_WRITERS]:
                yield RegisterUse(row, register, writer)
        for register, written in _registers(effect.writes, size).items():
            known = local.setdefault(register, [])
            if written == whole and not effect.is_partial:
                known.clear()
            known.append((row, written, not effect.is_partial))
            del known[:-_MOST_WRITERS]


def _registers(accesses: Sequence[Access], size: int) -> dict[int, int]:
    """The general registers of these accesses, each with the bytes of it."""
    places = mask(accesses)
    whole = (1 << size) - 1
    return {number: places >> GENERAL + number * size & whole for number in registers_in(places, size)}

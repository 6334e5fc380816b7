"""Registers and the rows of a listing that write and read them, in plain numbers: what a viewer links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.model.effects import GENERAL, registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.register_links import RegisterLinks, RegisterRows

#: The most writers of a register that are looked at within a block, and told of a row: code with more is made to have them.
_MOST_WRITERS = 64


class RegisterUse(NamedTuple):
    """A read by row ``reader`` of what row ``writer``, or BEFORE_THE_CODE, may have written to the register ``register``.
    ``read``: the bytes of the register that it reads of that write, as bits."""

    reader: int
    register: int
    writer: int
    read: int


def register_rows(instructions: Instructions) -> dict[int, RegisterRows]:
    """Return the rows of each general register that an instruction names; empty where the decoder does not tell them."""
    effects = instructions.effects
    if effects is None:
        return {}
    rows: dict[int, RegisterRows] = {}
    for index, effect in enumerate(effects.effects):
        for number in registers_in(effect.written, effects.register_bytes):
            rows.setdefault(number, RegisterRows([], [])).writers.append(index)
        for number in registers_in(effect.read, effects.register_bytes):
            rows.setdefault(number, RegisterRows([], [])).readers.append(index)
    return dict(sorted(rows.items()))


def register_links(instructions: Instructions, index: int) -> RegisterLinks:
    """Return the links of instruction ``index``: the register uses that it takes part in."""
    if liveness_of(instructions) is None or instructions.effects is None:
        return RegisterLinks([], [], [], [])
    effects, size = instructions.effects.effects, instructions.effects.register_bytes
    if not 0 <= index < len(effects):
        raise IndexError(f"instruction {index} of {len(effects)}")
    sources, uses = _links(instructions)
    return RegisterLinks(
        list(registers_of(effects[index].read, size)),
        list(registers_of(effects[index].written, size)),
        sorted(sources.get(index, ())),
        sorted(uses.get(index, ())),
    )


_Pairs = dict[int, list[tuple[int, int]]]


@lru_cache(2)
def _links(instructions: Instructions) -> tuple[_Pairs, _Pairs]:
    """Return the registers and writers of each reader, and the registers and readers of each writer; kept for the next call."""
    sources: _Pairs = {}
    uses: _Pairs = {}
    for reader, register, writer, _ in register_uses(instructions):
        sources.setdefault(reader, []).append((register, writer))
        uses.setdefault(writer, []).append((register, reader))
    return sources, uses


def register_uses(instructions: Instructions) -> Iterator[RegisterUse]:
    """Yield the uses along the ways that lanes take, row by row, then by register; nothing if ``liveness_of`` knows nothing."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return
    for code in liveness.blocks.code:
        yield from _uses_in(liveness, code)


def _uses_in(liveness: Liveness, code: range) -> Iterator[RegisterUse]:
    effects, size = liveness.effects.effects, liveness.effects.register_bytes
    whole = (1 << size) - 1
    #: Register -> its writers within the block, each with the bytes that it wrote and nothing has replaced since.
    local: dict[int, list[tuple[int, int]]] = {}
    #: Register -> its bytes that hold nothing any more of what was there before the block.
    replaced: dict[int, int] = {}
    before: dict[int, dict[int, int]] = {}
    for row in code:
        effect = effects[row]
        for register, read in registers_of(effect.read, size).items():
            #: Writers, each with the bytes that are read of it.
            writers = {writer: shared for writer, written in local.get(register, ()) if (shared := written & read)}
            if read := read & ~replaced.get(register, 0):
                if register not in before:
                    places = whole << GENERAL + register * size
                    before[register] = definitions_of(liveness, code.start, places)
                shifted = read << GENERAL + register * size
                for writer, places in before[register].items():
                    if shared := places & shifted:
                        writers[writer] = writers.get(writer, 0) | shared >> GENERAL + register * size
            for writer in sorted(writers, reverse=True)[:_MOST_WRITERS]:
                yield RegisterUse(row, register, writer, writers[writer])
        for register, written in registers_of(effect.written, size).items():
            known = local.setdefault(register, [])
            if not effect.is_partial:
                known[:] = [(writer, rest) for writer, bits in known if (rest := bits & ~written)]
                replaced[register] = replaced.get(register, 0) | written
            known.append((row, written))
            # Only partial writes replace nothing, so that only they can be so many.
            del known[:-_MOST_WRITERS]


@lru_cache(1 << 13)
def registers_of(places: int, size: int) -> Mapping[int, int]:
    """Return what ``bytes_in`` does of an instruction's reads or writes, which many instructions have in common."""
    return bytes_in(places, size)


def bytes_in(places: int, size: int) -> dict[int, int]:
    """Return the general registers of these places, ascending, each with the bytes of it."""
    whole = (1 << size) - 1
    return {number: places >> GENERAL + number * size & whole for number in registers_in(places, size)}

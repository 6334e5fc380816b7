"""Registers and the rows of a listing that write and read them, in plain numbers: what a viewer links."""

from __future__ import annotations

from kernlens.analysis.flow.definitions import definitions_of, uses_of
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.model.effects import mask, registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.register_links import RegisterLinks, RegisterRows


def register_rows(instructions: Instructions) -> dict[int, RegisterRows]:
    """The rows of each general register that an instruction names; empty where the decoder does not tell them."""
    effects = instructions.effects
    if effects is None:
        return {}
    rows: dict[int, RegisterRows] = {}
    for index, effect in enumerate(effects.effects):
        for number in registers_in(mask(effect.writes), effects.register_bytes):
            rows.setdefault(number, RegisterRows([], [])).writers.append(index)
        for number in registers_in(mask(effect.reads), effects.register_bytes):
            rows.setdefault(number, RegisterRows([], [])).readers.append(index)
    return dict(sorted(rows.items()))


def register_links(instructions: Instructions, index: int) -> RegisterLinks:
    """The links of instruction ``index``, along the ways that lanes take."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return RegisterLinks([], [], [], [])
    effects = liveness.effects
    if not 0 <= index < len(effects.effects):
        raise IndexError(f"instruction {index} of {len(effects.effects)}")
    reads, writes = mask(effects.effects[index].reads), mask(effects.effects[index].writes)

    def numbers(places: int) -> list[int]:
        return list(registers_in(places, effects.register_bytes))

    def pairs(found: dict[int, int]) -> list[tuple[int, int]]:
        return sorted((number, row) for row, places in found.items() for number in numbers(places))

    return RegisterLinks(
        numbers(reads),
        numbers(writes),
        pairs(definitions_of(liveness, index, reads)),
        pairs(uses_of(liveness, index)),
    )

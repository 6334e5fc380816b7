"""The statements of kernlens on what instructions do to registers, in the words of libiga64's texts, for comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kernlens.model.effects import ADDRESSES, GENERAL, Access, Effect, Effects, mask, registers_in
from kernlens.model.intel_instructions import IntelInstructions
from tests.corpus.oracles.register_texts import Places, said_of_registers

_SELECTS = ("sel", "csel")


def compared_effects(instructions: IntelInstructions, effects: Effects) -> Iterator[tuple[object, object]]:
    """Yield for each instruction what kernlens says of it and what libiga64 does: byte by byte, of messages by
    registers; of gather sends, whose registers no text names, how many they read."""
    for text, effect in zip(instructions.texts, effects.effects, strict=True):
        yield _compared(text, effect, effects.register_bytes)


@lru_cache(1 << 15)
def _compared(text: str, effect: Effect, register_bytes: int) -> tuple[object, object]:
    """Return a pair that is easy to keep, if the two are equal."""
    ours, theirs = _stated(text, effect, register_bytes)
    return (text, text) if ours == theirs else (ours, theirs)


def _stated(text: str, effect: Effect, register_bytes: int) -> tuple[object, object]:
    theirs = said_of_registers(text, register_bytes)
    reads, writes = places_of(effect.reads), places_of(effect.writes)
    if not theirs.is_send:
        stated = theirs.reads, theirs.writes, theirs.is_predicated and theirs.mnemonic not in _SELECTS, theirs.is_open
        return (reads, writes, effect.is_partial, effect.is_lower_bound), stated

    def numbers(places: Places) -> list[int]:
        return list(registers_in(places, register_bytes))

    written = numbers(writes), numbers(theirs.writes)
    if theirs.gathered is not None:
        count = sum(1 for start, _ in effect.reads if start >= GENERAL)
        return (count, written[0], effect.is_lower_bound), (theirs.gathered, written[1], False)
    ours = numbers(reads), written[0], effect.is_lower_bound
    return ours, (numbers(theirs.reads), written[1], theirs.is_open)


def places_of(accesses: Iterable[Access]) -> Places:
    """Return the bytes of general registers, and the bits of flags, as the texts' places are."""
    places = mask(accesses)
    return places >> GENERAL << GENERAL | places & (1 << ADDRESSES) - 1

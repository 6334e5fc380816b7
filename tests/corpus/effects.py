"""What kernlens says that instructions do to registers, in the words of libiga64's texts, to be compared with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kernlens.model.effects import ADDRESSES, GENERAL, Access, Effect, Effects
from kernlens.model.instruction import Instructions
from tests.corpus.oracles.register_texts import Places, SaidOfRegisters, said_of_registers

_FLAG_BITS = 32


def compared_effects(instructions: Instructions, effects: Effects) -> Iterator[tuple[object, object]]:
    """For each instruction what kernlens says of it and what libiga64 does: byte by byte, of messages by registers; of
    gather sends, whose registers no text names, how many they read."""
    for text, effect in zip(instructions.texts, effects.effects, strict=True):
        yield _compared(text, effect, effects.register_bytes)


@lru_cache(1 << 15)
def _compared(text: str, effect: Effect, register_bytes: int) -> tuple[object, object]:
    """A pair that is easy to keep, if the two are equal."""
    ours, theirs = _said(text, effect, register_bytes)
    return (text, text) if ours == theirs else (ours, theirs)


def _said(text: str, effect: Effect, register_bytes: int) -> tuple[object, object]:
    theirs = said_of_registers(text, register_bytes)
    reads, writes = places_of(effect.reads, register_bytes), places_of(effect.writes, register_bytes)
    if not theirs.is_send:
        ours = SaidOfRegisters(theirs.mnemonic, reads, writes, theirs.is_predicated, is_open=effect.is_lower_bound)
        said = SaidOfRegisters(
            theirs.mnemonic, theirs.reads, theirs.writes, theirs.is_predicated, is_open=theirs.is_open
        )
        return ours, said
    if theirs.gathered is not None:
        count = sum(1 for start, _ in effect.reads if start >= GENERAL)
        return (count, _names(writes), effect.is_lower_bound), (theirs.gathered, _names(theirs.writes), False)
    return (_names(reads), _names(writes), effect.is_lower_bound), (
        _names(theirs.reads),
        _names(theirs.writes),
        theirs.is_open,
    )


def _names(places: Iterable[tuple[str, int]]) -> frozenset[str]:
    return frozenset(name for name, _ in places)


def places_of(accesses: Iterable[Access], register_bytes: int) -> Places:
    """The bytes of general registers, and the bits of flags."""
    found = set()
    for start, pattern in accesses:
        for position in range(pattern.bit_length()):
            if pattern >> position & 1:
                place = start + position
                if place >= GENERAL:
                    number, byte = divmod(place - GENERAL, register_bytes)
                    found.add((f"r{number}", byte))
                elif place < ADDRESSES:
                    found.add((f"f{place // _FLAG_BITS}", place % _FLAG_BITS))
    return frozenset(found)

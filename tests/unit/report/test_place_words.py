"""Places in words."""

from __future__ import annotations

import pytest

from kernlens.model.variable import COMPUTED, CONSTANT, MEMORY, NOWHERE, REGISTER, Pieces, Place
from kernlens.report.place_words import place_words


def register(bit: int, bits: int = 32, number: int = 4) -> Place:
    return Place(REGISTER, bits, "r", number, bit)


@pytest.mark.parametrize(
    ("lanes", "words"),
    [
        ([(register(0),)], "r4.0:d"),
        ([(register(288),)], "r5.1:d"),
        ([(register(192, 64),)], "r4.3:q"),
        ([(register(8, 48),)], "r4 bytes 1 to 6"),
        ([(register(3, 2),)], "r4 bits 3 to 4"),
        ([(Place(REGISTER, None, "f", 1),)], "f1"),
        ([(Place(MEMORY, text="scratch + 8"),)], "memory at scratch + 8"),
        ([(Place(CONSTANT, 32, value=b"\x05\0\0\0"),)], "constant 0x5"),
        ([(Place(COMPUTED, text="r8 + 12"),)], "computed as r8 + 12"),
        ([(Place(NOWHERE, text="optimised out"),)], "optimised out"),
        ([(register(0), register(32))], "r4.0:d | r4.1:d"),
        ([tuple(register(32 * number) for number in range(6))], "r4.0:d | r4.1:d | r4.2:d | r4.3:d | ... (6 pieces)"),
        ([(register(32 * lane),) for lane in range(16)], "lanes 0-15: r4.0:d to r5.7:d"),
        (
            [(register(32 * lane, number=4 if lane < 16 else 30),) for lane in range(32)],
            "lanes 0-15: r4.0:d to r5.7:d, lanes 16-31: r32.0:d to r33.7:d",
        ),
        (
            [(register(32 * lane), register(512 + 32 * lane)) for lane in range(8)],
            "lanes 0-7: r4.0:d to r4.7:d | r6.0:d to r6.7:d",
        ),
        ([(register(0), register(64)), (register(32), register(64))], "lanes 0-1: r4.0:d to r4.1:d | r4.2:d"),
        ([(register(0),), ()], "lane 0: r4.0:d, lane 1: no such piece"),
    ],
)
def test_places_read_as_registers_and_lanes(lanes: list[Pieces], words: str) -> None:
    assert place_words(lanes, 32) == words

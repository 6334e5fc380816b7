"""Which code of a SPIR-V module stays whatever constants make of its branches."""

from __future__ import annotations

import random
import struct

from kernlens.formats.spirv.certain_code import certain_mentions
from kernlens.formats.spirv.words import MAGIC
from tests.limits import processor_time
from tests.writers.spirv import SpirvWriter

INT, POINTER, ZERO, MAIN, MISSING, LOCAL, GIVEN = 10, 11, 12, 20, 21, 22, 23
ENTRY, INSIDE, AFTER = 30, 31, 32


def branching(*before: tuple[int, ...], condition: int) -> memoryview:
    """``if (condition) missing();``, then one more call, of 90; ``before`` stands in front of it."""
    writer = SpirvWriter().add(21, INT, 32, 0).add(43, INT, ZERO, 0)
    writer.add(54, INT, MAIN, 0, INT).add(55, INT, GIVEN).add(248, ENTRY).add(59, POINTER, LOCAL, 7)
    for instruction in before:
        writer.add(*instruction)
    writer.add(250, condition, INSIDE, AFTER).add(248, INSIDE).add(57, INT, 80, MISSING).add(249, AFTER)
    return writer.add(248, AFTER).add(57, INT, 81, 90).add(253).add(56).build()


def is_certain(*before: tuple[int, ...], condition: int) -> bool:
    mentions = certain_mentions(branching(*before, condition=condition))[MAIN]
    assert 90 in mentions
    return MISSING in mentions


def test_what_a_branch_depends_on() -> None:
    load, compare = (61, INT, 40, LOCAL), (171, INT, 41, 40, ZERO)
    assert is_certain(condition=GIVEN)
    assert not is_certain(condition=ZERO)
    assert not is_certain((62, LOCAL, ZERO), load, compare, condition=41)
    # Something else is stored there too, before or after, or its address is given away.
    assert is_certain((62, LOCAL, ZERO), (62, LOCAL, GIVEN), load, compare, condition=41)
    assert is_certain((62, LOCAL, ZERO), load, compare, (62, LOCAL, GIVEN), condition=41)
    assert is_certain((62, LOCAL, ZERO), (57, INT, 42, 91, LOCAL), load, compare, condition=41)
    assert is_certain((128, INT, 41, ZERO, GIVEN), condition=41)


def joined(first: int, second: int) -> tuple[tuple[int, ...], ...]:
    """``first && second`` in front of a branch, as a compiler writes it: a value that blocks join in (OpPhi)."""
    right, end = 33, 34
    branch = (250, first, right, end), (248, right), (124, INT, 42, second), (249, end), (248, end)
    return (*branch, (245, INT, 41, ZERO, ENTRY, 42, right))


def test_a_branch_on_what_another_branch_in_doubt_makes() -> None:
    assert not is_certain(*joined(ZERO, GIVEN), condition=41)
    assert not is_certain(*joined(ZERO, GIVEN), (168, INT, 43, 41), condition=41)
    assert is_certain(*joined(GIVEN, GIVEN), condition=41)


def test_damaged_modules_raise_nothing_and_take_no_time() -> None:
    chance = random.Random(5)
    words = list(struct.unpack(f"<{len(branching(condition=ZERO)) // 4}I", branching(condition=ZERO)))
    with processor_time(10):
        for _ in range(3000):
            changed = words[:]
            for _ in range(chance.randint(1, 4)):
                word = chance.choice((0, 1 << 16 | 54, 2 << 16 | 62, 90, chance.getrandbits(20)))
                changed[chance.randrange(5, len(words))] = word
            certain_mentions(memoryview(struct.pack(f"<{len(words)}I", *changed)))
        assert words[0] == MAGIC
        cases = tuple(word for number in range(20_000) for word in (number, 100 + number))
        switch = (
            SpirvWriter().add(43, INT, ZERO, 0).add(54, INT, MAIN, 0, INT).add(248, ENTRY).add(251, ZERO, 99, *cases)
        )
        for number in range(20_000):
            switch.add(248, 100 + number).add(253)
        certain_mentions(switch.add(56).build())

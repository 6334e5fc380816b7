"""Live ranges and their values, on effects written by hand."""

from __future__ import annotations

import pytest

from kernlens.analysis.flow.live_ranges import live_ranges
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.analysis.flow.register_uses import register_uses
from kernlens.model.effects import GENERAL, Effect, Effects, Route
from tests.limits import processor_time
from tests.unit.analysis.test_flow import END, REGISTER_BYTES, effects, of, to


def ranges(code: str | Effects, routes: dict[int, Route] | None = None) -> list[str]:
    """``a 0-2 v0``: register a holds value 0 from row 0 to row 2."""
    instructions = of(effects(code, routes) if isinstance(code, str) else code)
    uses = list(register_uses(instructions))
    known = live_ranges(instructions, uses)
    liveness = liveness_of(instructions)
    assert known is not None
    result = known.ranges
    # What is read is held where it is read, by its number.
    for use in uses:
        value = known.values[use.writer, use.register]
        assert any(
            register == use.register and use.reader in rows for register, rows, number in result if number == value
        )
    assert liveness is not None
    held: list[set[int]] = [set() for _ in liveness.counts]
    for register, rows, _ in result:
        for row in rows:
            held[row].add(register)
    assert [len(registers) for registers in held] == list(liveness.counts)
    return [f"{chr(97 + register)} {rows[0]}-{rows[-1]} v{value}" for register, rows, value in result]


def test_a_value_lasts_from_its_write_to_its_last_read() -> None:
    assert ranges("a= b=a =a =b") == ["a 0-2 v0", "b 1-3 v1"]


def test_a_register_holds_one_value_after_the_other() -> None:
    # Row 1 reads the first and writes the second.
    assert ranges("a= a=a =a") == ["a 0-1 v0", "a 1-2 v1"]


def test_what_nobody_reads_is_held_where_it_is_written() -> None:
    assert ranges("a= a= =a") == ["a 0-0 v0", "a 1-2 v1"]


def test_a_predicated_write_is_of_the_value_that_was_there() -> None:
    assert ranges("a= a~ =a") == ["a 0-2 v0"]


def test_what_the_thread_began_with() -> None:
    assert ranges("b= =a =b") == ["a 0-1 v0", "b 0-2 v1"]


def test_both_sides_of_a_branch_write_one_value() -> None:
    routes = {0: to(3, falls=True), 2: to(4)}
    assert ranges("= c= = c= =c", routes) == ["c 1-4 v0"]
    # Without a common reader they are two.
    assert ranges("= c= =c c= =c", {0: to(3, falls=True), 2: END}) == ["c 1-2 v0", "c 3-4 v1"]


def test_a_value_goes_round_a_loop() -> None:
    # Rows 1 to 3 are the loop: a is the same value in all of it, b another in each round.
    assert ranges("a= b= =b a=a =a", {3: to(1, falls=True)}) == ["a 0-4 v0", "b 1-2 v1"]
    # Code between that the value does not live in leaves a gap.
    assert ranges("a= = b= =b =a", {1: to(4, falls=True), 3: END}) == ["a 0-1 v0", "a 4-4 v0", "b 2-3 v1"]


def test_bytes_of_a_register_hold_values_of_their_own() -> None:
    low, high = (GENERAL, 0xF), (GENERAL + 4, 0xF)
    code = [
        Effect((), (low,)),
        Effect((), (high,)),
        Effect((low,), ()),
        Effect((high,), (low,)),
        Effect((low, high), ()),
    ]
    assert ranges(Effects(REGISTER_BYTES, code, {})) == ["a 0-2 v0", "a 1-4 v1", "a 3-4 v2"]


def test_what_a_register_holds_for_long_is_not_forgotten() -> None:
    """Many writes of a register's other bytes: the reader's writer stays, and is not what was there before the code."""
    low, high = (GENERAL, 0xF), (GENERAL + 4, 0xF)
    code = [Effect((), (low,)), *[Effect((), (high,))] * 200, Effect((low, high), ())]
    assert sorted(register_uses(of(Effects(REGISTER_BYTES, code, {})))) == [(201, 0, 0, 0xF), (201, 0, 200, 0xF0)]
    assert ranges(Effects(REGISTER_BYTES, code, {}))[0] == "a 0-201 v0"


def test_many_partial_writes_leave_the_last() -> None:
    """What lanes may have left of an earlier write is none of what was there before the code."""
    uses = list(register_uses(of(effects("a= " + "a~ " * 100 + "=a"))))
    assert [use.writer for use in uses] == list(range(100, 36, -1))


def test_unknown_effects_have_no_ranges() -> None:
    instructions = of(effects("a="))
    instructions.effects = None
    assert live_ranges(instructions, []) is None


@pytest.mark.slow
def test_time_is_linear_in_branches() -> None:
    """Loops in loops, and every one of them changes what is live."""
    count = 4000
    code = " ".join(f"{chr(97 + index % 26)}={chr(97 + index * 7 % 26)}" for index in range(count))
    nested = of(effects(code, {index: to(count - 1 - index, falls=True) for index in range(count // 2, count)}))
    uses = list(register_uses(nested))
    with processor_time(4):
        live_ranges(nested, uses)

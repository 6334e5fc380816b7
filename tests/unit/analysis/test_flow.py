"""Blocks, liveness and definitions, on effects written by hand: one register is one letter."""

from __future__ import annotations

import pytest

from kernlens.analysis.comparison.renaming import is_renaming
from kernlens.analysis.flow import liveness as liveness_module
from kernlens.analysis.flow.blocks import blocks_of
from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness
from kernlens.analysis.flow.register_peak import HeldValues, held_at, pressure_of
from kernlens.analysis.flow.register_uses import register_links, register_rows
from kernlens.cli.answers.pressure_answer import peak_words
from kernlens.model.effects import GENERAL, Access, Effect, Effects, Route, mask, registers_in
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.register_links import BEFORE_THE_CODE, RegisterLinks, RegisterRows
from tests.limits import processor_time
from tests.unit.report.test_listing import listed_program
from tests.writers.instruction_records import record

REGISTER_BYTES = 32
WHOLE = (1 << REGISTER_BYTES) - 1


def places(letters: str) -> tuple[Access, ...]:
    return tuple((GENERAL + (ord(letter) - ord("a")) * REGISTER_BYTES, WHOLE) for letter in letters)


def effects(code: str, routes: dict[int, Route] | None = None) -> Effects:
    """``b=a`` reads a and writes b, ``b~a`` does so where a predicate allows it."""
    accesses = []
    for text in code.split():
        written, _, read = text.replace("~", "=").partition("=")
        accesses.append(Effect(places(read), places(written), is_partial="~" in text))
    return Effects(REGISTER_BYTES, accesses, routes or {})


def letters(bits: int) -> str:
    return "".join(chr(ord("a") + number) for number in registers_in(bits, REGISTER_BYTES))


def live(code: str, routes: dict[int, Route] | None = None) -> list[str]:
    liveness = Liveness(effects(code, routes))
    return [letters(liveness.before(index)) for index in range(len(liveness.effects.effects))]


END = Route(falls=False)


def to(*targets: int, falls: bool = False) -> Route:
    return Route(falls, targets)


def test_a_straight_line() -> None:
    assert live("b=a c=b d=bc =d") == ["a", "b", "bc", "d"]


def test_what_is_overwritten_is_not_live_before() -> None:
    assert live("b=a b=a =b") == ["a", "a", "b"]


def test_a_predicated_write_leaves_what_was_there() -> None:
    assert live("b=a b~c =b") == ["ac", "bc", "b"]


def test_what_no_one_wrote_is_not_live_but_where_the_thread_began_with_it() -> None:
    # In the loop b is written where a predicate allows it, and read: before the loop it holds nothing.
    assert live("a=c b~a =ba", {2: to(1, falls=True)}) == ["c", "ab", "ab"]
    assert live("a=c =ba") == ["bc", "ab"]


def test_both_sides_of_a_branch() -> None:
    routes = {0: to(3, falls=True), 2: to(4)}
    assert live("= c=a = c=b =c", routes) == ["ab", "a", "c", "b", "c"]
    blocks = blocks_of(effects("= c=a = c=b =c", routes))
    assert list(blocks.code) == [range(1), range(1, 3), range(3, 4), range(4, 5)]
    assert list(blocks.successors) == [(1, 2), (3,), (3,), ()]
    assert list(blocks.predecessors) == [(), (0,), (0,), (1, 2)]


def test_a_loop_keeps_what_its_next_round_reads() -> None:
    assert live("a= b=ac =b", {2: to(1, falls=True)}) == ["c", "ac", "abc"]


def test_a_function_comes_back_behind_all_of_its_calls() -> None:
    #  0 a=    1 call  2 =b a=   4 call   5 =bc  6 end    7 b=a  8 ret
    routes = {1: Route(True, (7,), is_call=True), 4: Route(True, (7,), is_call=True)}
    routes |= {6: END, 8: Route(False, returns=True)}
    live_rows = live("a= = =b a= = =bc = b=a =", routes)
    # c is live in the function since the second call needs it; b at the first call is written by the function.
    assert live_rows == ["c", "ac", "bc", "c", "ac", "bc", "", "ac", "bc"]
    assert not blocks_of(effects("a= = =b a= = =bc = b=a =", routes)).is_open


def test_functions_that_share_code_return_to_each_others_calls() -> None:
    #  0 call 4   1 =a   2 call 5   3 end   4 a=   5 ret
    routes = {0: Route(True, (4,), is_call=True), 2: Route(True, (5,), is_call=True), 3: END}
    routes[5] = Route(False, returns=True)
    blocks = blocks_of(effects("= =a = = a= =", routes))
    hubs = [number for number, code in enumerate(blocks.code) if not code]
    assert len(hubs) == 1
    assert {blocks.firsts[number] for number in blocks.successors[hubs[0]]} == {1, 3}


def test_a_call_of_code_that_is_not_there() -> None:
    blocks = blocks_of(effects("= =a =", {0: Route(True, (), is_call=True)}))
    assert blocks.is_open
    assert list(blocks.successors) == [(1,), ()]


def test_a_function_that_only_its_address_calls() -> None:
    # 0 b=a  1 end  2 c=bc  3 ret: nobody calls it here, so b and c are its callers'.
    routes = {1: END, 3: Route(False, returns=True)}
    code = effects("b=a = c=bc =c", routes)
    assert live("b=a = c=bc =c", routes) == ["a", "", "bc", "c"]
    blocks = blocks_of(code)
    assert blocks.is_open  # Who gets what it returns is not known.
    assert list(blocks.entry_of) == [0, 1]
    assert defined("b=a = c=bc =c", 2, routes) == {BEFORE_THE_CODE: "bc", 2: "c"}
    held = held_at(of(code), None, 2)
    assert [(value.origin, value.registers) for value in held] == [("the callers", (1, 2)), ("no line", (2,))]
    assert [value.origin for value in held_at(of(code), None, 0)] == ["no line", "the thread's start"]


def test_code_that_nothing_reaches_keeps_its_registers_apart_too() -> None:
    routes = {1: END}
    old, new = effects("b=a = c= =c", routes), effects("b=a = c= =d", routes)
    assert is_renaming(old, effects("c=a = d= =d", routes), [""] * 4)
    assert not is_renaming(old, new, [""] * 4)


def test_counts_include_what_an_instruction_writes() -> None:
    liveness = Liveness(effects("b=a c=b =c d="))
    assert list(liveness.counts) == [2, 2, 1, 1]
    assert liveness.named == 4


def test_a_byte_makes_a_register_count() -> None:
    byte = Effect(((GENERAL + 5, 1), (GENERAL + 31, 3)), ())
    assert list(Liveness(Effects(REGISTER_BYTES, [byte], {})).counts) == [2]
    flags = Effect(((0, 0xFFFF),), ())
    assert list(Liveness(Effects(REGISTER_BYTES, [flags], {})).counts) == [0]


def test_code_without_instructions_has_no_liveness() -> None:
    assert list(Liveness(Effects(32, [], {})).counts) == []


def defined(code: str, index: int, routes: dict[int, Route] | None = None) -> dict[int, str]:
    writers = definitions_of(Liveness(effects(code, routes)), index)
    return {number: letters(bits) for number, bits in sorted(writers.items())}


def test_writers_are_followed_through_branches_and_loops() -> None:
    assert defined("b=a c= =bc", 2) == {0: "b", 1: "c"}
    assert defined("b=a c= =bc", 1) == {0: "b", 1: "c"}  # what it writes itself
    assert defined("b= b~a =b", 2) == {0: "b", 1: "b"}
    assert defined("=a", 0) == {BEFORE_THE_CODE: "a"}
    # Around a loop; the predicated write does not hide the one before.
    assert defined("a= =a a~b =", 1, {3: to(1, falls=True)}) == {BEFORE_THE_CODE: "b", 0: "a", 2: "a"}


def of(instruction_effects: Effects) -> IntelInstructions:
    count = len(instruction_effects.effects)
    return IntelInstructions(
        b"".join(record(offset=16 * index) for index in range(count)),
        [""],
        list,
        find_effects=lambda: instruction_effects,
    )


def test_links_between_rows() -> None:
    loop = of(effects("a= b=ac =b a~b =", {4: to(1, falls=True)}))
    assert register_rows(loop) == {
        0: RegisterRows([0, 3], [1]),
        1: RegisterRows([1], [2, 3]),
        2: RegisterRows([], [1]),
    }
    assert register_links(loop, 1) == RegisterLinks(
        reads=[0, 2], writes=[1], sources=[(0, 0), (0, 3), (2, BEFORE_THE_CODE)], uses=[(1, 2), (1, 3)]
    )
    assert register_links(loop, 3).uses == [(0, 1)]
    with pytest.raises(IndexError, match="instruction -1 of 5"):
        register_links(loop, -1)
    unknown = IntelInstructions(record(), [""], list)
    assert (register_rows(unknown), register_links(unknown, 0)) == ({}, RegisterLinks([], [], [], []))


def test_what_holds_the_registers_at_the_peak() -> None:
    decoded = of(effects("a= b=a c=ab =abc =c"))
    pressure = pressure_of(decoded)
    assert pressure is not None
    assert (pressure.peak, pressure.peak_index, pressure.named, list(pressure.live)) == (3, 2, 3, [1, 2, 3, 3, 1])
    held = held_at(decoded, None, 2)
    assert held == [HeldValues(None, None, "no line", (0, 1, 2))]
    assert pressure_of(IntelInstructions(b"", [""], list)) is None
    assert held_at(IntelInstructions(b"", [""], list), None, 0) == []


@pytest.mark.slow
def test_time_is_linear_in_branches() -> None:
    """Loops in loops, and every one of them changes what is live."""
    count = 16000
    code = " ".join(f"{chr(97 + index % 26)}={chr(97 + index * 7 % 26)}" for index in range(count))
    nested = effects(code, {index: to(count - 1 - index, falls=True) for index in range(count // 2, count)})
    with processor_time(5):
        assert max(Liveness(nested).counts) <= 26


def test_what_would_take_too_much_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 20_000
    far = Effect(((GENERAL + 511 * 64, 1),), ())
    wide = of(Effects(64, [far] * count, {index: to(0, falls=True) for index in range(count)}))
    assert pressure_of(wide) is None
    assert held_at(wide, None, 0) == []
    assert register_links(wide, 0) == RegisterLinks([], [], [], [])
    monkeypatch.setattr(liveness_module, "_STEPS_PER_BLOCK", 0)
    assert pressure_of(of(effects("a= =a b= =b", {1: to(0, falls=True)}))) is None


@pytest.mark.parametrize("numbers", [[], [0], [0, 1], [3, 500], [511]])
def test_registers_in_places(numbers: list[int]) -> None:
    bits = mask((GENERAL + 64 * number + number % 64, 1) for number in numbers)
    assert list(registers_in(bits | 0xFF, 64)) == numbers


def words(instruction_effects: Effects) -> list[str]:
    _, kernel = listed_program()
    kernel.instructions = of(instruction_effects)
    return list(peak_words(kernel))


def test_what_is_said_of_the_peak() -> None:
    assert words(effects("a= b=a =ab")) == ["  peak pressure: 2 of 128 GRFs live at 0x0010, a.cl:11; 2 referenced"]
    calling = effects("a= = =a = =", {1: Route(True, (4,), is_call=True), 3: END, 4: Route(False, returns=True)})
    assert words(calling)[1:] == ["  (functions are analysed once for all of their callers)"]
    unknown = effects("a= =a", {0: Route(True, (), is_call=True)})
    first, _, last = words(unknown)
    assert first.startswith("  peak pressure: at least 1 of 128 GRFs")
    assert last.startswith("  (a lower bound:")

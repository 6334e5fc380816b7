"""The writes that reach a place on every way, on effects written by hand: a register is a letter; r0, which a thread begins
with, is ``a``."""

from __future__ import annotations

from kernlens.analysis.flow.liveness import Liveness
from kernlens.analysis.flow.written import Written, written_of
from kernlens.model.effects import GENERAL, Effect, Effects, Route, mask
from tests.unit.analysis.test_flow import END, REGISTER_BYTES, effects, letters, of, places, to


def written(code: str, routes: dict[int, Route] | None = None) -> Written:
    return Written(Liveness(effects(code, routes)))


def before(code: str, routes: dict[int, Route] | None = None) -> list[str]:
    known = written(code, routes)
    return [letters(known.before(row)) for row in range(len(code.split()))]


def test_straight_code() -> None:
    assert before("b= c=b =c") == ["a", "ab", "abc"]


def test_only_what_both_sides_write() -> None:
    assert before("= b= = b= c= =b", {0: to(3, falls=True), 2: to(5)})[-1] == "ab"


def test_a_predicated_write_is_no_proof() -> None:
    assert before("b= c~ d= =b") == ["a", "ab", "ab", "abd"]


def test_before_a_loop_and_in_it() -> None:
    # Row 1 is where rounds begin: what only they write is not there in the first one.
    assert before("b= = c=b =", {3: to(1, falls=True)})[1:] == ["ab", "ab", "abc"]


def test_what_is_read_and_never_written_before_was_delivered() -> None:
    assert before("c=b b=c") == ["ab", "abc"]
    # Here one way writes it first: that of the other has no value.
    assert before("= b= =b", {0: to(2, falls=True)})[-1] == "a"


def test_a_function_writes_for_all_of_its_calls() -> None:
    #  0 b=    1 call  2 c=    3 call   4 =    5 end    6 d=  7 ret
    routes = {
        1: Route(True, (6,), is_call=True),
        3: Route(True, (6,), is_call=True),
        5: END,
        7: Route(False, returns=True),
    }
    assert before("b= = c= = = = d= =", routes) == ["a", "ab", "abd", "abcd", "abcd", "abcd", "ab", "abd"]


def test_a_function_that_is_not_known_keeps_what_is_read_behind_it() -> None:
    assert before("b= c= = =b", {2: Route(True, (), is_call=True)})[-1] == "b"


def test_what_nobody_reads_any_more_was_another_value() -> None:
    known = written("b= =b = =")
    assert letters(known.stale(1, mask(places("b")))) == ""
    assert letters(known.stale(2, mask(places("b")))) == "b"
    # The register beside it, of the same write, is read: the value is still of use.
    assert letters(written("bc= =b = =c").stale(2, mask(places("bc")))) == ""
    # So is what was there when the thread began.
    assert letters(written("c=b = =").stale(1, mask(places("b")))) == "b"
    assert known.still(range(2, 4), mask(places("b"))) == dict.fromkeys((2, 3), mask(places("b")))
    assert written("b= =b = b= =").still(range(2, 5), mask(places("b"))).keys() == {2, 3}


def test_halves_of_a_place() -> None:
    halves = [(GENERAL + 64, 0xFFFF), (GENERAL + 80, 0xFFFF)]
    code = [Effect((), (half,)) for half in halves] + [Effect(tuple(halves))]
    known = written_of(of(Effects(REGISTER_BYTES, code, {2: END})))
    assert known is not None
    place = mask(halves)
    assert known.unwritten(range(1, 3), place) == {}
    # The first instruction of a range may be the one that writes.
    assert known.unwritten(range(3), place) == {0: mask(halves[1:]), 1: mask(halves[1:])}


def test_what_the_first_of_a_range_writes_counts_from_there_on() -> None:
    assert written("b= = =b").unwritten(range(3), mask(places("b"))) == {}

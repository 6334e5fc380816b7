"""The cuts of stated ranges, on effects written by hand: four bytes of register a, from row ``low`` up to ``high``."""

from __future__ import annotations

from kernlens.analysis.flow.variable_cuts import range_cuts, register_places
from kernlens.model.effects import GENERAL, Effect, Effects, Route
from kernlens.model.variable import CONSTANT, REGISTER, Location, Place
from tests.unit.analysis.test_flow import END, REGISTER_BYTES, effects, of, to


def location(low: int, high: int, *places: Place) -> Location:
    pieces = places or (Place(REGISTER, 8 * REGISTER_BYTES, "r", 0),)
    return Location(low, high, lambda: (pieces,))


def cuts(
    code: str,
    low: int,
    high: int,
    routes: dict[int, Route] | None = None,
    *,
    is_given: bool = False,
    line: tuple[int, ...] = (),
) -> str:
    """``..xu``: a letter for each row of the range: ``x`` where another value may be there, ``u`` where a new one may."""
    instructions = of(effects(code, routes))
    reader = range_cuts(instructions)
    assert reader is not None
    offsets = [*instructions.offsets, instructions.offsets[-1] + 16]
    known = reader.of(location(offsets[low], offsets[high]), is_given, line)
    return "".join("x" if known.at(row).lost else "u" if known.at(row).updated else "." for row in known.rows)


def test_a_place_that_nobody_overwrites() -> None:
    assert cuts("a= b= =a =ab", 1, 4) == "..."


def test_another_value_of_a_later_block() -> None:
    routes = {2: to(4, falls=True)}
    assert cuts("a= =a =a b= a= =a", 1, 6, routes) == "....x"


def test_an_argument_is_there_from_the_beginning() -> None:
    # Within a block the first write may be the variable's own; an argument's was before.
    assert cuts("a= =a a= =a =b", 1, 5) == "...."
    assert cuts("a= =a a= =a =b", 1, 5, is_given=True) == "..xx"
    # The second write in the range is another value in any case.
    assert cuts("a= =a a= =a a= =a", 1, 6) == "....x"


def test_only_some_ways_lose_it() -> None:
    routes = {2: to(4, falls=True), 3: to(5), 4: to(5)}
    assert cuts("a= =a = a= = = =b", 1, 7, routes, is_given=True) == "....xx"


def test_the_other_side_of_a_branch_may_be_a_new_value() -> None:
    # Both sides write the one value that row 5 reads, and the range is stated from one of them.
    routes = {1: to(3, falls=True), 2: to(4)}
    assert cuts("= = a= a= =a =a", 3, 6, routes) == ".uu"


def test_a_loop_updates_its_variable() -> None:
    # Row 3 makes the value of the next round from another register: readers cannot tell the two apart.
    assert cuts("a= b= =a a=b =b =a", 1, 6, {4: to(2, falls=True)}) == ".uuuu"


def test_what_is_computed_from_the_place_may_be_its_new_value() -> None:
    assert cuts("a= =a a=a =a", 1, 4, is_given=True) == "..u"


def test_the_line_that_declares_it() -> None:
    assert cuts("a= =a a= =a", 1, 4, is_given=True) == "..x"
    assert cuts("a= =a a= =a", 1, 4, is_given=True, line=(2,)) == "..u"


def test_a_predicated_write_leaves_what_was_there_as_well() -> None:
    assert cuts("a= =a a~ =b a= =b", 1, 6, is_given=True) == "..xxx"


def test_the_way_that_never_wrote_it() -> None:
    # Row 1 jumps over the block that writes the variable: row 4 finds what row 0 left.
    assert cuts("a= = a= =a =b", 3, 5, {1: to(4, falls=True)}) == ".x"


def test_bytes_of_their_own() -> None:
    first, second = (GENERAL, 0xF), (GENERAL + 4, 0xF)
    code = [
        Effect((), (first, second)),
        Effect((first, second), ()),
        Effect((), (second,)),
        Effect((first, second), ()),
    ]
    instructions = of(Effects(REGISTER_BYTES, code, {3: END}))
    reader = range_cuts(instructions)
    assert reader is not None
    end = instructions.offsets[3] + 16
    lower, upper = (Place(REGISTER, 32, "r", 0, bit) for bit in (0, 32))
    assert reader.of(location(instructions.offsets[1], end, lower), True).held == {}
    held = reader.of(location(instructions.offsets[1], end, lower, upper), True).held
    assert {row: each.lost for row, each in held.items()} == {3: 0xF << GENERAL + 4}


def test_the_bytes_of_a_location() -> None:
    places = location(0, 1, Place(REGISTER, 32, "r", 1, 288), Place(CONSTANT, 32, value=b"abcd"))
    assert register_places(places, REGISTER_BYTES) == 0xF << GENERAL + 32 + 36
    assert register_places(location(0, 1, Place(REGISTER, 8, "f", 0)), REGISTER_BYTES) == 0
    assert register_places(location(0, 1, Place(REGISTER, 1 << 20, "r", 1 << 16)), REGISTER_BYTES) == 0


def test_of_two_values_nothing_tells_which_is_the_variables() -> None:
    def doubtful(code: str) -> bool:
        reader = range_cuts(of(effects(code)))
        assert reader is not None
        return bool(reader.of_two_values(range(1, len(code.split())), ((1 << REGISTER_BYTES) - 1) << GENERAL))

    assert doubtful("a= =a a= =a")
    # Its first value is not read any more; the second is made of it; there is no second one.
    assert not doubtful("a= =b a= =a")
    assert not doubtful("a= =a a=a =a")
    assert not doubtful("a= =a b= =a")

"""Two kernels that differ in registers only: what is the same value on all ways, and what is not."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.comparison.renaming import is_renaming
from kernlens.model.effects import FLAGS, GENERAL, Access, Effect, Effects, Route
from tests.limits import processor_time

WIDTH = 32


def r(number: int, byte: int = 0, count: int = WIDTH) -> Access:
    """Bytes of a general register."""
    return GENERAL + number * WIDTH + byte, (1 << count) - 1


def flag(number: int) -> Access:
    return FLAGS + 16 * number, 0xFFFF


def write(number: int, *reads: int) -> Effect:
    """An instruction that makes one register of others."""
    return Effect(tuple(map(r, reads)), (r(number),))


def use(*numbers: int) -> Effect:
    return Effect(tuple(map(r, numbers)))


def is_same(
    old: Sequence[Effect],
    new: Sequence[Effect],
    routes: dict[int, Route] | None = None,
    texts: Sequence[str] | None = None,
) -> bool:
    first, second = (Effects(WIDTH, list(effects), routes or {}) for effects in (old, new))
    same = is_renaming(first, second, texts or [""] * len(old))
    assert same == is_renaming(second, first, texts or [""] * len(old)), "it is the same from both sides"
    return same


def test_without_branches() -> None:
    old = [write(10, 1), write(11, 1), use(10, 11)]
    assert is_same(old, [write(20, 1), write(10, 1), use(20, 10)])
    assert not is_same(old, [write(20, 1), write(10, 1), use(10, 20)])
    assert not is_same(old, [write(20, 1), write(20, 1), use(20, 20)])
    assert not is_same(old, [write(10, 2), write(11, 1), use(10, 11)]), (
        "another register of those the thread began with"
    )


def test_a_register_that_is_used_again() -> None:
    old = [write(10), use(10), write(10), use(10)]
    assert is_same(old, [write(10), use(10), write(20), use(20)])
    assert not is_same(old, [write(10), use(10), write(20), use(10)]), "the first value"


def test_a_part_of_what_is_read() -> None:
    old = [write(10), Effect((), (r(10, 8, 4),)), use(10)]
    assert is_same(old, [write(20), Effect((), (r(20, 8, 4),)), use(20)])
    assert not is_same(old, [write(20), Effect((), (r(21, 8, 4),)), use(20)])


IF = {0: Route(True, (3,)), 2: Route(False, (4,))}


def branches(condition: int, first: int, second: int, joined: int) -> list[Effect]:
    """``if`` 0: write 1, go on at 4; else: write 3; 4: use."""
    return [use(condition), write(first, 1), Effect(), write(second, 1), use(joined)]


def test_both_branches_must_write_what_is_read_behind_them() -> None:
    old = branches(1, 10, 10, 10)
    assert is_same(old, branches(1, 20, 20, 20), IF)
    assert not is_same(old, branches(1, 20, 21, 20), IF)
    assert not is_same(old, branches(1, 20, 21, 21), IF)
    assert is_same(branches(1, 10, 11, 1), branches(1, 20, 20, 1), IF), "nobody reads them"


LOOP = {3: Route(True, (1,))}


def test_each_turn_of_a_loop_reads_the_last_one_s_value() -> None:
    old = [write(10), write(11, 10), write(10, 11), use(10), use(10)]
    assert is_same(old, [write(20), write(21, 20), write(20, 21), use(20), use(20)], LOOP)
    assert not is_same(old, [write(20), write(21, 20), write(22, 21), use(22), use(22)], LOOP), (
        "the second turn differs"
    )


def test_values_of_one_register_are_renamed_apart() -> None:
    """As a compiler with another order of registers does: before, in and behind a loop the register is another."""
    old = [write(10), write(11, 10), write(11, 11), use(11), write(10), use(10)]
    assert is_same(old, [write(10), write(30, 10), write(31, 30), use(31), write(12), use(12)], LOOP)


def test_flags_count() -> None:
    compare, other = Effect((r(1),), (flag(0),)), Effect((r(1),), (flag(1),))
    chosen = Effect((r(2), flag(0)), (r(3),))
    assert is_same([compare, chosen], [other, Effect((r(2), flag(1)), (r(3),))])
    assert not is_same([compare, chosen], [other, chosen])


def test_what_a_predicate_leaves_must_be_the_same() -> None:
    def kernel(first: int, second: int) -> list[Effect]:
        return [write(first), Effect((), (r(second),), is_partial=True), use(second)]

    assert is_same(kernel(10, 10), kernel(20, 20))
    assert not is_same(kernel(10, 10), kernel(20, 21))


def test_what_lanes_that_wait_keep_may_not_be_overwritten() -> None:
    """While lanes go from 2 to 4, others may run 3, which writes all lanes of its register."""
    routes = {1: Route(True, (3,)), 2: Route(False, (4,))}
    old = [write(12), use(1), Effect(), write(11), use(12)]
    new = [write(12), use(1), Effect(), write(10), use(12)]
    plain, all_lanes = ["mov"] * 5, ["mov"] * 3 + ["(W) mov", "mov"]
    assert is_same(old, new, routes, plain)
    assert is_same(old, new, routes, all_lanes)
    # Here lanes that run 3 do not reach 4, which reads what they overwrite in the others.
    routes[3] = Route(False)
    new[3] = write(12)
    assert is_same(old, new, routes, plain)
    assert not is_same(old, new, routes, all_lanes)


def test_a_barrier_is_told_by_its_third_dword() -> None:
    old = [Effect((), (r(10, 8, 4),)), use(10)]
    new = [Effect((), (r(20, 8, 4),)), use(20)]
    assert not is_same(old, new)
    assert is_same(old, new, None, ["mov", "send.gtwy // wr:1+0, rd:0; signal barrier"])


def test_what_is_read_at_run_time_only_must_lie_where_it_did() -> None:
    unknown = Effect((r(1),), (), False, True)
    assert is_same([write(10), unknown], [write(10), unknown])
    assert not is_same([write(10), unknown], [write(20), unknown])
    call = {1: Route(True, (), is_call=True)}
    assert is_same([write(10), Effect(), use(10)], [write(10), Effect(), use(10)], call)
    assert not is_same([write(10), Effect(), use(10)], [write(20), Effect(), use(20)], call)


def test_other_routes_are_no_renaming() -> None:
    effects = [write(10), write(11, 10), use(11)]
    sides = [Effects(WIDTH, effects, routes) for routes in ({}, {1: Route(True, (0,))})]
    assert not is_renaming(sides[0], sides[1], [""] * 3)


def test_no_kernel_takes_long() -> None:
    """Loops in loops, whose every turn needs another look, and branches that skip thousands of instructions."""
    count = 4_000
    nested = {index: Route(True, (max(0, count - 1 - index),)) for index in range(count // 2, count)}
    skipping = {index: Route(True, (count - 1,)) for index in range(count // 2)}
    old = [write(10 + index % 50, 10 + (index + 1) % 50) for index in range(count)]
    new = [write(10 + (index + 7) % 50, 10 + (index + 8) % 50) for index in range(count)]
    with processor_time(20):
        for routes in (nested, skipping, nested | skipping):
            is_same(old, new, routes, ["(W) mov"] * count)

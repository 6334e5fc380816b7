"""Launches added up: what is counted of two is what is counted of both."""

from __future__ import annotations

from fractions import Fraction

from kernlens.analysis.merged_behaviour import merged
from kernlens.dataclass import replace
from kernlens.formats.observation import read_observations, split_observations
from kernlens.model.behaviour import Behaviour

SECTION = (
    "observation\t1\t32\t32\t4\t1\t1\n"
    "launch\t64\t1\t1\t64\t1\t1\t1\t1\t100\t0\t0\tk\n"
    "build\t00ff-1\n"
    "argument\t281474976710656\ta\n"
    "file\tinput.cl\n"
    "place\t0\t3\t5\t-1\n"
    "block\t0\t64\t2\t1\t0\n"
    "code\t0\t0\t4\n"
    "branch\t0\t0\t40\t24\n"
    "loop\t0\t-1\t0\t64\t2\t0\t0\t640\t10\t10\t0\n"
    "access\t0\t0\t1\t4\t16\t2\t64\t256\t256\t8\t4\t2\t8\t4\t2\t0\t0\t64\t2\t0\t2\t0\t0\t0\t0\t0\t0\n"
    "message\t0\t3\t5\tInvalid write of size 4 at global memory address 0x1000000000400"
    "\\n\\tAt line 3 (column 5) of input.cl:\n"
    "end\n"
)


def behaviour() -> Behaviour:
    (observed,) = read_observations(SECTION.encode(), {"input.cl": "k.cl"})
    return observed


def test_counts_are_added_up() -> None:
    once = behaviour()
    twice = merged([once, replace(once, groups_done=0, is_out_of_time=True)])
    assert (twice.launches, twice.groups, twice.groups_done, twice.is_out_of_time) == (2, 2, 1, True)
    assert twice.instructions == 200
    (line,), (own,) = twice.lines, once.lines
    assert (line.runs, line.sub_group_runs, line.lanes) == (2 * own.runs, 2 * own.sub_group_runs, own.lanes)
    assert (line.requests, line.units, line.bytes) == (2 * own.requests, 2 * own.units, 2 * own.bytes)
    (access,), (branch,), (loop,) = twice.accesses, twice.branches, twice.loops
    assert (access.units, access.width, access.wavefronts) == ((16, 8, 4), 4, None)
    assert (branch.sub_groups, branch.parted, branch.shares) == (4, 2, (80, 48))
    assert (loop.entries, loop.least, loop.mean, loop.most) == (128, 10, 10.0, 10)
    (fault,) = twice.faults
    assert (fault.count, fault.argument) == (10, "a")


def test_accesses_of_one_place_stay_apart() -> None:
    once = behaviour()
    several = replace(once, accesses=(once.accesses[0], replace(once.accesses[0], requests=7)))
    assert [each.requests for each in merged([several, several]).accesses] == [4, 14]
    assert merged([several]) is several


def test_launches_of_an_application_s_file() -> None:
    begun = "begin\t00ff-1\tk\n"
    ended, killed = split_observations((begun + SECTION + begun + SECTION[:90]).encode())
    assert (ended.build, ended.kernel, ended.section) == ("00ff-1", "k", SECTION.encode())
    assert (killed.build, killed.kernel, killed.section) == ("00ff-1", "k", b"")
    (alone,) = split_observations(SECTION.replace("build\t00ff-1\n", "").encode())
    assert alone.build == ""


def test_the_counts_of_merged_launches_are_taken_once() -> None:
    """They are sums: of three launches that ran, two of which were counted, they are taken one and a half times."""
    once = replace(behaviour(), groups_done=1)
    both = merged([once, once])
    assert (once.times, both.times, replace(both, launches=3).times) == (Fraction(1), Fraction(1), Fraction(3, 2))
    assert replace(once, launches=4).times == 4
    assert (once.sub_groups, both.sub_groups) == (2, 4)

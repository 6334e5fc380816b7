"""The best set of options of each kernel: by what it is chosen, and what an unknown figure does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import KernlensError, NotFoundError
from kernlens.model.best_sets import DEFAULT_WEIGHING, BestSet, best_sets, unranked_sentence, weighing
from kernlens.model.figures import CYCLES
from kernlens.model.sweep_row import SweepRow, measured_figures
from tests.limits import processor_time

FIGURES = measured_figures(has_waits=True)


def row(
    options: str, /, kernel: str | None = "k", device: str = "dg2", loops: int | None = 1, **values: int | None
) -> SweepRow:
    """A row with these figures, and 0 of all others, but for a width of 16; ``cycles`` all wait."""
    values = {"simd": 16, "wait_cycles": values.pop("cycles", 0), **values}
    figures = tuple(values.get(figure.key, 0) for figure in FIGURES) if kernel else ()
    reason = "" if kernel else "it failed"
    return SweepRow("a.cl", device, "system", "NEO 1", options, kernel, figures, reason, loops=loops)


def best(rows: list[SweepRow], weigh: str = DEFAULT_WEIGHING) -> BestSet:
    (result,) = best_sets(rows, weighing(weigh))
    return result


def test_spills_count_first_then_cycles_then_size() -> None:
    rows = [
        row("", spill_stores=1, fill_loads=1, cycles=100, code_size=10),
        row("-a", spill_stores=1, cycles=900, code_size=90),
        row("-b", fill_loads=1, cycles=800, code_size=90),
        row("-c", fill_loads=1, cycles=800, code_size=80),
    ]
    result = best(rows)
    assert (result.best.options, result.count, result.ratio) == ("-c", 4, 0.5)
    assert result.deciding is not None
    assert result.deciding.name == "spills"
    assert best(rows, "size").best.options == ""
    assert best(rows, "size").deciding is None
    assert best(rows, "size").ratio is None
    assert best_sets(rows) == [result]
    assert best_sets(rows, "size") == [best(rows, "size")]


def test_a_wider_kernel_does_more_work_in_a_thread() -> None:
    rows = [row("", cycles=100, code_size=9), row("-w", simd=32, cycles=180, code_size=9)]
    result = best(rows, "cycles")
    assert (result.best.options, result.ratio) == ("-w", 0.9)
    # The code is there once, however wide it is.
    assert best([row("", code_size=9), row("-w", simd=32, code_size=10)], "size").best.options == ""
    # Of the width itself more is better.
    result = best(rows, "simd")
    assert (result.best.options, result.ratio) == ("-w", 2.0)


def test_equally_good_sets_leave_the_first() -> None:
    rows = [row("", cycles=5), row("-a", cycles=5), row("-b", cycles=5)]
    result = best(rows)
    assert (result.best.options, result.deciding) == ("", None)


def test_what_is_not_known_is_not_compared() -> None:
    # Before Xe-LP nobody knows cycles: instructions are compared.
    rows = [row("", cycles=None, instructions=9), row("-a", cycles=None, instructions=8)]
    result = best(rows)
    assert result.best.options == "-a"
    assert result.ratio == pytest.approx(8 / 9)
    assert [criterion.name for criterion in result.weighing.criteria] == ["spills", "instructions", "size"]
    # Known of one alone: that one is better than what nobody knows.
    result = best([row("", cycles=None), row("-a", cycles=7)])
    assert (result.best.options, result.ratio) == ("-a", None)
    assert not best([row("", simd=None, cycles=1), row("-a", cycles=7)], "cycles").is_ranked
    # A sweep that did not measure them.
    count = len(measured_figures())
    short = [replace(each, values=each.values[:count]) for each in rows]
    assert [each.best.options for each in best_sets(short)] == ["-a"]
    assert best(rows, "live-grfs").weighing.criteria == ()


def test_kernels_devices_and_what_does_not_compile() -> None:
    rows = [row("", None), row("-a", cycles=3), row("-a", "l", cycles=3), row("-a", device="skl", cycles=3)]
    rows += [row("-b", cycles=2), row("-b", "l", cycles=4), row("-b", device="skl", cycles=1)]
    results = best_sets(rows, weighing())
    assert [(each.first.device, each.first.kernel, each.first.options, each.best.options) for each in results] == [
        ("dg2", "k", "-a", "-b"),
        ("dg2", "l", "-a", "-a"),
        ("skl", "k", "-a", "-b"),
    ]


def test_many_sets_take_no_time() -> None:
    rows = [row(f"-D{a} -D{b}", spill_stores=a, cycles=b) for a, b in itertools.product(range(150), range(150))]
    with processor_time(20):
        assert best(rows).best.options == "-D0 -D0"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("size,sizes", NotFoundError, "--weigh: there is no metric 'sizes'; did you mean size"),
        ("", NotFoundError, "there is no metric ''"),
        ("cycles=1", NotFoundError, "there is no metric 'cycles=1'"),
        ("wait-cycles,waits", KernlensError, "waits is named twice"),
    ],
)
def test_what_is_no_weighing(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        weighing(text)


def test_figures_that_take_an_analysis_are_known() -> None:
    assert (weighing().needs_waits, weighing().needs_pressure) == (True, False)
    assert (weighing("live grfs,Code_Size").needs_waits, weighing("live-grfs").needs_pressure) == (False, True)
    assert str(weighing("live grfs,Code_Size")) == "live-grfs,code-size"
    assert {key for criterion in weighing("cycles").criteria for key in criterion.keys} == set(CYCLES)


def test_the_size_of_a_wave_is_a_width_and_spilled_registers_stand_for_spills() -> None:
    """AMD's compiler states both; cycles are not estimated, and where VGPRs spill, spills are not counted in the code."""
    unknown = {"simd": None, "cycles": None, "issue_cycles": None, "spill_stores": None, "fill_loads": None}
    rows = [
        replace(
            row(name, device="gfx900", instructions=count, **unknown), own=(("vgpr_spills", spills), ("wave_size", 64))
        )
        for name, count, spills in (("", 900, 8), ("-a", 640, 9), ("-b", 128, 8), ("-c", 64, 70))
    ]
    result = best(rows)
    assert [criterion.name for criterion in result.weighing.criteria] == ["vgpr_spills", "instructions", "size"]
    assert result.best.options == "-b"
    assert result.weighing.criteria[1].measure(rows[1]) == 10


def test_sets_that_differ_in_loops_or_memory_are_not_ranked() -> None:
    """A loop counts once: the code that runs it sixteen times has the fewest cycles, and its array is in memory."""
    rows = [
        row("", loops=0, cycles=900),
        row("-fast", loops=0, cycles=800),
        row("-rolled", loops=2, cycles=90),
        row("-array", loops=0, cycles=80, private_bytes=1024),
        row("-calls", loops=0, cycles=70, stack_bytes=64),
        row("-unknown", loops=None, cycles=60),
    ]
    result = best(rows)
    assert (result.best.options, result.count) == ("-fast", 6)
    assert [(each.options, words) for each, words in result.unranked] == [
        ("-rolled", "2 loops, not 0"),
        ("-array", "64 bytes of private memory per work-item, not 0"),
        ("-calls", "it calls functions on a stack"),
        ("-unknown", "loops or width are unknown"),
    ]
    assert unranked_sentence([result]) == "4 of 6 variants cannot be ranked against the others"
    assert best(rows, "private-bytes,size").unranked == (), "what the binary states can be compared"
    assert best([*rows, row("-small", code_size=-1)], "size").best.options == "-small"


def test_cycles_of_which_threads_hide_a_part_do_not_decide() -> None:
    """One issues fewer cycles and the other waits for fewer: with many threads the first is faster, with one the other."""
    first = row("", issue_cycles=160, cycles=1600)
    result = best([first, row("-hides", issue_cycles=320, cycles=320), row("-less", issue_cycles=80, cycles=1600)])
    assert (result.best.options, [each.options for each, _ in result.unranked]) == ("-less", ["-hides"])
    assert result.unranked[0][1] == (
        "it issues for 20.0 cycles per work-item, not 10.0, and waits for 20.0, not 100.0: which is faster depends on the"
        " threads"
    )
    # Both are better than the first, and neither than the other.
    result = best([first, row("-a", issue_cycles=80, cycles=800), row("-b", issue_cycles=160, cycles=80)])
    assert (result.best.options, [each.options for each, _ in result.unranked]) == ("-b", ["-a"])
    # What counts before cycles decides, and so does what is asked for.
    assert best([first, row("-b", issue_cycles=320, cycles=320, spill_stores=1)]).unranked == ()
    assert best([first, row("-b", issue_cycles=320, cycles=320)], "waits").best.options == "-b"


def test_a_loop_without_memory_is_the_same_if_it_computes_the_same() -> None:
    """Two rounds of a smaller body may have as many instructions as another body, and as many for half the width."""
    nests = {"": "64;1,0,7,9", "-same": "64;1,0,7,9", "-unrolled": "64;1,0,8,9", "-near": "64;1,0,9,9"}
    rows = [replace(row(name, cycles=100 - place), nest=nest) for place, (name, nest) in enumerate(nests.items())]
    rows += [replace(row("-wide", simd=32), nest="128;1,0,7,9")]
    result = best(rows)
    assert (result.best.options, [each.options for each, _ in result.unranked]) == (
        "-same",
        ["-unrolled", "-near", "-wide"],
    )
    # One that accesses memory is told by its bytes.
    rows = [replace(each, nest=each.nest.replace("1,0", f"1,{each.figures['simd']}")) for each in rows]
    assert best(rows).best.options == "-wide"


def test_fewer_cycles_outside_a_loop_and_more_in_it_do_not_decide() -> None:
    """With one round the second is the fastest, with three the first."""
    rows = [
        replace(row("", cycles=480), nest="64;1,64,7,160"),
        replace(row("-outside", cycles=400), nest="64;1,64,8,240"),
        replace(row("-both", cycles=440), nest="64;1,64,7,160"),
    ]
    result = best(rows)
    assert (result.best.options, [each.options for each, _ in result.unranked]) == ("-both", ["-outside"])
    assert result.unranked[0][1] == (
        "in a round of loop 1 it takes 15.0 cycles per work-item, not 10.0, and in all 25.0, not 30.0: from 2 rounds on it is"
        " slower"
    )
    # The estimate of a loop may be apart by a cycle: the order would turn in the 1,281st round.
    near = replace(row("-near", cycles=240), nest="64;1,64,8,161")
    assert best([replace(rows[0], values=row("", cycles=1520).values), near]).best.options == "-near"
    near = replace(row("-near", cycles=479), nest="64;1,64,8,161")
    assert not best([rows[0], near]).is_ranked


def test_launches_are_compared_whose_work_items_are_stated() -> None:
    """One that makes four results costs less than four that make one each, if the launch takes a quarter of them."""
    single = replace(row("", cycles=100), nest="64")
    four = replace(row("-four", cycles=320), nest="256")
    (result,) = best_sets([single, four])
    assert "a work-item stores 16 bytes outside loops, not 4" in result.unranked[0][1]
    (result,) = best_sets([replace(single, items=4096), replace(four, items=1024)])
    assert (result.best.options, result.ratio, result.unranked) == ("-four", 0.8, ())
    (result,) = best_sets([replace(single, items=4096), replace(four, items=2048)])
    assert result.unranked[0][1].startswith("a launch stores 32,768 bytes outside loops, not 16,384")
    (result,) = best_sets([replace(single, items=4096), replace(four, items=None)])
    assert result.unranked[0][1].startswith("the work-items of its launch are not known")


def test_what_differs_in_all_is_no_best() -> None:
    result = best([row("", private_bytes=4096, cycles=90), row("-other", loops=3, cycles=10)])
    assert (result.is_ranked, result.deciding, result.best.options) == (False, None, "")


def test_memory_that_the_binary_states_in_a_sum_alone() -> None:
    """There the bytes that messages access tell whether an array went to memory; the spills are compared."""
    common: dict[str, Any] = {"private_bytes": None, "scratch_bytes": 8192, "global_load_bytes": 640}
    spills: dict[str, Any] = {"spill_stores": 9, "spill_store_bytes": 900, "scratch_store_bytes": 900}
    rows = [row("", **common, **spills), row("-less", **common), row("-array", **common | {"global_load_bytes": 1280})]
    result = best(rows)
    assert (result.best.options, len(result.unranked)) == ("-less", 1)
    assert result.unranked[0][1].startswith("its messages access 80 bytes per work-item, not 40")
    wider = row("-wide", **common | {"global_load_bytes": 1280}, simd=32)
    assert best([*rows, wider]).unranked == result.unranked

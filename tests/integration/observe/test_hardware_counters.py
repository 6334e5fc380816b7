"""What the interpreter counts, held against the counters of a GPU: an H100's, from Nsight Compute's source page.

``tests/data/behaviour`` has the kernels, their sizes and the counters; those of wide_and_atomic.cl ran as CUDA's. Each line
with accesses to global or local memory has exactly the GPU's number of units of 32 bytes, and of wavefronts; EXPLAINED are the
others.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernlens.errors import UnsupportedError
from kernlens.model.behaviour import Behaviour
from kernlens.toolchain.oclgrind import oclgrind
from kernlens.verbs.observe.observe import observe
from tests.tree import ROOT

DATA = ROOT / "tests" / "data" / "behaviour"
COUNT = 65536
SIZES: dict[str, list[list[int]]] = json.loads((DATA / "sizes.json").read_text())
#: Kernel and line -> why the GPU counts something else.
EXPLAINED = {
    ("gatomr", 48): "the address follows from the order in which work-items came to an atomic: 44,541 units",
    ("trips", 104): "the compiler unrolls the divergent loop, and lanes part within its rounds: 153,265 units",
}


def _is_installed() -> bool:
    try:
        return oclgrind().disassembler is not None
    except UnsupportedError:
        return False


pytestmark = pytest.mark.skipif(not _is_installed(), reason="no Oclgrind 21.10 with LLVM 14's tools")


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments with which the GPU ran."""
    numpy: Any = pytest.importorskip("numpy")
    folder = tmp_path_factory.mktemp("arrays")
    source = numpy.random.default_rng(7)
    numpy.save(folder / "a.npy", source.random(COUNT, dtype=numpy.float32))
    numpy.save(folder / "idx.npy", source.permutation(COUNT).astype(numpy.int32))
    return [str(folder / "a.npy"), str(folder / "idx.npy"), f"zeros:float:{COUNT}", str(COUNT)]


def counters(kernel: str) -> list[dict[str, str]]:
    with (DATA / "h100_counters.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["kernel"] == kernel]


def run(kernel: str, arrays: Sequence[str]) -> Behaviour:
    size, group = SIZES[kernel]
    return observe(
        DATA / "kernels.cl",
        kernel=kernel,
        size=size,
        group=group,
        arguments=arrays,
        device="h100",
        seconds=300,
    )


@pytest.mark.parametrize("kernel", SIZES)
def test_lines_have_the_units_and_wavefronts_of_a_gpu(kernel: str, arrays: list[str]) -> None:
    observed = run(kernel, arrays)
    assert observed.groups_done == observed.groups
    lines = {line.place.line: line for line in observed.lines}
    compared = 0
    for row in counters(kernel):
        number = int(row["Line No"])
        units, wavefronts = int(row["L2 Theoretical Sectors Global"] or 0), int(row["L1 Wavefronts Shared"] or 0)
        if (kernel, number) in EXPLAINED or not (units or wavefronts):
            continue
        line = lines[number]
        # A line without accesses to local memory has none, also where the banks are known.
        assert (line.units, line.wavefronts or 0) == (units, wavefronts), number
        compared += 1
    assert compared, "no line has accesses"
    silent = {number for number, line in lines.items() if line.units or line.wavefronts}
    assert silent <= {int(row["Line No"]) for row in counters(kernel)}


def wide_and_atomic() -> dict[str, dict[int, tuple[int, int]]]:
    """The units and wavefronts of the kernels of wide_and_atomic.cl, line by line; those of atomics at the line of the call."""
    counts: dict[str, dict[int, tuple[int, int]]] = {}
    with (DATA / "wide_and_atomic.csv").open() as file:
        for row in csv.DictReader(file):
            counts.setdefault(row["kernel"], {})[int(row["line"])] = int(row["units"]), int(row["wavefronts"])
    return counts


@pytest.mark.parametrize("kernel", wide_and_atomic())
def test_wide_accesses_structures_and_atomics(kernel: str, arrays: list[str]) -> None:
    words = [*arrays[:2], f"zeros:float:{6 * COUNT}", str(COUNT)]
    observed = observe(
        DATA / "wide_and_atomic.cl",
        kernel=kernel,
        size=[COUNT],
        group=[256],
        arguments=words,
        device="h100",
        seconds=300,
    )
    counts = {line.place.line: (line.units, line.wavefronts or 0) for line in observed.lines}
    expected = {line: counted for line, counted in wide_and_atomic()[kernel].items() if (kernel, line) not in EXPLAINED}
    assert {line: counts[line] for line in expected} == expected
    assert {line for line, counted in counts.items() if counted != (0, 0)} == set(wide_and_atomic()[kernel])


@pytest.mark.parametrize(("kernel", "line", "lanes"), [("diverge", 91, 16), ("diverge", 93, 16), ("reduce", 121, 1)])
def test_lanes_are_those_of_a_gpu(kernel: str, line: int, lanes: float, arrays: list[str]) -> None:
    observed = {each.place.line: each for each in run(kernel, arrays).lines}
    assert observed[line].lanes == pytest.approx(lanes, rel=0.01)


def test_few_lines_need_an_explanation() -> None:
    assert len(EXPLAINED) <= 3


def test_rounds_of_a_divergent_loop(arrays: list[str]) -> None:
    observed = run("trips", arrays)
    (loop,) = observed.loops
    assert loop.place is not None
    assert (loop.place.line, loop.least, loop.most) == (103, 1, 16)
    assert loop.entries == sum(each % 17 > 0 for each in range(COUNT))
    assert loop.mean * loop.entries == pytest.approx(sum(each % 17 for each in range(COUNT)))


def test_a_work_item_with_many_accesses_takes_no_more_memory(tmp_path: Path) -> None:
    source = tmp_path / "many.cl"
    source.write_text(
        "kernel void many(global const float *a, global float *b, int n)\n{\n    float v = 0;\n    int i = get_global_id(0);\n"
        "    for (int k = 0; k < n; k++)\n        v += a[i + k];\n    b[i] = v;\n}\n"
    )
    share = (4 << 20) // 64  # of the accesses that are held of a sub-group, so many are a lane's
    arguments = [f"zeros:float:{2 * share}", "zeros:float:1", str(share + 1000)]
    observed = observe(source, size=[1], group=[1], arguments=arguments, seconds=60, sub_group=64)
    loads = next(each for each in observed.accesses if each.kind == "load")
    assert (loads.requests, loads.lanes, loads.ungrouped) == (share, share, 1000)


def test_a_sum_in_memory_is_loaded_once_before_its_loop(tmp_path: Path) -> None:
    """As compilers of GPUs do: the next round has the value that the last one stored."""
    source = tmp_path / "sums.cl"
    source.write_text(
        "kernel void sums(global const float *a, global float *b, int n)\n{\n    int i = get_global_id(0);\n"
        "    for (int k = 0; k < n; k++)\n        b[i] += a[i + 64 * k];\n}\n"
    )
    observed = observe(source, size=[64], group=[64], arguments=["random:float:640", "zeros:float:64", "10"])
    requests = sorted((each.kind, each.requests) for each in observed.accesses if each.space == "global")
    assert requests == [("load", 2), ("load", 20), ("store", 20)]


def test_the_answer_is_what_ended_in_time(arrays: list[str], tmp_path: Path) -> None:
    source = tmp_path / "slow.cl"
    source.write_text(
        "kernel void slow(global float *a, int n)\n{\n    float v = 0;\n    for (int k = 0; k < n; k++)\n"
        "        v += a[k & 63];\n    a[get_global_id(0)] = v;\n}\n"
    )
    observed = observe(source, size=[1 << 20], group=[64], arguments=[f"zeros:float:{1 << 20}", "1000"], seconds=2)
    assert observed.is_out_of_time
    assert 0 < observed.groups_done < observed.groups
    (loop,) = observed.loops
    assert (loop.entries, loop.least, loop.most) == (64 * observed.groups_done, 1000, 1000)
    stores = [each for each in observed.accesses if each.kind == "store" and each.space == "global"]
    assert [each.requests for each in stores] == [2 * observed.groups_done]

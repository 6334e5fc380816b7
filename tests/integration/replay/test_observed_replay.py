"""``kernlens replay --observe``: a kept launch in the interpreter, counted as ``observe`` counts it, its results compared."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.errors import UnsupportedError
from kernlens.verbs.observe.observe import observe
from kernlens.verbs.replay.observed import observe_launch
from tests.integration.observe.test_hardware_counters import pytestmark as has_interpreter
from tests.integration.replay.test_replay import kernlens as replay_command
from tests.integration.replay.test_replay import pytestmark as has_pocl
from tests.warm_commands import kernlens as command
from tests.writers.kept_launches import READ_ONLY, READ_WRITE, WRITE_ONLY, Keeper, record_launches

pytestmark = [has_interpreter, has_pocl]
KERNELS = """kernel void columns(global const float *in, global float *out, float factor, local float *tile)
{
    int x = get_global_id(0), y = get_global_id(1), l = get_local_id(0) + 8 * get_local_id(1);
    tile[l] = in[32 * x + y];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[32 * y + x] = tile[l] * factor;
}
kernel void placed(global int *out)
{
    out[get_global_id(0) - get_global_offset(0)] += get_global_id(0);
}
"""
COUNT = 32 * 32


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Keeper(KERNELS, "-DUNUSED=1", "columns")
    numbers = struct.pack(f"<{COUNT}f", *range(COUNT))
    columns: list[Any] = [[numbers, READ_ONLY], [bytes(4 * COUNT), WRITE_ONLY], struct.pack("<f", 2.0), 256]
    launches = [
        keeper.launch("columns", columns, [32, 32], [8, 8]),
        keeper.launch("placed", [[bytes(1024), READ_WRITE]], [256], [32], [100]),
        keeper.launch("placed", [[bytes(1024), READ_WRITE]], [256]),
    ]
    return record_launches(tmp_path_factory.mktemp("kept") / "kept.klens", keeper.build, *launches)


def test_counts_are_those_of_the_launch_described_by_hand(recording: Path, tmp_path: Path) -> None:
    observed = observe_launch(recording, kernel="columns", device="h100")
    source = tmp_path / "columns.cl"
    source.write_text(KERNELS)
    arguments = [f"ramp:float:{COUNT}", f"zeros:float:{COUNT}", "2.0", "local:256"]
    by_hand = observe(
        source, kernel="columns", size=[32, 32], group=[8, 8], arguments=arguments, device="h100", options="-DUNUSED=1"
    )
    counted = [(each.place.line, each.units, each.wavefronts, each.runs) for each in observed.behaviour.lines]
    assert counted == [(each.place.line, each.units, each.wavefronts, each.runs) for each in by_hand.lines]
    assert any(units > 32 for _, units, _, _ in counted)
    assert observed.replayed is not None
    assert observed.replayed.is_equal
    assert [each.elements for each in observed.replayed.builds[0].compared] == [COUNT]


def test_offsets_and_sizes_of_groups_that_the_driver_chose(recording: Path) -> None:
    observed = [observe_launch(recording, kernel="placed", launch=number) for number in (1, 2)]
    assert all(each.replayed is not None and each.replayed.is_equal for each in observed)
    assert [each.behaviour.local_size for each in observed] == [(32, 1, 1), (64, 1, 1)]
    assert "left the size of work-groups to its driver" in " ".join(observed[1].behaviour.notes)


def test_a_sample_is_counted_and_not_compared(recording: Path) -> None:
    observed = observe_launch(recording, kernel="columns", groups=4)
    assert (observed.behaviour.groups_done, observed.behaviour.groups, observed.replayed) == (4, 16, None)
    replay_command(recording, "--observe", "--kernel", "columns", "--groups", "4")
    replay_command(recording, "--observe", "--kernel", "columns", "--groups", "4", "--build-options", "", status=2)


def test_time_that_is_over_leaves_what_ended(tmp_path: Path) -> None:
    text = """kernel void slow(global float *a, int n)
{
    float v = 0;
    for (int k = 0; k < n; k++)
        v += a[k & 63];
    a[get_global_id(0)] = v;
}"""
    arguments: list[Any] = [[bytes(4 << 16), READ_WRITE], struct.pack("<i", 2000)]
    keeper = Keeper(text, "", "slow")
    path = record_launches(tmp_path / "slow.klens", keeper.build, keeper.launch("slow", arguments, [1 << 16], [64]))
    observed = observe_launch(path, seconds=2)
    assert 0 < observed.behaviour.groups_done < observed.behaviour.groups
    assert observed.behaviour.is_out_of_time
    assert observed.replayed is None


def test_the_command_says_whether_results_are_equal(recording: Path) -> None:
    text = replay_command(recording, "--observe", "--kernel", "columns")
    assert "launch 1 of columns" in text
    assert "tile[l] = in[32 * x + y];" in text
    assert "results: equal" in text
    document = replay_command(recording, "--observe", "--kernel", "columns", "--json")
    assert document["equal"]
    assert document["observed"]["kernel"] == "columns"


def test_results_that_differ_end_with_status_1(tmp_path: Path) -> None:
    """A launch whose results are not the recorded ones: work-groups of another size, which the kernel stores."""
    keeper = Keeper("kernel void size(global int *out) { out[get_global_id(0)] = get_local_size(0); }", "", "size")
    launch = keeper.launch("size", [[bytes(1024), READ_WRITE]], [256])
    path = record_launches(tmp_path / "size.klens", keeper.build, launch)
    assert "of 256 ints differ" in replay_command(path, "--observe", status=1)


def test_a_mend_is_counted_and_compared(recording: Path, tmp_path: Path) -> None:
    """With a header beside it; one whose results differ ends with status 1."""
    (tmp_path / "size.h").write_text("#define ROW 9\n")
    mend = tmp_path / "mend.cl"
    mend.write_text(
        """#include "size.h"
kernel void columns(global const float *in, global float *out, float factor, local float *unused)
{
    local float tile[8 * ROW];
    int x = get_local_id(0), y = get_local_id(1), left = 8 * get_group_id(0), top = 8 * get_group_id(1);
    tile[ROW * y + x] = in[32 * (left + y) + top + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[32 * (top + y) + left + x] = tile[ROW * x + y] * factor * SCALE;
}
"""
    )
    asked: list[Any] = [recording, "--observe", "--kernel", "columns", "--device", "dg2", "--source", mend]
    document = replay_command(*asked, "--build-options", "-DSCALE=1", "--json")
    before = replay_command(recording, "--observe", "--kernel", "columns", "--device", "dg2", "--json")
    units = [sum(line["units"] for line in each["observed"]["lines"] if line["line"]) for each in (before, document)]
    assert document["equal"]
    assert document["observed"]["source"] == "mend.cl"
    assert units[1] < units[0]
    text = replay_command(*asked, "--build-options", "-DSCALE=3", status=1)
    assert "launch 1 of columns of " in text
    assert "mend.cl" in text.splitlines()[0]
    assert "tile[ROW * y + x] = in[32 * (left + y) + top + x];" in text
    assert "floats differ" in text


def test_a_saved_launch_stands_beside_the_code(recording: Path, tmp_path: Path) -> None:
    saved = tmp_path / "columns.klens"
    observe_launch(recording, kernel="columns", device="dg2", output=saved)
    (program,) = kernlens.load(saved)
    kernel = program.kernels["columns"]
    (behaviour,) = kernel.behaviours
    assert behaviour.machine.width == kernel.resources.simd
    text = command("annotate", saved, "--kernel", "columns").stdout
    assert "tile[l] = in[32 * x + y];" in text
    assert "units" in text


def test_what_cannot_be_interpreted_is_said(recording: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="name it with --device"):
        observe_launch(recording, kernel="columns", output=tmp_path / "o.klens")

"""What ``kernlens capture`` counts of OpenCL: launches of every kind, also of applications that end in the middle of them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.integration.capture_fixtures import alone, captured, dg2, folder
from tests.integration.opencl_layer_fixtures import Platform, pocl

__all__ = ["dg2", "folder"]


def test_command_buffers_count_each_time_they_are_enqueued(folder: Path, tmp_path: Path) -> None:
    under = pocl(tmp_path / "cache")
    without = alone(under, tmp_path, str(folder / "app"), "command-buffer")
    done = captured(under, folder, tmp_path, str(folder / "app"), "command-buffer")
    assert (done.status, done.out) == (0, without.stdout)
    assert "sum 18\n" in done.out
    assert done.launches() == {"add": 2 * 3}
    (shapes,) = [each["shapes"] for each in done.noted["kernels"] if each["launches"]]
    assert shapes == [{"global": [64], "local": [16], "launches": 6}]


def test_a_command_buffer_that_the_layer_has_not_seen_made(folder: Path, tmp_path: Path) -> None:
    """It works as without: the platform is the only one whose functions the application has."""
    under = pocl(tmp_path / "cache")
    without = alone(under, tmp_path, str(folder / "app"), "command-buffer-past-layers")
    done = captured(under, folder, tmp_path, str(folder / "app"), "command-buffer-past-layers")
    assert (done.status, done.out) == (0, without.stdout)
    assert "append 0\n" in done.out
    assert "sum 18\n" in done.out
    assert done.launches() == {}, "of which device it is, is not known"


def test_command_buffers_of_several_threads(folder: Path, tmp_path: Path) -> None:
    under = pocl(tmp_path / "cache")
    done = captured(under, folder, tmp_path, str(folder / "app"), "command-buffers-in-threads")
    assert (done.status, done.out) == (0, "build 0\n")
    assert done.launches() == {"add": 4 * 25}


def test_launches_by_groups_and_kernels_with_long_names(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "groups", "long-name")
    assert done.status == 0
    assert done.out.count("groups 0\n") == 2
    long_name = f"k{0:02999}"
    assert done.launches() == {"add": 2, long_name: 1}
    shapes = {kernel["name"]: kernel["shapes"] for kernel in done.noted["kernels"]}
    assert shapes["add"] == [{"global": [48], "local": [16], "launches": 2}]


@pytest.mark.parametrize(("word", "status"), [("exit-at-once", 3), ("abort-in-callback", -signal.SIGABRT)])
def test_an_end_past_all_destructors_loses_no_launch(word: str, status: int, folder: Path, tmp_path: Path) -> None:
    done = captured(pocl(tmp_path / "cache"), folder, tmp_path, str(folder / "app"), word)
    assert done.status == status, done.err
    assert done.launches() == {"add": 50} == {"add": done.counted["launch"]}

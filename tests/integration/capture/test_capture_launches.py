"""What ``kernlens capture`` counts of OpenCL: launches of every kind, also of applications that end in the middle of them."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.capture.capture_fixtures import alone, captured, dg2, folder
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER, Platform, pocl

__all__ = ["dg2", "folder"]


@pytest.mark.parametrize(
    ("word", "shapes"),
    [
        ("command-buffer", [{"global": [64], "local": [16], "launches": 2 * 3}]),
        # The layer has not seen it made: of which device it is, is not known.
        ("command-buffer-past-layers", []),
    ],
)
def test_command_buffers_count_each_time_they_are_enqueued(
    word: str, shapes: list[dict[str, object]], dg2: Platform, folder: Path, tmp_path: Path
) -> None:
    for name in ("pocl.icd", "intel.icd"):
        shutil.copy(ICD_FOLDER / name, tmp_path)
    both = {"OCL_ICD_VENDORS": str(tmp_path), "POCL_CACHE_DIR": str(tmp_path / "cache")}
    under = replace(dg2, environment={**dg2.environment, **both})
    without = alone(under, tmp_path, str(folder / "app"), word)
    done = captured(under, folder, tmp_path, str(folder / "app"), word)
    assert (done.status, done.out) == (0, without.stdout)
    assert "sum 18\n" in done.out
    assert [shape for kernel in done.noted["kernels"] for shape in kernel["shapes"]] == shapes
    assert done.launches() == Counter({"add": 6} if shapes else {})


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


def test_a_fork_while_the_parent_goes_on_launching(folder: Path, tmp_path: Path) -> None:
    """On a device that neither had launched on before: what the parent makes of that is not the child's."""
    under = pocl(tmp_path / "cache")
    under = replace(under, environment={**under.environment, "POCL_DEVICES": "pthread basic"})
    done = captured(under, folder, tmp_path, str(folder / "app"), "fork-and-launch")
    assert (done.status, done.out) == (0, "build 0\nchild 7\n"), done.err
    assert sorted(kernel["launches"] for kernel in done.noted["kernels"] if kernel["name"] == "add") == [1, 2]
    assert done.counted["launch"] == 3

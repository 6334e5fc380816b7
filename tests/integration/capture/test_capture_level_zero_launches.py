"""What ``kernlens capture`` counts of Level Zero: launches in lists, clones of lists and graphs, when they are executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kernlens.model.kept_launch import KeptLaunch
from kernlens.toolchain.toolchains import SYSTEM
from kernlens.verbs.capture.kept_files import read_kept_file
from kernlens.verbs.capture.spool import Spool
from kernlens.verbs.capture.spooled import Counter, Shape, read_counters
from tests.integration.capture.capture_fixtures import HERE
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver, driver, level_zero_folder
from tests.tree import ROOT

__all__ = ["driver", "level_zero_folder"]

NATIVE = ROOT / "native"


def _counters(folder: Path) -> list[Counter]:
    return [counter for path in Spool(folder).files("counters") for counter in read_counters(path)]


def test_launches_count_when_their_list_is_executed(driver: Driver, tmp_path: Path) -> None:
    done = driver.captured(tmp_path, "launch")
    cooperative = "cooperative 0\n" in done.out
    several = "several 0\n" in done.out
    assert done.launches() == {"scale": 5 * (2 + cooperative + several), "clear": 5 * (1 + several) + 2}
    by_name = {kernel["name"]: kernel for kernel in done.noted["kernels"]}
    assert by_name["scale"]["shapes"] == [
        {"global": [32, 2, 1], "local": [16, 2, 1], "launches": 5 * (1 + cooperative)},
        {"global": [64, 6, 1], "local": [16, 2, 1], "launches": 5},
    ]
    assert by_name["clear"]["shapes"] == [
        {"global": [64, 1, 1], "local": [32, 1, 1], "launches": 1},
        {"global": [128, 3, 1], "local": [32, 1, 1], "launches": 1},
    ], "how many groups an indirect launch has, the device's memory says"


def test_newer_ways_to_launch(driver: Driver, tmp_path: Path) -> None:
    """Through functions that Debian 12's headers do not have, and that are asked for by their names."""
    done = driver.captured(tmp_path, "newer")
    if driver.toolchain == SYSTEM:
        assert "newer 0 0\n" in done.out
        assert done.launches() == {}
        return
    assert "newer 1 1\n" in done.out
    assert done.launches() == {"scale": 4, "clear": 1}
    shapes = {kernel["name"]: kernel["shapes"] for kernel in done.noted["kernels"]}
    assert shapes["scale"] == [{"global": [32, 2, 1], "local": [16, 2, 1], "launches": 4}]
    assert shapes["clear"] == [{"global": [128, 1, 1], "local": [64, 1, 1], "launches": 1}]


@pytest.mark.parametrize("word", ["graph", "older-graph"])
def test_graphs_count_each_time_they_are_appended(word: str, driver: Driver, tmp_path: Path) -> None:
    """What is recorded in a graph launches nothing; a second list is drawn into it by an event."""
    done = driver.captured(tmp_path, word, variables=UNTRACED)
    assert done.status == 0, done.out
    if driver.toolchain == SYSTEM:
        assert "graphs 0\n" in done.out
        return
    assert "launched\n" in done.out
    assert done.launches() == {"scale": 2 * 3, "clear": 3 + 1}


LAUNCHES = 4 * 50 * (2 * 5 + 2)


def graphs_of_four_threads(
    folder: Path, flags: tuple[str, ...], before: tuple[str, ...], **variables: str
) -> list[KeptLaunch]:
    """Launch on a driver of the tests, as Intel's one with graphs does not start below valgrind; return what was kept."""
    driver, program = folder / "libze_intel_gpu.so.1", folder / "graphs"
    words = [
        "gcc",
        "-std=gnu11",
        "-g",
        f"-I{NATIVE}",
        f'-DLEVEL_ZERO_DRIVER="{driver.name}"',
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    fake = ["-shared", "-fPIC", "-o", str(driver), f"-Wl,-soname,{driver.name}", str(HERE / "level_zero_fake_driver.c")]
    subprocess.run([*words, *flags, *fake], check=True, timeout=60)
    layer = [path for name in ("base", "recording", "level_zero_layer") for path in (NATIVE / name).glob("*.c")]
    sources = [str(path) for path in (HERE / "level_zero_fake_graphs.c", *layer)]
    subprocess.run(
        [*words, *flags, "-o", str(program), *sources, str(driver), "-lpthread", "-ldl"], check=True, timeout=120
    )
    (folder / "missing").write_bytes(bytes(65536))
    variables |= {"KERNLENS_CAPTURE": str(folder), "LD_LIBRARY_PATH": str(folder), "PATH": os.environ["PATH"]}
    variables |= {"KERNLENS_CAPTURE_LAUNCH": "k:every=1", "KERNLENS_CAPTURE_LAUNCH_BYTES": str(LAUNCHES * 256)}
    done = subprocess.run(
        [*before, str(program)], env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
    assert not Spool(folder).missing()
    assert sum(counter.launches for counter in _counters(folder)) == LAUNCHES
    launches = [read_kept_file(path).launch for path in Spool(folder).files("launch")]
    assert {each.number for each in launches} == set(range(1, LAUNCHES + 1))
    assert {(each.global_size, each.arguments[0].kind) for each in launches} == {((32, 1, 1), "pointer")}
    return launches


@pytest.mark.parametrize(
    "way", ["address,undefined", "thread", *(["valgrind"] if "KERNLENS_VALGRIND" in os.environ else [])]
)
def test_graphs_of_four_threads_under_sanitizers_and_valgrind(way: str, tmp_path: Path) -> None:
    """What is kept of each launch is its own thread's memory."""
    flags: tuple[str, ...] = (f"-fsanitize={way}", "-fno-sanitize-recover=all")
    # Sanitizers of this age do not know how far kernels of today spread a process's memory.
    before: tuple[str, ...] = ("setarch", "-R")
    if way == "valgrind":
        flags, before = (), ("valgrind", "-q", "--leak-check=full", "--error-exitcode=9")
    simulated = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1"}
    for launch in graphs_of_four_threads(tmp_path, flags, before, **simulated):
        (memory,) = launch.memory
        assert memory.before is not None
        assert memory.before() == memory.address.to_bytes(8, "little") * (256 // 8), "not that of another thread"


def test_contents_are_not_read_of_a_device_that_runs_launches(tmp_path: Path) -> None:
    for launch in graphs_of_four_threads(tmp_path, (), ()):
        (memory,) = launch.memory
        assert (memory.kind, memory.size, memory.before, memory.after) == ("host", 256, None, None)
        assert memory.why == "memory of Level Zero is read of simulated devices only"


CLONES = """\
#include "recording/lists.h"
#include "recording/spool.h"
int main(void)
{
    static char device, module, kernel, list, clone;
    const struct shape shape = {1, {32}, {16}};
    spool_open();
    counters_watch();
    lists_watch();
    counters_created(&kernel, &module, "cloned");
    list_created(&list, &(struct list_home){.device = &device});
    list_appended(&list, NULL, &kernel, &shape);
    list_cloned(&clone, &list);
    list_appended(&list, NULL, &kernel, &shape); /* which the clone does not have */
    list_executed(&clone);
    list_executed(&clone);
    list_destroyed(&clone);
    list_executed(&list);
}
"""


def test_clones_of_lists(tmp_path: Path) -> None:
    """No driver that is tried here makes any (the extension was withdrawn), so the recorder's own functions are called."""
    (tmp_path / "check.c").write_text(CLONES)
    (tmp_path / "missing").touch()
    sources = [
        *(NATIVE / "base").glob("*.c"),
        *(NATIVE / "recording" / f"{name}.c" for name in ("counters", "spool", "tally")),
    ]
    flags = ["-std=gnu11", "-g", "-fsanitize=address,undefined", f"-I{NATIVE}", "-o", str(tmp_path / "check")]
    files = [tmp_path / "check.c", NATIVE / "recording" / "lists.c", *sources]
    subprocess.run(["gcc", *flags, *map(str, files), "-lpthread", "-ldl"], check=True, timeout=120)
    subprocess.run([str(tmp_path / "check")], env={"KERNLENS_CAPTURE": str(tmp_path)}, check=True, timeout=60)
    (counter,) = (each for each in _counters(tmp_path) if each.launches)
    assert (counter.kernel, counter.launches) == ("cloned", 2 + 2)
    assert counter.shapes == [Shape((32,), (16,), 4)]

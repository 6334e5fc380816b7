"""What ``kernlens capture`` counts of Level Zero: launches in lists, clones of lists and graphs, when they are executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "way", ["address,undefined", "thread", *(["valgrind"] if "KERNLENS_VALGRIND" in os.environ else [])]
)
def test_graphs_of_four_threads_under_sanitizers_and_valgrind(way: str, tmp_path: Path) -> None:
    """On a driver of the tests, as Intel's one with graphs does not start below valgrind."""
    driver, launches = tmp_path / "libze_intel_gpu.so.1", 4 * 50 * (2 * 5 + 2)
    flags = ["-std=gnu11", "-g", f"-I{NATIVE}", f'-DLEVEL_ZERO_DRIVER="{driver.name}"', "-Wall", "-Wextra", "-Werror"]
    if way != "valgrind":
        flags += [f"-fsanitize={way}", "-fno-sanitize-recover=all"]
    fake = [*flags, "-shared", "-fPIC", "-o", str(driver), f"-Wl,-soname,{driver.name}"]
    subprocess.run(["gcc", *fake, str(HERE / "level_zero_fake_driver.c")], check=True, timeout=60)
    layer = [path for folder in ("base", "recording", "level_zero_layer") for path in (NATIVE / folder).glob("*.c")]
    sources = [str(path) for path in (HERE / "level_zero_fake_graphs.c", *layer)]
    program = tmp_path / "graphs"
    subprocess.run(
        ["gcc", *flags, "-o", str(program), *sources, str(driver), "-lpthread", "-ldl"], check=True, timeout=120
    )
    (tmp_path / "missing").write_bytes(bytes(65536))
    # Sanitizers of this age do not know how far kernels of today spread a process's memory.
    before = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9"] if way == "valgrind" else ["setarch", "-R"]
    variables = {"KERNLENS_CAPTURE": str(tmp_path), "LD_LIBRARY_PATH": str(tmp_path), "PATH": os.environ["PATH"]}
    variables |= {"KERNLENS_CAPTURE_LAUNCH": "k:every=1", "KERNLENS_CAPTURE_LAUNCH_BYTES": str(launches * 256)}
    variables |= {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1"}
    done = subprocess.run(
        [*before, str(program)], env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
    assert not Spool(tmp_path).missing()
    assert sum(counter.launches for counter in _counters(tmp_path)) == launches
    whole = [read_kept_file(path) for path in Spool(tmp_path).files("launch")]
    assert {each.launch.number for each in whole} == set(range(1, launches + 1))
    for each in whole:
        (memory,) = each.launch.memory
        assert memory.before is not None
        assert memory.before() == memory.address.to_bytes(8, "little") * (256 // 8), "not that of another thread"
        assert (each.launch.global_size, each.launch.arguments[0].kind) == ((32, 1, 1), "pointer")


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

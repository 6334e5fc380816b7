"""``kernlens capture --time``: the device's times are what the application could read, and it sees nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.errors import KernlensError
from kernlens.verbs.capture.capture import capture
from tests.documents import check_printed
from tests.explore_reader import Page
from tests.integration.capture.capture_fixtures import MAIN, alone, captured, dg2, folder
from tests.integration.layers.opencl_layer_fixtures import Platform, pocl

__all__ = ["dg2", "folder"]

#: Launches from several threads on queues of its own, some of which have profiling events of the application's.
_OWN_TIMES = """
import threading
import numpy as np
import pyopencl as cl

context = cl.create_some_context(False)
program = cl.Program(context, '''
kernel void few(global float *a) { a[get_global_id(0)] += 1; }
kernel void many(global float *a, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += sin(a[(get_global_id(0) + i) % 256]);
    a[get_global_id(0)] = sum;
}''').build()
profiling = cl.command_queue_properties.PROFILING_ENABLE
times, first = {"few": [], "many": []}, {"few": [], "many": []}
lock = threading.Lock()

def work(number):
    queue = cl.CommandQueue(context, properties=profiling)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 1024)
    cl.enqueue_fill_buffer(queue, buffer, np.float32(number), 0, 4096)
    few, many = cl.Kernel(program, "few"), cl.Kernel(program, "many")
    events = [("few", few(queue, (1024,), None, buffer)) for _ in range(40)]
    events += [("many", many(queue, (1024,), None, buffer, np.int32(200 + number))) for _ in range(5)]
    queue.finish()
    with lock:
        for name, event in events:
            times[name].append(event.profile.end - event.profile.start)
        for name in times:
            first[name].append(next(each.profile.end - each.profile.start for own, each in events if own == name))

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
for name, own in times.items():
    print(sum(own), sorted(own)[len(own) // 2], min(own), max(own), *first[name])
"""


def kernlens(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([*MAIN, *words], env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_times_are_those_that_the_application_reads_itself(tmp_path: Path) -> None:
    application, recording = tmp_path / "own.py", tmp_path / "own.klens"
    application.write_text(_OWN_TIMES)
    words = ("--time", "--json", "-o", str(recording), "--", sys.executable, str(application))
    done = kernlens("capture", *words, **pocl(tmp_path / "cache").environment)
    assert done.returncode == 0, done.stderr
    *own, document = done.stdout.splitlines()
    (few, few_median, *few_range), (many, many_median, *many_range) = (list(map(int, line.split())) for line in own)
    kernels = {kernel["name"]: kernel for kernel in json.loads(document)["kernels"] if kernel["launches"]}
    assert {name: kernel["time"]["total_ns"] for name, kernel in kernels.items()} == {"few": few, "many": many}
    assert {name: kernel["time"]["launches"] for name, kernel in kernels.items()} == {"few": 160, "many": 20}
    by_time = sorted(kernels, key=lambda name: -kernels[name]["time"]["total_ns"])
    assert list(kernels) == by_time, "what takes longest comes first"
    assert kernels["many"]["time"]["share"] == pytest.approx(many / (few + many), abs=1e-4)
    assert [kernels[name]["time"]["median_ns"] for name in ("many", "few")] == [many_median, few_median]
    for name, (least, most, *firsts) in (("few", few_range), ("many", many_range)):
        time = kernels[name]["time"]
        assert (time["least_ns"], time["most_ns"]) == (least, most)
        assert time["first_ns"] in firsts, "one of the threads' first launches"
    has_first = any(kernel["time"]["first_ns"] > 2 * kernel["time"]["median_ns"] for kernel in kernels.values())
    assert f"device time  share  {'first ' if has_first else 'median'}" in done.stderr
    (inspected,) = json.loads(kernlens("inspect", "--json", str(recording)).stdout)["programs"]
    stated = {kernel["name"]: kernel for kernel in inspected["kernels"]}
    assert [stated[name]["device_time"] for name in ("few", "many")] == [few, many]
    assert [stated[name]["timed_launches"] for name in ("few", "many")] == [160, 20]
    table = kernlens("inspect", "--sort", "device-time", str(recording)).stdout.splitlines()
    assert [line.split()[0] for line in table if line.startswith(("  few ", "  many "))] == by_time
    assert any("timed launches" in line for line in table)
    costliest = kernlens("annotate", "--top", "1", "--json", str(recording)).stdout
    check_printed(["annotate", str(recording), "--top", "1", "--json"], costliest)
    (listed,) = json.loads(costliest)["programs"]
    assert [kernel["name"] for kernel in listed["kernels"] if kernel["name"] in by_time] == by_time
    page = tmp_path / "page.html"
    assert kernlens("report", str(recording), "-o", str(page)).returncode == 0
    (program,) = Page(page.read_text()).index["programs"]
    columns = program["kernels"]
    assert dict(zip(columns["name"], columns["device_time"], strict=True)) == {"few": few, "many": many}
    other = with_longer_times(recording, tmp_path / "other.klens")
    same = kernlens("diff", str(recording), str(other))
    assert (same.returncode, "device time" in same.stdout) == (0, False), same.stdout


def with_longer_times(recording: Path, copy: Path) -> Path:
    """Return a copy of a recording whose launches took longer."""
    shutil.copy(recording, copy)
    with closing(sqlite3.connect(copy)) as file:
        (text,) = file.execute("SELECT value FROM recording WHERE key = 'capture'").fetchone()
        notes = json.loads(text)
        for kernel in notes["kernels"]:
            if kernel["time"] is not None:
                kernel["time"]["total_ns"] *= 2
        file.execute("UPDATE recording SET value = ? WHERE key = 'capture'", [json.dumps(notes)])
        file.commit()
    return copy


@pytest.mark.parametrize(
    ("word", "status", "launches"),
    [
        ("exit-at-once", 3, 50),
        ("abort-in-callback", -signal.SIGABRT, 50),
        ("fork-and-launch", 0, 3),
        ("command-buffers-in-threads", 0, 100),
    ],
)
def test_applications_run_as_without(word: str, status: int, launches: int, folder: Path, tmp_path: Path) -> None:
    under = pocl(tmp_path / "cache")
    under = replace(under, environment={**under.environment, "POCL_DEVICES": "pthread basic"})  # some words take two
    without = alone(under, tmp_path, str(folder / "app"), word)
    done = captured(under, folder, tmp_path, str(folder / "app"), word, options=("--time",))
    assert (done.status, done.out) == (status, without.stdout), done.err
    assert sum(done.launches().values()) == launches
    timed = [kernel["time"]["launches"] for kernel in done.noted["kernels"] if kernel["time"] is not None]
    assert sum(timed) <= launches


def test_what_runs_no_kernel_has_no_time(dg2: Platform, tmp_path: Path) -> None:
    done = kernlens("capture", "--time", "--simulate", "dg2", "--", "true")
    assert (done.returncode, "needs a device that runs kernels" in done.stderr) == (2, True), done.stderr
    with pytest.raises(KernlensError, match="neither a simulated device nor an interpreter has a time"):
        capture(["true"], tmp_path / "x.klens", simulate="dg2", time=True)

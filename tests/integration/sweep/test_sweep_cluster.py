"""sweep on a real Dask cluster: a scheduler and two workers, processes of this machine, one of which is killed midway.

The commands themselves run in this process, which loads Dask once: that takes longer than what they do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]

KERNEL = "kernel void k(global int *a) { int i = get_global_id(0); for (int n = 0; n < N; n++) a[i + n] *= n; }\n"
WORDS = ("sweep", "good.cl", "bad.cl", "--device", "skl,dg2", "-D", "N=2,3", "--json")


@contextmanager
def running(*words: str, cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with the block, and its own children."""
    with log.open("wb") as file:
        command = [sys.executable, "-m", f"distributed.cli.{words[0]}", *words[1:]]
        process = subprocess.Popen(command, cwd=cwd, env=environment(), stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "KERNLENS_CACHE": "off"}


def logged(log: Path, pattern: str) -> str:
    """What a process wrote that is to come within half a minute."""
    for _ in range(600):
        match = re.search(pattern, log.read_text("utf-8", "replace"))
        if match:
            return match[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("cluster")
    (result / "good.cl").write_text(f'#include "factor.h"\n{KERNEL}')
    (result / "factor.h").write_text("#define FACTOR 2\n")
    (result / "bad.cl").write_text("kernel void k() { x; }\n")
    return result


@pytest.fixture(scope="module")
def scheduler(folder: Path) -> Iterator[str]:
    log = folder / "scheduler.log"
    words = ("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
    with running(*words, cwd=folder, log=log):
        yield logged(log, r"Scheduler at:\s+(tcp://\S+)")


@contextmanager
def worker(scheduler: str, folder: Path, name: str, threads: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a folder of its own, which is not that of the sources."""
    home = folder / name
    home.mkdir()
    words = ("dask_worker", scheduler, "--nthreads", str(threads), "--no-dashboard", "--no-nanny", "--name", name)
    with running(*words, cwd=home, log=folder / f"{name}.log") as process:
        logged(folder / f"{name}.log", r"(Registered to)")
        yield process


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_a_cluster_gives_the_same_answer(scheduler: str, folder: Path, kernlens: Kernlens) -> None:
    here = kernlens(*WORDS, "--csv", "here.csv")
    assert here.status == 3, here.err
    with ExitStack() as stack:
        for name in ("first", "second"):
            stack.enter_context(worker(scheduler, folder, name))
        there = kernlens(*WORDS, "--csv", "there.csv", "--scheduler", scheduler)
    assert (there.status, there.out, there.err) == (3, here.out, here.err)
    assert (folder / "there.csv").read_bytes() == (folder / "here.csv").read_bytes()
    assert here.out.count('"kernel":"k"') == 4


def test_a_worker_that_dies_loses_and_doubles_nothing(scheduler: str, folder: Path, kernlens: Kernlens) -> None:
    slow = folder / "slow"
    slow.mkdir()
    compiled = slow / "compiled"
    # Each compile is noted, and lasts until the test has seen that both workers are at work.
    script = slow / "ocloc"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *-file*) echo $$ >> {compiled}; sleep 0.3;; esac\nexec /usr/bin/ocloc "$@"\n'
    )
    script.chmod(0o755)
    words = ("sweep", "good.cl", "--device", "dg2", "-D", "N=" + ",".join(map(str, range(2, 11))), "--json")
    whole = kernlens(*words)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("PATH", f"{slow}{os.pathsep}{os.environ['PATH']}")
        dying = stack.enter_context(worker(scheduler, folder, "dying"))
        stack.enter_context(worker(scheduler, folder, "living"))
        command = [sys.executable, "-m", "kernlens", *words, "--scheduler", scheduler]
        sweep = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stack.callback(sweep.kill)
        for _ in range(1200):
            if compiled.exists() and compiled.read_text().count("\n") >= 5:
                break
            time.sleep(0.05)
        dying.kill()
        out, err = sweep.communicate(timeout=120)
    assert (sweep.returncode, out.decode(), err.decode()) == (0, whole.out, whole.err)
    assert compiled.read_text().count("\n") >= 9
    assert (whole.status, whole.out.count('"kernel":"k"')) == (0, 9)


def test_what_a_worker_lacks_or_has_otherwise_is_said_of_each_cell(
    scheduler: str, folder: Path, kernlens: Kernlens
) -> None:
    words = ("sweep", "good.cl", "--device", "dg2", "--csv", "x.csv", "--scheduler", scheduler)
    empty = folder / "empty"
    empty.mkdir()
    with pytest.MonkeyPatch.context() as patch, worker_in(patch, scheduler, folder, "bare", PATH=str(empty)):
        patch.undo()
        done = kernlens(*words, "-D", "N=2,3")
    assert done.status == 3
    assert done.err.count("the toolchain system is NEO unknown") == 2, done.err
    with pytest.MonkeyPatch.context() as patch, worker_in(patch, scheduler, folder, "steered", IGC_EnableZEBinary="1"):
        patch.undo()
        done = kernlens(*words, "-D", "N=2")
    assert "other variables that steer the compiler are set there: IGC_EnableZEBinary" in done.err


@contextmanager
def worker_in(patch: pytest.MonkeyPatch, scheduler: str, folder: Path, name: str, **variables: str) -> Iterator[None]:
    for variable, value in variables.items():
        patch.setenv(variable, value)
    with worker(scheduler, folder, name):
        yield


def test_without_workers_or_a_scheduler_the_next_step_is_named(scheduler: str, kernlens: Kernlens) -> None:
    words = ("sweep", "good.cl", "--device", "dg2", "-D", "N=2", "--scheduler")
    done = kernlens(*words, scheduler)
    assert (done.status, done.out) == (3, "")
    assert done.err == (
        f"kernlens: the scheduler at {scheduler} has no workers: start some with 'dask worker {scheduler}'\n"
    )
    for address in ("tcp://127.0.0.1:9", "no address at all"):
        done = kernlens(*words, address)
        assert (done.status, done.out, done.err.count("\n")) == (3, "", 1), done.err
        assert f"no Dask scheduler answers at {address}" in done.err
        assert "start one with 'dask scheduler'" in done.err

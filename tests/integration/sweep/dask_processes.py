"""The processes of a Dask cluster, each of which can be killed. They are forked from one that has loaded Dask: that takes
longer than what they do."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")


def preload() -> None:
    """Have the processes begin with Dask loaded. Those which were started before have their own way."""
    CONTEXT.set_forkserver_preload(["distributed", "tests.integration.sweep.dask_processes"])


async def _served(make: Any, answer: Connection, words: Mapping[str, Any]) -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    async with make(**words) as node:
        answer.send(node.address)
        answer.close()
        await node.finished()


def run_scheduler(answer: Connection, words: Mapping[str, Any]) -> None:
    """Run a scheduler until it is ended, and tell its address. The word "config" is Dask's configuration."""
    import dask
    from distributed import Scheduler

    dask.config.set(words.get("config", {}))
    words = {name: value for name, value in words.items() if name != "config"}
    own = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": None}
    asyncio.run(_served(Scheduler, answer, {**own, **words}))


def run_worker(
    answer: Connection,
    scheduler: str,
    folder: Path,
    variables: Mapping[str, str],
    state: str,
    words: Mapping[str, Any],
) -> None:
    """Run a worker in a folder of its own, with these variables. ``state`` is "other version" or "without kernlens", the word
    "config" Dask's configuration."""
    import dask

    dask.config.set(words.get("config", {}))
    words = {name: value for name, value in words.items() if name != "config"}
    folder.mkdir()
    os.chdir(folder)
    os.environ.update({"KERNLENS_CACHE": "off", "TMPDIR": str(folder), **variables})
    from distributed import Worker

    if state == "other version":
        import kernlens
        from kernlens.verbs.sweep import tasks

        for module in (kernlens, tasks):
            vars(module)["__version__"] = "0.0.1"
    elif state == "without kernlens":
        for name in [name for name in sys.modules if name.partition(".")[0] == "kernlens"]:
            del sys.modules[name]
        sys.modules["kernlens"] = None  # type: ignore[assignment]  # so an import of it fails
    own = {"scheduler_ip": scheduler, "nthreads": 1, "dashboard": False, "local_directory": str(folder)}
    asyncio.run(_served(Worker, answer, {**own, **words}))


def run_adaptive(answer: Connection, most: int) -> None:
    """Run a cluster that has a worker only while there is work."""
    from distributed import LocalCluster

    os.environ["KERNLENS_CACHE"] = "off"
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
    ) as cluster:
        cluster.adapt(minimum=0, maximum=most, interval="300ms")
        answer.send(cluster.scheduler_address)
        signal.pause()


@contextmanager
def running(target: Any, *arguments: Any) -> Iterator[tuple[Any, str]]:
    """Run a process; yield it and its address. It is killed with the block: none has anything to save."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=target, args=(theirs, *arguments), daemon=False)
    process.start()
    theirs.close()
    try:
        if not ours.poll(60):
            raise AssertionError(f"{target.__name__} did not start")
        yield process, ours.recv()
    finally:
        process.kill()
        process.join()

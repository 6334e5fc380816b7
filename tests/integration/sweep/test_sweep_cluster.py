"""sweep on a real Dask cluster: schedulers and workers are processes, which are killed, lack something, come and go.

The commands themselves run in this process, which loads Dask once: that takes longer than what they do.
"""

from __future__ import annotations

import json
import pickletools
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.sweep import dask_processes
from tests.integration.sweep.dask_processes import run_adaptive, run_scheduler, run_worker, running
from tests.integration.sweep.sweep_stress import KERNEL as SCALE
from tests.integration.sweep.sweep_stress import write_copying_compiler
from tests.unit.conftest import Done, Kernlens, kernlens

__all__ = ["kernlens"]

GOOD = """\
#include "near.h"
#include <far.h>
kernel void k(global int *a) {
  int i = get_global_id(0);
  a[i] = near(a[i]) + far_(a[i]) * N;
}
"""
FILES = {
    "project/src/good.cl": GOOD,
    "project/src/near.h": "inline int near(int x) { return x * x; }\n",
    "headers/far.h": "#pragma once\ninline int far_(int x) { return x / 3; }\n",
    "project/bad.cl": '#include "wrong.h"\nkernel void k() {}\n',
    "project/wrong.h": "int f(int x) { return y; }\n",
    "project/bad2.cl": "#include <wrong2.h>\nkernel void k() {}\n",
    "headers/wrong2.h": "\nint f(int x) { return z; }\n",
    "project/scale.cl": SCALE,
}
#: Notes where it runs and with which words, and goes on as ocloc.
NOTING = '#!/bin/sh\necho "$PWD $*" >> LOG\nexec /usr/bin/ocloc "$@"\n'
#: Sets of options of which there are many, for the compiler that only copies.
MANY = ("sweep", "scale.cl", "--device", "dg2", "-D", "A=" + ",".join(map(str, range(25))), "--json")

dask_processes.preload()

#: Runs a worker of a scheduler with variables, a state and more words.
Worker = Callable[..., AbstractContextManager[tuple[Any, str]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("cluster")
    for name, text in FILES.items():
        (result / name).parent.mkdir(parents=True, exist_ok=True)
        (result / name).write_text(text)
    for name in ("noting", "copying", "slow", "empty"):
        (result / name).mkdir()
    write_copying_compiler(result / "copying")
    (result / "noting/ocloc").write_text(NOTING.replace("LOG", str(result / "noting/log")))
    (result / "noting/ocloc").chmod(0o755)
    slow = (
        (result / "copying/ocloc").read_text().replace("compile*)", f"compile*) echo >> {result}/slow/log; sleep 0.05;")
    )
    (result / "slow/ocloc").write_text(slow)
    (result / "slow/ocloc").chmod(0o755)
    return result


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with running(run_scheduler, {}) as (_, address):
        yield address


@pytest.fixture(autouse=True)
def in_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "project")


@pytest.fixture
def worker(folder: Path, tmp_path: Path) -> Worker:
    """Return what runs a worker in a folder of its own."""
    count = iter(range(100))

    @contextmanager
    def run(
        scheduler: str,
        compiler: str = "copying",
        state: str = "",
        words: dict[str, Any] | None = None,
        **variables: str,
    ) -> Iterator[tuple[Any, str]]:
        variables = {"PATH": f"{folder / compiler}:/usr/bin:/bin", **variables}
        home = tmp_path / f"worker{next(count)}"
        with running(run_worker, scheduler, home, variables, state, words or {}) as process:
            yield process

    return run


@pytest.fixture
def copying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the client's compiler be the one that copies."""
    monkeypatch.setenv("PATH", f"{folder / 'copying'}:/usr/bin:/bin")


def test_workers_give_the_same_bytes(
    scheduler: str, worker: Worker, folder: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table, CSV, heat map and recording, with lines of headers and the places of errors; and no object of kernlens is
    pickled on the way."""
    pickles = _pickles(monkeypatch)

    def swept(name: str, *words: str) -> tuple[Done, bytes, bytes, dict[str, Any]]:
        files = ("--csv", f"{name}.csv", "--heat-map", f"{name}.html", "-o", f"{name}.klens")
        sources = ("src/good.cl", "bad.cl", "bad2.cl")
        done = kernlens("sweep", *sources, "--device", "skl,dg2", "-D", "N=2", "--build-options", "-I ../headers", *files,
                        "--json", *words)  # fmt: skip
        return (
            done,
            Path(f"{name}.csv").read_bytes(),
            Path(f"{name}.html").read_bytes(),
            _lines(kernlens, f"{name}.klens"),
        )

    here = swept("here")
    assert here[0].status == 3, here[0].err
    assert "bad.cl does not compile for dg2: use of undeclared identifier 'y' at wrong.h:1:23\n" in here[0].err
    assert f"'z' at {folder}/headers/wrong2.h:2:23\n" in here[0].err
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(worker(scheduler, "noting"))
        there = swept("there", "--scheduler", scheduler)
    assert there == here
    assert here[0].out.count('"kernel":"k"') == 2
    assert f"{folder}/headers/far.h" in json.dumps(here[3])
    compiled = [line for line in (folder / "noting/log").read_text().splitlines() if " -file " in line]
    assert len(compiled) == 6
    assert "builtins eval" in pickles
    assert not any("kernlens" in name for name in pickles)


def _pickles(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the set that gets the name of each class and function in a pickle that Dask writes or reads here."""
    from distributed.protocol import pickle

    names: set[str] = set()

    def note(content: Any) -> None:
        texts: list[str] = []
        memo: list[str] = []
        text = ""
        for operation, argument, _ in pickletools.genops(bytes(content)):
            if operation.name == "STACK_GLOBAL":
                names.add(" ".join(texts[-2:]))
            if operation.name == "MEMOIZE":
                memo.append(text)
            text = memo[int(argument or 0)] if operation.name in ("BINGET", "LONG_BINGET") else ""
            text = argument if isinstance(argument, str) else text
            texts += [text] if text else []

    loads, dumps = pickle.loads, pickle.dumps

    def noted_loads(content: Any, *arguments: Any, **words: Any) -> Any:
        note(content)
        return loads(content, *arguments, **words)

    def noted_dumps(*arguments: Any, **words: Any) -> Any:
        content = dumps(*arguments, **words)
        note(content)
        return content

    monkeypatch.setattr(pickle, "loads", noted_loads)
    monkeypatch.setattr(pickle, "dumps", noted_dumps)
    return names


def _lines(kernlens: Kernlens, recording: str) -> dict[str, Any]:
    done = kernlens("annotate", recording, "--json")
    assert done.status == 0, done.err
    # The compiler gets the source's folder by another name, and the header's is without "..".
    text = done.out.replace(' -I src"', f' -I {Path.cwd()}/src"').replace("/project/../headers/", "/headers/")
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.mark.parametrize(
    ("state", "variables", "reason"),
    [
        ("other version", {}, "kernlens is 0.0.1 there, not "),
        ("without kernlens", {}, "a worker failed: ModuleNotFoundError: "),
        ("", {"IGC_EnableZEBinary": "1"}, "the variable IGC_EnableZEBinary is 1 there, not set"),
        ("", {"PATH": "/nowhere"}, "the toolchain system is NEO unknown"),
    ],
)
@pytest.mark.usefixtures("copying")
def test_a_worker_of_another_kind_says_so_in_its_rows(
    state: str, variables: dict[str, str], reason: str, scheduler: str, worker: Worker, kernlens: Kernlens
) -> None:
    with worker(scheduler, state=state, **variables):
        done = kernlens(*MANY[:5], "A=1,2", "--json", "--scheduler", scheduler)
    assert done.status == 3
    assert [reason in row["reason"] for row in json.loads(done.out)["rows"]] == [True, True], done.err


@pytest.mark.usefixtures("copying")
def test_a_worker_that_dies_loses_and_doubles_nothing(
    scheduler: str, worker: Worker, folder: Path, kernlens: Kernlens
) -> None:
    here = kernlens(*MANY, "--csv", "here.csv")
    with worker(scheduler, "slow") as (dying, _), worker(scheduler, "slow"), _at(folder / "slow/log", 10, dying.kill):
        there = kernlens(*MANY, "--csv", "there.csv", "--scheduler", scheduler)
    assert there == here
    assert Path("there.csv").read_bytes() == Path("here.csv").read_bytes()


@contextmanager
def _at(log: Path, count: int, act: Callable[[], object]) -> Iterator[None]:
    """Act when so many compiles have begun."""
    log.unlink(missing_ok=True)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            if log.exists() and log.read_text().count("\n") >= count:
                act()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.usefixtures("copying")
def test_a_scheduler_that_dies_leaves_what_was_done(
    worker: Worker, folder: Path, tmp_path: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = kernlens(*MANY, "--csv", "here.csv")
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    words = (*MANY, "--csv", "there.csv", "--scheduler")
    log = folder / "slow/log"
    with running(run_scheduler, {}) as (process, address), worker(address, "slow"), _at(log, 15, process.kill):
        there = kernlens(*words, address)
    done = len(json.loads(there.out)["rows"])
    assert 0 < done < 25
    assert there.status == 3
    assert there.err == (
        f"kernlens: the scheduler at {address} has stopped: restart it and repeat the command, which continues"
        f" ({done} of 25 compiles are done)\n"
    )
    rows = Path("here.csv").read_text().splitlines()
    partial = Path("there.csv").read_text().splitlines()
    assert len(partial) == done + 1
    assert set(partial) < set(rows)
    log.unlink()
    with running(run_scheduler, {}) as (_, address), worker(address, "slow"):
        assert kernlens(*words, address) == here
    assert Path("there.csv").read_text().splitlines() == rows
    assert log.read_text().count("\n") == 25 - done


@pytest.mark.usefixtures("copying")
def test_a_cluster_that_grows_with_its_work(kernlens: Kernlens) -> None:
    here = kernlens(*MANY)
    with running(run_adaptive, 1) as (_, address):
        there = kernlens(*MANY, "--scheduler", address)
    assert (there.status, there.out) == (0, here.out), there.err


def test_a_scheduler_file_and_tls(
    worker: Worker, tmp_path: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch, copying: None
) -> None:
    """The certificates are those of Dask's own configuration."""
    import dask

    certificate = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subprocess.run(
        [*certificate, "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    tls = {"distributed.comm.tls.ca-file": cert}
    for role in ("client", "scheduler", "worker"):
        tls |= {f"distributed.comm.tls.{role}.cert": cert, f"distributed.comm.tls.{role}.key": key}
    file = tmp_path / "scheduler.json"
    words = {"protocol": "tls", "scheduler_file": str(file), "config": tls}
    with running(run_scheduler, words) as (_, address), worker(address, words={"config": tls}):
        done = kernlens(*MANY, "--scheduler", file)
        assert done.status == 3
        assert f"no Dask scheduler answers at {address} (" in done.err
        assert "are distributed.comm.tls.* set in Dask's configuration?" in done.err
        with dask.config.set(tls):
            done = kernlens(*MANY, "--scheduler", file)
    assert (done.status, done.err) == (0, "")
    assert address.startswith("tls://")
    file.write_text('{"type": "other"}')
    done = kernlens(*MANY, "--scheduler", file)
    assert done.status == 2
    assert "is not a Dask scheduler file: 'dask scheduler --scheduler-file " in done.err


def test_without_workers_or_a_scheduler_the_next_step_is_named(scheduler: str, kernlens: Kernlens) -> None:
    words = ("sweep", "scale.cl", "--device", "dg2", "--csv", "none.csv", "--scheduler")
    done = kernlens(*words, scheduler, "--wait-workers", "0")
    assert (done.status, done.out) == (3, "")
    assert done.err.splitlines()[-1] == (
        f"kernlens: the scheduler at {scheduler} has had no workers for 0 s: start some ('dask worker {scheduler}') and"
        " repeat the command, which continues; --wait-workers SECONDS waits longer"
    )
    for address in ("tcp://127.0.0.1:9", "no address at all"):
        done = kernlens(*words, address)
        assert (done.status, done.out, done.err.count("\n")) == (3, "", 1), done.err
        assert f"no Dask scheduler answers at {address}" in done.err
        assert "start one with 'dask scheduler'" in done.err
    assert not Path("none.csv").exists()

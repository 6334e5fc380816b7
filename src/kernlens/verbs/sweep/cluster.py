"""The cells of a sweep on a Dask cluster: the same work, in the processes of its workers.

A worker compiles the same files, by the same paths, with a toolchain of the same name; before each cell it makes sure that
these are the same in fact, as a figure under a wrong name is worse than none. When a worker dies, the scheduler has another
do its cells again. A result counts when it has come here, once for each cell, whoever made it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens import __version__
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.toolchain.compile_cache import open_cache
from kernlens.toolchain.compile_keys import contents_read, steering_variables
from kernlens.toolchain.includes import include_folders, join_options, split_options
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, failed, measured

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds to wait for the scheduler's first answer, for a first worker, and for another when all have gone.
_ANSWER = 5.0
_FIRST_WORKER = 10.0
_NEXT_WORKER = 60.0
#: Seconds between two looks at whether there are workers.
_LOOK = 2.0


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a worker: kernlens, the variables that steer compilers, and the contents of the source's files
    (None: unknown without compiling)."""

    version: str
    variables: dict[str, str]
    contents: str | None


def measure_on_cluster(address: str, cells: Sequence[Cell], request: Wanted, *, has_cache: bool) -> Generator[Measured]:
    """Do the cells on the workers of the scheduler at ``address``, and yield what came of each as it finishes.

    Raises UnsupportedError without the package distributed, ToolError if no scheduler answers, or there are no workers.
    """
    try:
        import distributed
    except ImportError as error:
        raise UnsupportedError(
            "--scheduler needs Dask's package distributed: pip install distributed, here and for the workers"
        ) from error
    with _connected(address) as client:
        waiting = iter(cells)
        pending: dict[Future, Cell] = {}
        last_seen = time.monotonic()
        while True:
            # Few more than run: what waits here is not lost with a worker, and costs the scheduler nothing.
            room = 4 * max(sum(client.nthreads().values()), 1) - len(pending)
            for cell in islice(waiting, max(room, 0)):
                pending[_submitted(client, cell, request, has_cache)] = cell
            if not pending:
                return
            try:
                with client.as_current():
                    done = distributed.wait(list(pending), timeout=_LOOK, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            except Exception as error:
                raise _gone(address) from error
            for future in done:
                yield _result(future, pending.pop(future), address)
                future.release()
            if done or client.nthreads():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > _NEXT_WORKER:
                raise ToolError(
                    f"the scheduler at {address} has had no workers for {_NEXT_WORKER:.0f} s: start some ('dask worker"
                    f" {address}') and repeat the command, which resumes from their caches"
                )


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler. Its log would tell of each worker that goes; what matters of that is an error here."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        for name in ("distributed", "distributed.client"):
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        try:
            get_address_host_port(address)  # A client that was given something else does not end as it should.
            client = stack.enter_context(Client(address, timeout=_ANSWER, set_as_default=False))
        except (OSError, ValueError, TypeError) as error:
            raise ToolError(
                f"no Dask scheduler answers at {address} ({_first_line(error)}): start one with 'dask scheduler', or leave"
                " --scheduler out to use this machine"
            ) from error
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError as error:
            raise ToolError(
                f"the scheduler at {address} has no workers: start some with 'dask worker {address}'"
            ) from error
        yield client


def _submitted(client: Client, cell: Cell, request: Wanted, has_cache: bool) -> Future:
    job = cell.job
    conditions = _Conditions(__version__, _variables(), contents_read(job.source, job.options))
    # A worker has another working folder.
    remote = replace(job, source=Path(os.path.abspath(job.source)), options=_absolute(job.options))
    return client.submit(_measured_remotely, replace(cell, job=remote), request, conditions, has_cache, pure=False)


def _measured_remotely(cell: Cell, request: Wanted, conditions: _Conditions, has_cache: bool) -> Measured:
    """Measure a cell on a worker; the result is a failed one if the conditions differ there."""
    try:
        reason = _difference(cell, conditions)
    except KernlensError as error:
        reason = str(error)
    if reason:
        return failed(cell, f"on a worker at {os.uname().nodename}: {reason}")
    own = replace(cell, job=replace(cell.job, toolchain=toolchain(cell.job.toolchain.name)))
    try:
        cache = open_cache() if has_cache else None
    except KernlensError as error:
        return failed(cell, f"on a worker at {os.uname().nodename}: {error}")
    return measured(own, request, cache, lambda child: None)


def _difference(cell: Cell, conditions: _Conditions) -> str:
    """Return what is not the same here as where the sweep was started; empty if nothing is."""
    if conditions.version != __version__:
        return f"kernlens is {__version__} there, not {conditions.version}: install the same"
    job = cell.job
    own = toolchain(job.toolchain.name)
    if own.title != job.toolchain.title:
        return f"the toolchain {own.name} is {own.title} there, not {job.toolchain.title}: install the same"
    if _variables() != conditions.variables:
        names = sorted({name for name, _ in _variables().items() ^ conditions.variables.items()})
        return f"other variables that steer the compiler are set there: {', '.join(names)}"
    if conditions.contents is not None and contents_read(job.source, job.options) != conditions.contents:
        return (
            f"{job.source}, or what it includes, is not there, or another file: workers read the same paths, and"
            " folders of headers must be named with -I"
        )
    return ""


def _variables() -> dict[str, str]:
    try:
        return {name: value for name, value in steering_variables().items() if not name.startswith("LD_")}
    except ValueError as error:
        raise KernlensError(f"the compiler would do more than compile on a cluster, as {error}: unset it") from error


def _absolute(options: str) -> str:
    """Return the options with the folders of -I in full, which a worker with another working folder finds too."""
    if all(map(os.path.isabs, include_folders(options))):
        return options
    words, rest = [], iter(split_options(options))
    for word in rest:
        folder = word[2:] or next(rest, "") if word.startswith("-I") else None
        words.append(word if folder is None else f"-I{os.path.abspath(folder)}")
    return join_options(words)


def _result(future: Future, cell: Cell, address: str) -> Measured:
    from distributed import CancelledError, KilledWorker

    try:
        result: Measured = future.result()
    except KilledWorker:
        return failed(cell, "each of the workers that tried it died; kernlens compile tries it here")
    except CancelledError as error:
        raise _gone(address) from error
    except Exception as error:  # A worker that cannot import kernlens, for one.
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return failed(cell, f"a worker failed: {type(cause).__name__}: {_first_line(cause)}")
    return result


def _gone(address: str) -> ToolError:
    return ToolError(
        f"the scheduler at {address} has stopped: restart it and repeat the command, which resumes from the workers' caches"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

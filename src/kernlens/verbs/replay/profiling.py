"""A launch that runs again under a profiler, which stands around the confined child and is not confined itself."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from kernlens.errors import ArgumentError, ToolError
from kernlens.runtime.driver_environment import DriverEnvironment, package_folder
from kernlens.runtime.isolation import IsolatedDriver, answer_of_job, job_line
from kernlens.toolchain.confinement import Confinement, confinement
from kernlens.toolchain.ncu_report import NCU, ncu_path
from kernlens.toolchain.process import Completed, missing, run
from kernlens.toolchain.shown_files import COMPLAINT, FAILED
from kernlens.toolchain.sources.source_reading import read_beside

#: Bytes of an answer, which has no contents of memory.
_MOST_BYTES = 64 << 20


def profiler_words(command: str) -> list[str]:
    """Return the words of a profiler's command. Raises ArgumentError if they are none, ToolError if it is not here."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"--profile {command!r} is no command: {error}") from error
    if not words:
        raise ArgumentError("--profile needs a command, such as perf stat")
    if words == [NCU]:
        ncu_path()
    if shutil.which(words[0]) is None:
        raise ToolError(missing(words[0]), command=command)
    return words


def run_under(
    profiler: Sequence[str], driver: IsolatedDriver, folder: Path, api: str, request: str, /, **arguments: Any
) -> tuple[Any, Completed]:
    """Have a worker of its own answer a request, started by a profiler's command; return the answer and how that ended. The
    profiler works where kernlens does, so that its files are there. Raises the worker's error, and ToolError if there is no
    answer or the profiler failed."""
    driver.close()  # Two processes with the launch's memory may be too many for the device.
    refuse_traps(driver)  # Nothing runs now that could lay another before these are written.
    job, answer = folder / "job", folder / "answer"
    job.write_bytes(job_line(api, request, arguments))
    answer.unlink(missing_ok=True)
    worker = (*driver.environment.python, "-m", "kernlens.runtime.worker", str(job), str(answer))
    words = [*profiler, *_with_variables(driver.environment, folder), *worker]
    confined = confinement()
    with nullcontext() if confined is None else Confinement(str(folder), confined.limits):
        done = run(words, timeout=driver.time_limit, cwd=os.getcwd())
    refuse_traps(driver)
    result = answer_of_job(read_beside(answer, folder, _MOST_BYTES)) if answer.exists() else None
    if result is None or not done.ok:
        raise ToolError(
            _failed(profiler[0], done, has_run=result is not None), command=" ".join(profiler), log=done.log
        )
    return result, done


def refuse_traps(driver: IsolatedDriver) -> None:
    """Raise ToolError if the child left what its files must not be read for."""
    confined = confinement()
    if confined is not None and (trap := confined.trap()) is not None:
        raise ToolError(f"the driver of {driver.environment.device} {trap} so kernlens discards its output")


def _failed(program: str, done: Completed, *, has_run: bool) -> str:
    """Return the sentence on a profiler that failed."""
    name, lines = os.path.basename(program), [line.strip() for line in done.log.splitlines() if line.strip()]
    if done.returncode == FAILED and (refused := next((each for each in lines if each.startswith(COMPLAINT)), None)):
        return (
            f"the launch cannot be confined under {name} ({refused.removeprefix(COMPLAINT)}): for a recording that you trust,"
            " add --unconfined"
        )
    when = "after the launch had run" if has_run else "before the launch had run"
    return f"{name} {done.ending} {when}: {lines[-1] if lines else 'it printed nothing'}"


def _with_variables(environment: DriverEnvironment, folder: Path) -> list[str]:
    """Return the words that give a worker its variables, and keep those that the profiler adds for it."""
    variables: Mapping[str, str] = environment.full_environment(str(package_folder()))
    removed = [word for name in os.environ if name not in variables for word in ("-u", name)]
    changed = [f"{name}={value}" for name, value in variables.items() if os.environ.get(name) != value]
    return ["env", f"--chdir={folder}", *removed, *changed]

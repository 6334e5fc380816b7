"""The command line as a process of its own, forked from one that has imported it: start-up is half of a short command."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from tests.documents import check_printed

#: What each fork has from the start. The command's own modules hold no state of a run before ``main`` is called.
IMPORTED = ("kernlens.cli.main", "kernlens.cli.annotate", "kernlens.cli.compile", "kernlens.isa.intel.decode")
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, *IMPORTED])


def kernlens(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``kernlens``, and return what it printed and its status, which is negative where a signal ended it."""
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        where = cwd or Path.cwd()
        process = _FORKS.Process(target=_run, args=(words, where, os.environ | environment, _shared(out), _shared(err)))
        process.start()
        process.join(600)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, 600)
        done = subprocess.CompletedProcess(words, process.exitcode, _text(out), _text(err))
    check_printed(arguments, done.stdout)
    return done


def _shared(file: IO[bytes]) -> str:
    """Return a path under which the file, which has no name, is opened by the fork."""
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(words: list[str], where: Path, environment: dict[str, str], out: str, err: str) -> None:
    from kernlens.cli.main import main

    for number, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.chdir(where)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["kernlens", *words]
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out

"""The trials that the OpenCL layer must bear without harm to the application: forks, threads, limits, and being killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.integration.layers.opencl_layer_fixtures import Platform, passed

#: No file of a process may become larger.
FILE_SIZE = 16 * 1024
_PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Amount:
    """The number of children that are forked while two threads request, and of threads that build with requests."""

    children: int
    threads: int


WHOLE = Amount(children=600, threads=16)
BRIEF = Amount(children=4, threads=3)
#: How snapshots are had while it is tried; the last words of the trials' names, and the first of the third.
WAYS = ("its own build", "second builds", "kill -9")


def limited(platform: Platform, size: int) -> Platform:
    """Return the platform, on which no file of the process may become larger."""
    return replace(platform, prefix=(*platform.prefix, "prlimit", f"--fsize={size}", "--core=0"))


def trials(platform: Platform, place: Path, folder: Path, amount: Amount) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is tried, and the function that tries it: each fails by an AssertionError. The layer lies in ``place``."""
    for own_build, how in (("1", WAYS[0]), ("0", WAYS[1])):
        run = partial(platform.run, place, KERNLENS_SNAPSHOT_OWN_BUILD=own_build)
        yield f"{amount.children} forks, {how}", partial(_pass, run, "forks", str(amount.children))
        yield f"{amount.threads} threads, {how}", partial(_pass, run, "threads", str(amount.threads))
        # PoCL's own builds need larger files: there the driver refuses, after the layer has done its part.
        build = ["refused"] if platform.name == "PoCL" else []
        small = partial(limited(platform, FILE_SIZE).run, place, KERNLENS_SNAPSHOT_OWN_BUILD=own_build)
        yield f"files of {FILE_SIZE} bytes, {how}", partial(_pass, small, "limited", platform.late, *build)
    yield f"{WAYS[2]} and a later run", partial(_be_killed, platform, place, folder)


def _pass(run: Callable[..., object], *arguments: str) -> None:
    passed(run(*arguments))  # type: ignore[arg-type]


def _be_killed(platform: Platform, place: Path, folder: Path) -> None:
    """Check that of a process that is killed as soon as it has a folder there is none after one later run."""
    folders = folder / "folders"
    folders.mkdir()
    result = platform.run(place, "killed", str(folders), KERNLENS_SNAPSHOT_DIR=str(folders))
    assert result.returncode == -signal.SIGKILL, result.stdout
    passed(platform.run(place, "limited", "source", KERNLENS_SNAPSHOT_DIR=str(folders)))
    # A second build of the killed process may be at its end, and removes what it has itself.
    for _ in range(_PATIENCE):
        if not list(folders.iterdir()):
            break
        time.sleep(0.1)
    assert not list(folders.iterdir())
    folders.rmdir()

"""``kernlens serve``: the explorer, as a page that this machine's browser shows."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.output import Progress, finish_output, print_json, print_lines, print_traceback
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.processors import processors

if TYPE_CHECKING:
    from kernlens.explorer.served import Served
    from kernlens.toolchain.confinement import Limits

#: What the server is made with; the extra ``serve`` has it.
_NEEDED = ("starlette", "uvicorn")


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths()
    port: int = option.number("Port to listen on.  [default: any free port]", "--port", most=65535, default=0)
    idle: float = option.number(
        "Exit after this many seconds without a request (0: never).", "--idle-timeout", metavar="SECONDS", default=0
    )
    no_browser: bool = option.flag("Print the address without opening a browser.", "--no-browser")
    jobs: int | None = option.number(
        "Number of parallel compiles.  [default: number of cores - 1]", "--jobs", least=1, most=64
    )
    timeout: float = option.number(
        "Time limit of each compile.",
        "--timeout",
        least=0.1,
        most=3600,
        metavar="SECONDS",
        default=60,
        show_default=True,
    )
    toolchains: list[str] = option.toolchains(
        "Toolchains that the page offers; the first one compiles the sources in PATHS.  [default: all]", default=None
    )
    device: str | None = option.device("Target device for the sources in PATHS; all: every device of the toolchain.")
    options: str = option.build_options("Build options for the sources in PATHS, added to -gline-tables-only.")
    include: tuple[str, ...] = option.folders("Let compiles include files from this folder", "--include")
    source_roots: tuple[str, ...] = option.source_root()
    is_own: bool = option.own_lines()
    samples: str | None = option.samples()
    unconfined: bool = option.unconfined()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens serve blur.klens")
def command(asked: Asked) -> None:
    """Show programs in the browser: source, stages and machine code side by side. Edit the source there and recompile.

    PATH is a file with kernels, or with --device a source or a folder of sources. Only you can open the page: the server
    listens on this machine only, and every request needs the token in the printed address. Ctrl-C stops the server.
    """
    _check_installed()
    from kernlens.explorer.app import Explorer
    from kernlens.explorer.browser import open_browser
    from kernlens.explorer.server import Server, listening
    from kernlens.toolchain.confinement import Limits
    from kernlens.toolchain.swept_folder import swept_folder
    from kernlens.toolchain.toolchains import toolchain

    for name in asked.toolchains:
        toolchain(name)  # which says what there is, if it is none
    limits = Limits(seconds=asked.timeout)
    with listening(asked.port) as listener, swept_folder() as folder:
        served = _served(asked, limits)
        explorer = Explorer(
            served,
            jobs=asked.jobs or max(1, processors() - 1),
            limits=limits,
            toolchains=asked.toolchains,
            on_fault=_tell_fault,
            unconfined=asked.unconfined,
        )
        server = Server(explorer, listener, idle=asked.idle, on_fault=_tell_fault)

        def tell_ready() -> None:
            title = served.document.index["title"]
            if asked.as_json:
                print_json({"schema": 1, "title": title, "address": server.address})
            else:
                print_lines([f"{title} is at {server.address}", "Ctrl-C ends the server."])
            finish_output()
            if not asked.no_browser:
                open_browser(server.address, folder)

        ended_by = server.run(tell_ready)
    if ended_by is None:
        tell(f"no request for {asked.idle:g} seconds: the server has stopped")
    elif ended_by == signal.SIGINT:
        tell("the server has stopped")
    else:
        signal.raise_signal(ended_by)


def _served(asked: Asked, limits: Limits) -> Served:
    from kernlens.cli.samples import read_samples, tell_unmatched
    from kernlens.explorer.served import SourceBuild, open_served
    from kernlens.toolchain.toolchains import DEFAULT

    sampled = read_samples(asked.samples)
    with Progress("opening", quiet=asked.as_json, later=True) as progress:
        served = open_served(
            asked.paths,
            source_build=SourceBuild(asked.device, asked.toolchains[0] if asked.toolchains else DEFAULT, asked.options),
            include=asked.include,
            limits=limits,
            source_roots=asked.source_roots,
            own_roots=option.own_roots(asked.source_roots),
            is_own=asked.is_own,
            sampled=sampled,
            unconfined=asked.unconfined,
            on_progress=progress.show,
        )
    if sampled is not None:
        tell_unmatched(asked.samples, sampled, served.programs)
    return served


def _tell_fault(error: BaseException) -> None:
    tell(f"a fault of kernlens itself, please report it: {type(error).__name__}: {error}")
    print_traceback(error)


def _check_installed() -> None:
    from importlib.util import find_spec

    missing: Sequence[str] = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UnsupportedError(f"kernlens serve needs {' and '.join(missing)}: pip install {' '.join(missing)}")

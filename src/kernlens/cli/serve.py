"""``kernlens serve``: the explorer, as a page that this machine's browser shows."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import click

from kernlens.cli import option
from kernlens.cli.output import Progress, finish_output, print_json, print_lines, print_message, print_traceback
from kernlens.errors import UnsupportedError
from kernlens.processors import processors

#: What the server is made with; the extra ``serve`` has it.
_NEEDED = ("starlette", "uvicorn")


@option.verb("kernlens serve blur.klens", rules=[option.SAMPLES_DEVICE])
@option.paths()
@option.value(
    "Port to listen on.  [default: any free port]", "--port", type=click.IntRange(0, 65535), default=0, metavar="N"
)
@option.value(
    "Exit after this many seconds without a request (0: never).",
    "--idle-timeout",
    "idle",
    cls=option.RenamedOption,
    former=("--idle",),
    type=click.FloatRange(0),
    default=0,
    metavar="SECONDS",
)
@option.flag("Print the address without opening a browser.", "--no-browser")
@option.value(
    "Number of parallel compiles.  [default: number of cores - 1]", "--jobs", type=click.IntRange(1, 64), metavar="N"
)
@option.value(
    "Time limit of each compile.",
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
)
@option.toolchain(
    "Toolchains that the page offers; the first one compiles the sources in PATHS.  [default: all]",
    several=True,
    default=None,
)
@option.device("Target device for the sources in PATHS; all: every device of the toolchain.")
@option.build_options("Build options for the sources in PATHS, added to -gline-tables-only.")
@option.folders("Let compiles include files from this folder", "--include")
@option.source_root()
@option.own_lines()
@option.samples
@option.unconfined()
@option.json()
def command(
    paths: tuple[str, ...],
    port: int,
    idle: float,
    no_browser: bool,
    jobs: int | None,
    timeout: float,
    toolchains: list[str],
    device: str | None,
    options: str,
    include: tuple[str, ...],
    source_roots: tuple[str, ...],
    is_own: bool,
    samples: str | None,
    samples_device: int | None,
    unconfined: bool,
    as_json: bool,
) -> None:
    """Show programs in the browser: source, stages and machine code side by side. Edit the source there and recompile.

    PATH is a file with kernels, or with --device a source or a folder of sources. Only you can open the page: the server
    listens on this machine only, and every request needs the token in the printed address. Ctrl-C stops the server.
    """
    _check_installed()
    from kernlens.cli.samples import read_samples, tell_unmatched
    from kernlens.explorer.app import Explorer
    from kernlens.explorer.browser import open_browser
    from kernlens.explorer.served import SourceBuild, open_served
    from kernlens.explorer.server import Server, listening
    from kernlens.toolchain.confinement import Limits
    from kernlens.toolchain.swept_folder import swept_folder
    from kernlens.toolchain.toolchains import DEFAULT, toolchain

    for name in toolchains:
        toolchain(name)  # which says what there is, if it is none
    limits = Limits(seconds=timeout)
    sampled = read_samples(samples, samples_device)
    build = SourceBuild(device, toolchains[0] if toolchains else DEFAULT, options)
    listener = listening(port)
    with listener, swept_folder() as folder:
        with Progress("opening", quiet=as_json, later=True) as progress:
            served = open_served(
                paths,
                source_build=build,
                include=include,
                limits=limits,
                source_roots=source_roots,
                own_roots=option.own_roots(source_roots),
                is_own=is_own,
                sampled=sampled,
                unconfined=unconfined,
                on_progress=progress.show,
            )
        if sampled is not None:
            tell_unmatched(samples, sampled, served.programs)

        def tell_fault(error: BaseException) -> None:
            print_message(f"kernlens: a fault of kernlens itself, please report it: {type(error).__name__}: {error}")
            print_traceback(error)

        explorer = Explorer(
            served,
            jobs=jobs or max(1, processors() - 1),
            limits=limits,
            toolchains=toolchains,
            on_fault=tell_fault,
            unconfined=unconfined,
        )
        server = Server(explorer, listener, idle=idle, on_fault=tell_fault)

        def tell_ready() -> None:
            title = served.document.index["title"]
            if as_json:
                print_json({"schema": 1, "title": title, "address": server.address})
            else:
                print_lines([f"{title} is at {server.address}", "Ctrl-C ends the server."])
            finish_output()
            if not no_browser:
                open_browser(server.address, folder)

        ended_by = server.run(tell_ready)
    if ended_by is None:
        print_message(f"kernlens: no request for {idle:g} seconds: the server has stopped")
    elif ended_by == signal.SIGINT:
        print_message("kernlens: the server has stopped")
    else:
        signal.raise_signal(ended_by)


def _check_installed() -> None:
    from importlib.util import find_spec

    missing: Sequence[str] = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UnsupportedError(f"kernlens serve needs {' and '.join(missing)}: pip install {' '.join(missing)}")

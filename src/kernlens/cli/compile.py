"""``kernlens compile``: sources for devices, side by side, saved as a recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli.options import json_option, verb
from kernlens.model.figures import FIGURES, figures_of

if TYPE_CHECKING:
    from kernlens.compiling import Build
    from kernlens.report.table import Cell


@verb("kernlens compile blur.cl sharpen.cl --device skl,dg2,pvc --options -gline-tables-only -o blur.klens")
@click.argument("sources", nargs=-1, required=True, type=click.Path())
@click.option("--device", "devices", metavar="D,...", help="The devices to compile for.")
@click.option("--options", metavar="O", default="-gline-tables-only", show_default=True, help="Build options.")
@click.option(
    "--toolchain", metavar="T", default="system", show_default=True, help="Which compiler (kernlens toolchain list)."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="The recording, FIRST-SOURCE.klens if not given; with --library the folder to write to.",
)
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1), help="Compiles at a time; as many as processors if not given."
)
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(1), default=600.0, show_default=True, help="For each compile."
)
@click.option("--library", is_flag=True, help="Make modules that export functions and variables, for kernlens link.")
@click.option("--redact", type=click.Choice(["source"]), help="Leave source texts out of the recording.")
@json_option()
def command(
    sources: tuple[str, ...],
    devices: str | None,
    options: str,
    toolchain: str,
    output: str | None,
    jobs: int | None,
    timeout: float,
    library: bool,
    redact: str | None,
    as_json: bool,
) -> None:
    """Compile OpenCL C or SPIR-V for one or several devices: a table kernel by device, and a recording.

    A recording that exists under the output's name is replaced. With --library each OpenCL C source becomes SOURCE.spv
    and, for each device, SOURCE.DEVICE.bin, in which every function and variable that is not static is exported.
    """
    if library:
        from kernlens.cli.compile_library import compile_modules

        sys.exit(compile_modules(sources, _names(devices), options, toolchain, output, timeout, as_json))
    if not devices:
        raise click.UsageError("--device is missing; kernlens devices lists what can be compiled for")
    from kernlens.compiling import build

    recording = Path(output or Path(sources[0]).with_suffix(".klens").name)
    builds = []
    with _Progress(quiet=as_json) as progress:
        for one in build(
            sources,
            _names(devices),
            options=options,
            toolchain=toolchain,
            recording=recording,
            redact_source=redact == "source",
            workers=jobs,
            timeout=timeout,
            on_progress=progress.show,
            command_line=sys.argv,
        ):
            builds.append(one)
    failed = [one for one in builds if not one.result.ok]
    if as_json:
        from kernlens.cli.output import print_json

        print_json(_document(recording, builds))
    else:
        _print(recording, builds)
    for one in failed:
        _print_failure(one)
    sys.exit(3 if failed else 0)


def _names(devices: str | None) -> list[str]:
    return [name for name in (devices or "").split(",") if name]


def _print(recording: Path, builds: list[Build]) -> None:
    from kernlens.cli.output import print_lines
    from kernlens.report.describe import plural
    from kernlens.report.table import table

    rows = [tuple(row.values()) for build in builds for row in _rows(build)]
    if rows:
        headings = ("kernel", "device", *(figure.heading for figure in FIGURES))
        print_lines(table(headings, sorted(rows, key=lambda row: (str(row[0]), str(row[1])))))
    kernels = sum(len(one.kernels) for one in builds)
    print_lines([f"{plural(len(builds), 'program')}, {plural(kernels, 'kernel')} recorded in {recording}"])


def _rows(build: Build) -> list[dict[str, Cell]]:
    """Each kernel's name, device and figures, by their keys in JSON."""
    return [
        {"name": kernel.name, "device": build.result.device, **figures_of(kernel, FIGURES)} for kernel in build.kernels
    ]


def _document(recording: Path, builds: list[Build]) -> dict[str, Any]:
    return {
        "schema": 1,
        "recording": str(recording),
        "programs": [
            {
                "name": one.result.name,
                "source": str(one.result.source),
                "device": one.result.device,
                "toolchain": one.result.toolchain.title,
                "ok": one.result.ok,
                "reason": one.result.reason,
                "seconds": round(one.result.seconds, 3),
                "kernels": _rows(one),
            }
            for one in builds
        ],
    }


def _print_failure(one: Build) -> None:
    """The compiler's errors, each with its source line and a mark under the column."""
    result = one.result
    click.echo(f"kernlens: {result.source} does not compile for {result.device}: {result.reason}", err=True)
    texts = {path: text.split("\n") for path, text in result.sources}
    for error in result.errors:
        if not error.path:
            continue
        click.echo(
            f"{error.path}:{error.line}:{error.column}: {click.style(error.severity, fg='red')}: {error.message}",
            err=True,
        )
        lines = texts.get(error.path, [])
        if 1 <= error.line <= len(lines):
            line = lines[error.line - 1]
            click.echo(f"  {line.expandtabs(4)}", err=True)
            click.echo(f"  {' ' * len(line[: max(error.column - 1, 0)].expandtabs(4))}^", err=True)


class _Progress:
    """A progress bar on a terminal's standard error; nothing where nobody watches."""

    def __init__(self, quiet: bool) -> None:
        self._bar: Any = None
        self._quiet = quiet or not sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        if not self._quiet:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("compiling", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, total: int, result: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=f"{result.name} for {result.device}")

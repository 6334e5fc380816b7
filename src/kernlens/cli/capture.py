"""``kernlens capture``: what an unmodified application builds and launches, in one recording."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import click

from kernlens.cli import completion
from kernlens.cli.options import toolchain_option, verb
from kernlens.cli.output import finish_output, print_message
from kernlens.cli.signals import EndedBySignal

if TYPE_CHECKING:
    from kernlens.capturing.capture import Capture
    from kernlens.capturing.merging import CapturedKernel
    from kernlens.report.table import Cell

#: The kernels that the table shows.
_ROWS = 20


@verb("kernlens capture --simulate dg2 -o clinfo.klens -- clinfo")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="The recording, APP.klens if not given.")
@click.option(
    "--simulate",
    "device",
    metavar="D",
    shell_complete=completion.devices,
    help="Simulate a device: nothing is computed (kernlens run).",
)
@toolchain_option("Whose driver builds.")
@click.option("--lines", is_flag=True, help="Add -gline-tables-only to what Intel's compiler for GPUs builds.")
@click.option(
    "--recover",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Make the recording of a capture that was killed.",
)
@click.argument("command_line", metavar="-- APP [ARG]...", nargs=-1, type=click.UNPROCESSED)
def command(
    output: str | None,
    device: str | None,
    toolchain: str,
    lines: bool,
    recover: str | None,
    command_line: tuple[str, ...],
) -> None:
    """Run an application, and record every program that it builds with OpenCL or Level Zero, and which kernels it launches.

    The recording holds sources, IL, options, logs, binaries and debug data, also of builds that failed. The application
    is not changed: its input, output, signals and exit status are what they are without. Standard error says at the end
    which kernels were launched most.
    """
    from kernlens.capturing.capture import capture
    from kernlens.capturing.capture import recover as recover_folder

    if (recover is None) == (not command_line):
        raise click.UsageError(
            "Missing argument '-- APP [ARG]...'" if recover is None else "--recover runs no application"
        )
    if recover is not None:
        _tell(recover_folder(recover, output), recover)
        return
    if device is not None:
        from kernlens.toolchain.simulation import EXPLANATION

        print_message(f"kernlens: {EXPLANATION}")
    finish_output()
    done = capture(
        command_line,
        output,
        simulate=device,
        toolchain=toolchain,
        lines=lines,
        prepare=_limit_files if device is not None else None,
    )
    _tell(done, command_line[0])
    _end_like(done.exit_status or 0)


def _limit_files() -> None:
    # A driver that dumps its command stream after all must not fill the disk.
    from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size

    limit_file_size(FILE_SIZE_LIMIT)


def _end_like(status: int) -> None:
    """End this process as the application ended."""
    if status >= 0:
        sys.exit(status)
    if -status not in set(signal.Signals):
        sys.exit(128 - status)
    if -status not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-status, signal.SIG_DFL)
    raise EndedBySignal(-status)


def _tell(done: Capture, application: str) -> None:
    from kernlens.report.describe import plural
    from kernlens.report.style import style

    for sentence in done.missing:
        print_message(f"kernlens: missing is {sentence}")
    if done.recording is None:
        print_message(f"kernlens: {application}: {done.reason}")
        return
    print_message(*_table(done.kernels[:_ROWS]))
    if len(done.kernels) > _ROWS:
        print_message(style(f"  and {plural(len(done.kernels) - _ROWS, 'more kernel')}", dim=True))
    failed = f", {done.failed} of them failed" if done.failed else ""
    launches = sum(kernel.launches for kernel in done.kernels)
    print_message(
        f"kernlens: {plural(done.builds, 'build')}{failed}, {plural(len(done.kernels), 'kernel')} and"
        f" {plural(launches, 'launch').replace('launchs', 'launches')} recorded in {done.recording}"
    )
    if done.from_binary:
        print_message(
            f"kernlens: {done.from_binary} of {plural(done.builds, 'build')} came from binaries, so their sources are not"
            " known; an empty cache of the application's shows them"
        )
    print_message(*_next_steps(done))


def _table(kernels: tuple[CapturedKernel, ...]) -> list[str]:
    from kernlens.model.figures import FIGURES
    from kernlens.report.table import table

    rows: list[list[Cell]] = [
        [
            kernel.name,
            kernel.build or None,
            kernel.device or None,
            kernel.launches,
            *(kernel.figures.get(figure.key) for figure in FIGURES),
            None if kernel.line_table is None else "yes" if kernel.line_table else "no",
        ]
        for kernel in kernels
    ]
    headings = ["kernel", "program", "device", "launches", *(figure.heading for figure in FIGURES), "lines"]
    return list(table(headings, rows)) if rows else []


def _next_steps(done: Capture) -> list[str]:
    import shlex

    recording = shlex.quote(str(done.recording))
    first = next((kernel for kernel in done.kernels if kernel.line_table is not None), None)
    if first is None:
        return [f"Next: kernlens extract {recording} -o DIR"]
    verb = "annotate" if first.line_table else "disasm"
    steps = [f"Next: kernlens {verb} {recording} --kernel {shlex.quote(first.name)}"]
    if not first.line_table:
        steps.append("      with source lines: the same capture with --lines")
    return steps

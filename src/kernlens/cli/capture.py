"""``kernlens capture``: what an unmodified application builds and launches, in one recording."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.answers.captured_table import kernel_table
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, finish_output, fit_output, print_json, print_message, print_pieces
from kernlens.cli.signals import EndedBySignal
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.figures import FIGURES
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.report.style import style
from kernlens.verbs.capture.chosen_launches import MOST_BYTES

if TYPE_CHECKING:
    from kernlens.analysis.start_here import Start
    from kernlens.verbs.capture.capture import Capture

#: The kernels that the table shows.
_ROWS = 20
#: The exit status where the application's is 0, but a replacement stood in for nothing.
_UNMATCHED = 2
#: The exit status where the application's is 0, but the interpreter saw faults, and --fail-on-faults was given.
_FAULTS = 1


_RULES = (
    Rule("--recover", excludes=("-- APP [ARG]...",), why="runs no application"),
    Rule(
        "--recover", why="takes what the application was captured with",
        excludes=("--simulate", "--lines", "--build-options", "--replace", "--fresh-cache", "--observe", "--time", "--launch"),
    ),
    Rule("--time", excludes=("--simulate", "--observe"), why="needs a device that runs kernels"),
    Rule("--observe", excludes=("--simulate",), why="runs kernels, which a simulated device does not"),
    Rule("--launch-bytes", needs=("--launch",)),
    *(Rule(name, needs=("--observe",)) for name in ("--device", "--seconds", "--fail-on-faults")),
)  # fmt: skip


class _Replacement(click.ParamType):  # type: ignore[type-arg]
    """A program and the file that takes its place."""

    name = "replacement"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        program, _, path = value.partition("=")
        if not program or not path:
            raise click.BadParameter(f"{value} is not of the form PROGRAM=FILE", ctx, param_hint="--replace")
        return program, path


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    output: str | None = option.file("Recording to write.  [default: APP.klens]", "-o", "--output")
    device: str | None = option.device(
        "Target device without hardware: the driver compiles for it, and no kernel executes.", "--simulate"
    )
    toolchain: str | None = option.toolchain(
        "Toolchain whose driver compiles.  [default: the machine's own drivers; with --simulate the default toolchain]",
        default=None,
    )
    lines: bool = option.flag(
        "Add -gline-tables-only to builds for Intel GPUs, -nv-line-info for NVIDIA's, -g on PoCL.", "--lines"
    )
    stages: bool = option.flag("Save the compile stages. kernlens rebuilds each program once for them.", "--stages")
    build_options: str = option.build_options("Append these options to builds from source or IL.")
    replacements: tuple[tuple[str, str], ...] = option.several(
        "Replace a program by this source, SPIR-V or binary. PROGRAM is its SHA-256, one of its kernels or one of its source"
        " files.",
        "--replace",
        metavar="PROGRAM=FILE",
        type=_Replacement(),
    )
    unconfined: bool = option.unconfined()
    fresh_cache: bool = option.flag(
        "Give the application empty driver and application caches, so that it compiles from source. --lines, --build-options"
        " and --replace imply it.",
        "--fresh-cache",
    )
    time: bool = option.flag("Have the device time each launch, and sort the kernels by it.", "--time")
    launches: tuple[str, ...] = option.several(
        "Keep launches of a kernel whole, for kernlens replay: the first (KERNEL), the N-th, the slowest, or each K-th. KERNEL"
        " is a name or a pattern.",
        "--launch",
        metavar="KERNEL[:N|:first|:slowest|:every=K]",
    )
    launch_bytes: int = option.number(
        "With --launch: bytes of memory that each process keeps, at most.",
        "--launch-bytes", least=1, metavar="BYTES", default=MOST_BYTES, show_default=True,
    )  # fmt: skip
    observe: bool = option.flag(
        "Run the application on Oclgrind, an interpreter, and record what each kernel does, line by line.", "--observe"
    )
    observed_device: str | None = option.device("With --observe: count and compile for this device.")
    seconds: float = option.number(
        "With --observe: seconds of each kernel that are counted.",
        "--seconds", least=1, metavar="SECONDS", default=20.0, show_default=True,
    )  # fmt: skip
    fail_on_faults: bool = option.flag(
        "With --observe: exit with status 1 if there is a fault and the application's status is 0.", "--fail-on-faults"
    )
    json_file: str | None = option.file("Also write the result as JSON.", "--json-file", dir_okay=False)
    recover: str | None = option.value(
        "Write the recording of a capture that was killed, from its capture directory.", "--recover", metavar="FOLDER",
        type=click.Path(file_okay=False),
    )  # fmt: skip
    full: None = option.full()
    as_json: bool = option.json()
    command_line: tuple[str, ...] = option.application()


@option.verb(Asked, "kernlens capture --simulate dg2 -o clinfo.klens -- clinfo", option.ApplicationCommand, _RULES)
def command(asked: Asked) -> None:
    """Run an application and record every program that it builds with OpenCL or Level Zero, and every kernel that it
    launches.

    The recording contains sources, IL, build options, logs, binaries and debug info, also of failed builds. The
    application keeps its input, output, signals and exit status. When it exits, kernlens prints its most launched
    kernels to stderr.
    """
    from kernlens.verbs.capture.capture import capture
    from kernlens.verbs.capture.capture import recover as recover_folder

    if asked.recover is None and not asked.command_line:
        context = click.get_current_context()
        (param,) = (param for param in context.command.params if param.name == "command_line")
        raise click.MissingParameter(ctx=context, param=param)
    with Progress("recording", later=True) as progress:
        if asked.recover is not None:
            done = recover_folder(
                asked.recover, asked.output, stages=asked.stages, unconfined=asked.unconfined, on_progress=progress.show
            )
        else:
            done = capture(
                asked.command_line,
                asked.output,
                simulate=asked.device,
                toolchain=asked.toolchain or "",
                lines=asked.lines,
                stages=asked.stages,
                build_options=asked.build_options,
                replace=dict(asked.replacements),
                fresh_cache=asked.fresh_cache,
                unconfined=asked.unconfined,
                time=asked.time,
                launches=asked.launches,
                launch_bytes=asked.launch_bytes,
                observe=asked.observe,
                device=asked.observed_device,
                seconds=asked.seconds,
                on_start=partial(_tell_start, asked.device),
                on_progress=progress.show,
            )
    if asked.recover is not None:
        _tell(done, asked.recover, is_observed=asked.observe)
        _give_answers(done, asked)
        return
    _tell_what_can_be_read(done, asked)
    _give_answers(done, asked)
    faulty = _FAULTS if asked.fail_on_faults and done.faults else 0
    _end_like(done.exit_status or (_UNMATCHED if done.unmatched else faulty))


def _tell_what_can_be_read(done: Capture, asked: Asked) -> None:
    try:
        _tell(done, asked.command_line[0], is_observed=asked.observe)
    except KernlensError as error:
        print_message(f"kernlens: {error}")  # The exit status is the application's, whatever can be told of it.


def _tell_start(device: str | None) -> None:
    if device is not None:
        from kernlens.toolchain.simulation import EXPLANATION

        print_message(f"kernlens: {EXPLANATION}")
    finish_output()


def _give_answers(done: Capture, asked: Asked) -> None:
    """Print and write what was asked for beside the recording. Report what cannot be written; the exit status stays. The
    last word is on replacements that stood in for nothing."""
    from kernlens.report.json_text import json_pieces

    try:
        if asked.json_file is not None:
            print_pieces([*json_pieces(_document(done, asked)), "\n"], asked.json_file)
        if asked.as_json:
            print_json(_document(done, asked))
            finish_output()  # The end by a signal would not.
    except KernlensError as error:
        print_message(f"kernlens: {error}")
    print_message(*(f"kernlens: {sentence}" for sentence in done.unmatched.values()))


def _document(done: Capture, asked: Asked) -> dict[str, Any]:
    from kernlens.cli.answers.behaviour_document import fault_document
    from kernlens.report.start_words import start_document

    is_known = asked.observe and done.recording is not None
    return {
        "schema": 1,
        "recording": str(done.recording) if done.recording is not None else None,
        "exit_status": done.exit_status,
        "builds": done.builds,
        "failed": done.failed,
        "from_binary": done.from_binary,
        "kernels": [
            {
                **kernel.document,
                "program": kernel.build or None,
                "device": kernel.device or None,
                **(dict.fromkeys(figure.key for figure in FIGURES) | kernel.figures),
                "line_table": kernel.line_table,
                "same_code": kernel.same_code,
            }
            for kernel in done.kernels
        ],
        "kept_launches": done.kept_launches,
        "missing": done.missing,
        "findings": done.findings,
        "unmatched": list(done.unmatched),
        **({"start_here": start_document(_start_here(done))} if is_known else {}),
        "faults": [{"kernel": kernel, **fault_document(fault)} for kernel, fault in done.faults],
        "reason": done.reason or None,
    }


def _end_like(status: int) -> None:
    """End this process as the application ended."""
    if status >= 0:
        sys.exit(status)
    if -status not in set(signal.Signals):
        sys.exit(128 - status)
    if -status not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-status, signal.SIG_DFL)
    raise EndedBySignal(-status)


def _tell(done: Capture, application: str, *, is_observed: bool) -> None:
    from collections import Counter

    from kernlens.report.describe import plural

    for sentence, count in Counter(done.missing).items():
        print_message(f"kernlens: missing is {sentence}{f' ({count} times)' if count > 1 else ''}")
    if done.recording is None:
        print_message(f"kernlens: {application}: {done.reason}")
        _tell_findings(done)
        return
    fit_output(is_message=True)
    print_message(*kernel_table(done.kernels[:_ROWS]))
    if len(done.kernels) > _ROWS:
        print_message(style(f"  and {plural(len(done.kernels) - _ROWS, 'more kernel')}", dim=True))
    some = "which" if done.builds == 1 else f"{done.failed} of them"
    failed = f", {some} failed" if done.failed else ""
    counted = [launches for kernel in done.kernels if (launches := kernel.known_launches) is not None]
    print_message(
        f"kernlens: {plural(done.builds, 'build')}{failed}, {plural(len(counted), 'kernel')} and"
        f" {plural(sum(counted), 'launch')} recorded in {done.recording}"
    )
    if done.kept_launches:
        print_message(
            f"kernlens: {plural(done.kept_launches, 'launch')} kept, with {done.kept_bytes:,} bytes of memory"
        )
    print_message(*_from_binaries(done))
    _tell_findings(done)
    if is_observed:
        _tell_start_here(done)
    print_message(*_next_steps(done, is_observed=is_observed))


def _tell_start_here(done: Capture) -> None:
    from kernlens.cli.answers.opening import opening_lines

    fit_output(is_message=True)
    print_message(*opening_lines(_start_here(done), least=1))


def _start_here(done: Capture) -> Start:
    """Return at which lines of what was recorded to start."""
    from kernlens.analysis.start_here import start_here
    from kernlens.loading import open_file
    from kernlens.verbs.programs import is_observed

    contents = open_file(str(done.recording))
    programs = contents.counted_code() if is_observed(contents) else ()
    return start_here((program, list(program.kernels.values())) for program in programs)


def _from_binaries(done: Capture) -> list[str]:
    """Return what is to be known of programs that came from binaries: of whose sources nothing is known, and of the others."""
    from kernlens.report.describe import plural

    told = []
    if foreign := done.from_binary - done.own_binaries:
        why = "its caches were empty, so it brings them along or keeps them elsewhere"
        told.append(
            f"kernlens: {foreign} of {plural(done.builds, 'program')} came from binaries, so their sources are not known;"
            f" {why if done.empty_caches else '--fresh-cache gives the application empty caches'}"
        )
    if own := done.own_binaries:
        told.append(
            f"kernlens: {own} of {plural(done.builds, 'program')} came from binaries that the application built in this run,"
            " whose sources are recorded"
        )
    return told


def _tell_faults(done: Capture) -> None:
    from kernlens.report.behaviour_words import fault_sentence, no_fault_words

    if done.is_counted and not done.faults:
        print_message(f"kernlens: {no_fault_words(done.missing)}; values that were never set were not looked for")
    for kernel, fault in done.faults[:_ROWS]:
        print_message(f"kernlens: {kernel}: {fault_sentence(fault)}")
    if len(done.faults) > _ROWS:
        print_message(f"kernlens: and {len(done.faults) - _ROWS:,} more faults, which the recording has")


def _tell_findings(done: Capture) -> None:
    _tell_faults(done)
    for finding in done.findings:
        if finding in done.unmatched.values():
            continue  # It is the last word.
        sentence, *log = finding.split("\n")
        print_message(f"kernlens: {sentence}", *log)


def _next_steps(done: Capture, *, is_observed: bool = False) -> list[str]:
    import shlex

    recording = shlex.quote(str(done.recording))
    read = (kernel for kernel in done.kernels if kernel.line_table is not None and kernel.name != PSEUDO_KERNEL)
    first = next(read, None)
    why = f"kernlens inspect {recording} says why builds failed"
    if first is None and not (is_observed and any(kernel.known_launches for kernel in done.kernels)):
        return [f"Next: {why}" if done.failed else f"Next: kernlens extract {recording} -o DIR"]
    if is_observed:
        return [f"Next: kernlens annotate {recording} --top 10 --sort {'moved' if first is None else 'excess'}"]
    assert first is not None
    verb = "annotate" if first.line_table else "disasm"
    steps = [f"Next: kernlens {verb} {recording} --kernel {shlex.quote(first.name)}"]
    alike = {kernel.build for kernel in done.kernels if kernel.name == first.name and kernel.build}
    if len(alike) > 1:
        steps.append(
            f"      {len(alike):,} programs have a kernel of this name; --program {shlex.quote(first.build)} shows one of them"
        )
    if not first.line_table and first.from_source and not done.lines:
        steps.append("      with source lines: the same capture with --lines")
    if done.kept_launches:
        steps.append(f"      kernlens replay {recording} --all-launches")
    if done.failed:
        steps.append(f"      {why}")
    return steps

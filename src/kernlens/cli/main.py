"""The ``kernlens`` command: finds the verb, runs it, turns errors into one sentence and an exit status."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING

import click

from kernlens import __version__
from kernlens.cli.options import diagnostic_options
from kernlens.cli.output import (
    drop_output,
    finish_output,
    prepare_output,
    print_message,
    print_traceback,
    print_usage_error,
)
from kernlens.cli.signals import EndedBySignal, end_by_signal, signals_that_unwind
from kernlens.errors import KernlensError, OutputError, nearest
from kernlens.log import VARIABLE, print_messages

if TYPE_CHECKING:
    from types import TracebackType

#: Exit statuses, which docs/exit_status.md explains; 1, the answer is no, comes from the verbs and from errors.
DONE, BAD_INPUT, FAILED, INTERRUPTED = 0, 2, 3, 130
#: Set by the shell functions that complete words.
_COMPLETION = "_KERNLENS_COMPLETE"

#: Verb -> what it answers. Each verb lives in the module ``kernlens.cli.VERB`` as the function ``command``; only the
#: one that is asked for gets imported, so that a short question gets a quick answer.
VERBS = {
    "annotate": "Source lines with the instructions they became, and back.",
    "compile": "Compile sources for devices: a table kernel by device, and a recording.",
    "devices": "Every known device, and how it can be had here.",
    "disasm": "Machine instructions.",
    "doctor": "What is installed, what works, and what fixes each gap.",
    "extract": "Every part of a file, as files.",
    "inspect": "What a file is: containers, kernels, resources, symbols.",
    "layer": "How to turn on the layer that gives C programs snapshots of compile stages.",
    "link": "Whether modules link, who provides what to whom, and why not; the linked module.",
    "run": "An application on a simulated device.",
    "stages": "A program at every stage of its compile, and one source line followed through all of them.",
    "symbols": "What modules export and import, and their relocations.",
    "toolchain": "Compilers and drivers side by side: list, add, remove.",
}


class VerbGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = import_module(f"kernlens.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            near = nearest(name, VERBS)
            meant = f"did you mean {' or '.join(near)}?" if near else "see kernlens --help"
            raise click.UsageError(f"there is no verb '{name}'; {meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@diagnostic_options
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel: from the source line to the machine instruction.

    \b
    Example:
      kernlens compile blur.cl --device dg2 --options -gline-tables-only -o blur.klens
      kernlens annotate blur.klens --kernel blur
    """


def main() -> None:
    """Entry point; ends with one of the statuses of docs/exit_status.md, or by the signal that ended it."""
    # A process that answers one question keeps nearly all it makes: looking for cycles takes a third of the time that a
    # library of 5,000 images needs, and finds none.
    gc.set_threshold(100_000, 20, 100)
    words = sys.argv[1:]
    stray = _tell_stray_errors(words)
    try:
        with signals_that_unwind():
            status = _status(words)
    except EndedBySignal as ended:
        end_by_signal(ended.number)
    sys.exit(FAILED if stray and status == DONE else status)


def _tell_stray_errors(words: list[str]) -> list[BaseException]:
    """From now on, tell errors that nobody can catch as all others are told, without the interpreter's traceback.

    These are errors that end a thread, errors of finalizers, and what is raised when ``main`` is over. Returns the list
    that holds those met so far: an answer during which there were any may lack something.
    """
    stray: list[BaseException] = []

    def tell(error: BaseException | None) -> None:
        if error is not None:
            stray.append(error)
            _tell(error, _is_debug(words))

    def tell_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        tell(error)

    def tell_of_thread(ended: threading.ExceptHookArgs) -> None:
        if not isinstance(ended.exc_value, SystemExit):  # which ends a thread, and nothing else
            tell(ended.exc_value)

    def tell_of_finalizer(ignored: sys.UnraisableHookArgs) -> None:
        tell(ignored.exc_value)

    sys.excepthook = tell_uncaught
    sys.unraisablehook = tell_of_finalizer
    threading.excepthook = tell_of_thread
    return stray


def _is_debug(words: list[str]) -> bool:
    return "--debug" in words[: words.index("--") if "--" in words else None]


def _status(words: list[str]) -> int:
    """Obey the command line and return the exit status; every error becomes a sentence here, and nowhere else."""
    try:
        prepare_output()
        status = _run(words)
        finish_output()
    except EndedBySignal:
        raise
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is wrong. Pipes to children are not met here.
        drop_output()
        return DONE
    except BaseException as error:
        with contextlib.suppress(OutputError, BrokenPipeError):
            finish_output()  # What was printed before comes first.
        status = _tell(error, _is_debug(words))
        _drop_if_unwritable()
    return status


def _run(words: list[str]) -> int:
    """Run the verb and return its exit status; click's own ``main`` would end with 1 when a pipe is closed."""
    _obey_variables(words)
    try:
        with kernlens.make_context("kernlens", list(words)) as context:
            kernlens.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else DONE
    return DONE


def _tell(error: BaseException, debug: bool) -> int:
    """Print what went wrong as one sentence, below its traceback if ``debug``, and return the exit status for it."""
    if debug and not isinstance(error, click.ClickException):
        print_traceback(error)
    match error:
        case KernlensError():
            print_message(f"kernlens: {error}")
            return error.exit_status
        case click.ClickException():
            print_usage_error(error)
            return BAD_INPUT
        case click.Abort() | KeyboardInterrupt():
            print_message("kernlens: interrupted")
            return INTERRUPTED
        case MemoryError():
            print_message("kernlens: the memory does not suffice for this; ask for less, or allow it more (ulimit -v)")
            return FAILED
        case OSError():
            where = f" ({error.filename})" if error.filename else ""
            print_message(f"kernlens: the system refused something{where}: {error.strerror or error}")
            return BAD_INPUT
        case _:
            what = f"{type(error).__name__}: {error}"
            print_message(f"kernlens: a fault of kernlens itself, please report it with what --debug prints: {what}")
            return FAILED


def _drop_if_unwritable() -> None:
    try:
        finish_output()
    except (OutputError, BrokenPipeError):
        drop_output()


def _obey_variables(words: list[str]) -> None:
    """Complete words for a shell if it asks for that, and turn messages on if KERNLENS_LOG asks for them."""
    instruction = os.environ.get(_COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(kernlens, {}, "kernlens", _COMPLETION, instruction))
    level = os.environ.get(VARIABLE, "")
    if level.lower() == "debug":
        print_messages(print_message)
    elif level:
        raise click.UsageError(f"{VARIABLE} is '{level}'; the only level there is is debug")

"""The ``kernlens`` command: runs the verb, turns errors into one sentence and an exit status.

``kernlens --version`` is answered before click is imported, which takes most of the time that a command needs to start.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING

from kernlens import __version__
from kernlens.cli.output import (
    drop_output,
    finish_output,
    prepare_output,
    print_lines,
    print_message,
    print_traceback,
    print_usage_error,
)
from kernlens.cli.signals import EndedBySignal, end_by_signal, signals_that_unwind
from kernlens.errors import KernlensError, OutputError
from kernlens.log import VARIABLE, print_messages

if TYPE_CHECKING:
    import click

#: Exit statuses, which docs/exit_status.md explains; 1, the answer is no, comes from the verbs and from errors.
DONE, BAD_INPUT, FAILED, INTERRUPTED = 0, 2, 3, 130
#: Set by the shell functions that complete words.
_COMPLETION = "_KERNLENS_COMPLETE"


def main() -> None:
    """End the process with one of the statuses of docs/exit_status.md, or by the signal that ended the verb."""
    # A process that answers one question keeps nearly all it makes: looking for cycles takes a third of the time that a
    # library of 5,000 images needs, and finds none.
    gc.set_threshold(100_000, 20, 100)
    # The end of the interpreter would look for them too, as long as a sixth of a short command.
    atexit.register(gc.freeze)
    words = sys.argv[1:]
    stray = _tell_stray_errors(words)
    try:
        with signals_that_unwind():
            status = _status(words)
    except EndedBySignal as ended:
        end_by_signal(ended.number)
    sys.exit(FAILED if stray and status == DONE else status)


def _tell_stray_errors(words: list[str]) -> list[BaseException]:
    """Report errors of threads, of finalizers and after ``main`` like all others from now on. Returns the list of those met
    so far: an answer during which there were any may lack something."""
    stray: list[BaseException] = []

    def tell(error: BaseException | None) -> None:
        if error is not None:
            stray.append(error)
            _tell(error, _is_debug(words))

    def tell_of_thread(ended: threading.ExceptHookArgs) -> None:
        if not isinstance(ended.exc_value, SystemExit):  # which ends a thread, and nothing else
            tell(ended.exc_value)

    sys.excepthook = lambda kind, error, traceback: tell(error)
    sys.unraisablehook = lambda ignored: tell(ignored.exc_value)
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
        try:
            finish_output()
        except (OutputError, BrokenPipeError):
            drop_output()
    return status


def _run(words: list[str]) -> int:
    """Run the verb and return its exit status; click's own ``main`` would end with 1 when a pipe is closed."""
    if words == ["--version"]:
        print_lines([f"kernlens {__version__}"])
        return DONE
    import gettext

    # For each of click's sentences folders would be searched for a translation that nobody has.
    translate, gettext.gettext = gettext.gettext, str  # type: ignore[assignment]
    import click

    from kernlens.cli.verb_group import kernlens

    gettext.gettext = translate
    try:
        _obey_variables(kernlens)
        with kernlens.make_context("kernlens", list(words)) as context:
            kernlens.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else DONE
    return DONE


def _tell(error: BaseException, debug: bool) -> int:
    """Print what went wrong as one sentence, below its traceback if ``debug``, and return the exit status for it."""
    usage = _usage_error(error)
    if usage is not None:
        print_usage_error(usage)
        return BAD_INPUT
    if debug:
        print_traceback(error)
    match error:
        case KernlensError():
            first, *others = error.lines
            print_message(f"kernlens: {first}", *others)
            return error.exit_status
        case KeyboardInterrupt():
            print_message("kernlens: interrupted")
            return INTERRUPTED
        case MemoryError():
            print_message("kernlens: out of memory; select fewer kernels, or raise the limit (ulimit -v)")
            return FAILED
        case OSError():
            where = f" ({error.filename})" if error.filename else ""
            print_message(f"kernlens: the system refused something{where}: {error.strerror or error}")
            return BAD_INPUT
        case _:
            what = f"{type(error).__name__}: {error}"
            print_message(f"kernlens: a fault of kernlens itself, please report it with what --debug prints: {what}")
            return FAILED


def _usage_error(error: BaseException) -> click.ClickException | None:
    """Return the error if it is one of click's. There is none before click is imported, nor when the interpreter ends."""
    if "click" not in sys.modules:
        return None
    import click

    return error if isinstance(error, click.ClickException) else None


def _obey_variables(kernlens: click.Command) -> None:
    """Complete words for a shell if it asks for that, and turn messages on if KERNLENS_LOG asks for them."""
    instruction = os.environ.get(_COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(kernlens, {}, "kernlens", _COMPLETION, instruction))
    level = os.environ.get(VARIABLE, "")
    if level.lower() == "debug":
        print_messages(print_message)
    elif level:
        raise KernlensError(f"{VARIABLE} is '{level}'; the only log level is debug")

"""The only place that writes to standard output and standard error.

Each line is made printable on its way (``report/style.py``), for terminals and for pipes alike: it may end on a terminal
anyway. What the user asked to have exactly as it is goes into JSON, a file of its own, or a pipe as bytes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, TextIO

from kernlens.cli.terminal import choose_colours, in_colour, leads_to_terminal
from kernlens.errors import OutputError, bounded
from kernlens.report.style import fit_to, rendered, rendered_lines, want_styles

#: Whether tables and headings may be wider than the terminal.
_is_full = False

if TYPE_CHECKING:
    import click

#: Lines written at a time, as listings can be long.
_BATCH = 1000
#: Characters of a line of a message: more than those of any command that was tried.
_LONGEST_MESSAGE = 16_000


def print_json(document: dict[str, Any]) -> None:
    """Print a document, on one line."""
    from kernlens.report.json_text import json_pieces

    _write_pieces(itertools.chain(json_pieces(document), ["\n"]))


def print_pieces(pieces: Iterable[str], output: str | None = None) -> None:
    """Print a text piece by piece, or write it to a file that the user named, when it is whole; it is printable already.

    Raises OutputError with the system's reason."""
    if output is None:
        for piece in pieces:  # Errors that are met on the way to a piece are not those of the output.
            _write(piece)
        return
    from tempfile import TemporaryFile

    fit_to(None)
    with TemporaryFile(prefix="kernlens-") as whole:
        whole.writelines(piece.encode() for piece in pieces)
        whole.seek(0)
        write_bytes(output, iter(lambda: whole.read(1 << 20), b""))


def print_lines(lines: Iterable[str]) -> None:
    """Print styled lines, coloured only on a terminal."""
    colours = in_colour(sys.stdout)
    lines = iter(lines)
    while batch := list(itertools.islice(lines, _BATCH)):
        _write("\n".join(rendered_lines(batch, colours)) + "\n")


def printable(lines: Iterable[str]) -> str:
    """Return the text of styled lines for standard output."""
    return "".join(f"{line}\n" for line in rendered_lines(list(lines), is_coloured()))


def is_coloured() -> bool:
    """Return whether standard output is written in colours."""
    return in_colour(sys.stdout)


def terminal_width() -> int | None:
    """Return the width at which listings are cut: a terminal's, unless ``--full`` was given; None where they are not."""
    if not is_terminal() or _is_full:
        return None
    import shutil

    return shutil.get_terminal_size().columns


def print_text(lines: Iterable[str]) -> None:
    """Print the lines of a text, such as a stage's. A carriage return that ends a line, as in sources written on Windows, is
    kept."""
    _write("".join(f"{_with_return(line)}\n" for line in lines))


def _with_return(line: str) -> str:
    return rendered(line[:-1]) + "\r" if line.endswith("\r") else rendered(line)


def print_bytes(content: bytes | memoryview) -> None:
    """Write bytes as they are, for a pipe or a file; the caller has made sure that it is no terminal."""
    stream = _standard_output()
    with _output_errors():
        stream.flush()
        stream.buffer.write(content)


def print_message(*lines: str) -> None:
    """Print lines to standard error, as far as it can be written: nobody is left to report a failure to. What a line quotes
    may be of any size, and its middle is left out then."""
    stream = sys.stderr
    if stream is None or stream.closed:
        return
    colours = in_colour(stream)
    text = "".join(f"{rendered(bounded(line, _LONGEST_MESSAGE), colours)}\n" for line in lines)
    with contextlib.suppress(OSError):
        if text and is_terminal():  # What was printed before it stands above it.
            sys.stdout.flush()
        stream.write(text)
        stream.flush()


def can_ask() -> bool:
    """Return whether somebody at a terminal reads messages and can answer."""
    return leads_to_terminal(sys.stdin) and leads_to_terminal(sys.stderr)


def ask(question: str) -> str:
    """Print a question to standard error, and return the line that answers it; empty at the end of the input."""
    sys.stderr.write(rendered(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def print_usage_error(error: click.ClickException) -> None:
    """Print an error of the command line's words as click does, below the usage of the verb."""
    context: click.Context | None = getattr(error, "ctx", None)
    if context is not None:
        hint = f"Try '{context.command_path} {context.help_option_names[0]}' for help."
        print_message(*context.get_usage().split("\n"), hint, "")
    from kernlens.cli.usage_advice import message_of, next_step

    print_message(f"Error: {message_of(error)}{next_step(error, sys.argv[1:])}")


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an error, for those who asked for it with --debug."""
    from traceback import format_exception

    # Each string ends with a newline and may hold more; the message of the error stands in the last ones.
    print_message(*"".join(format_exception(error)).rstrip("\n").split("\n"))


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return leads_to_terminal(sys.stdout)


def prepare_output() -> None:
    """Have standard output take every character: one that its encoding lacks is written as an escape. Have texts styled
    only where somebody will see it, and tables as wide as the terminal."""
    global _is_full
    _is_full = False
    colour_output("auto")
    fit_output()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def colour_output(when: str) -> None:
    """Have texts styled where somebody will see it; ``when`` is the value of ``--color``."""
    choose_colours(when)
    want_styles(in_colour(sys.stdout) or in_colour(sys.stderr))


def show_in_full() -> None:
    """Have tables and headings be as wide as they are, for the rest of this command."""
    global _is_full
    _is_full = True
    fit_to(None)


def is_full() -> bool:
    """Return whether ``--full`` was said."""
    return _is_full


def fit_output(*, is_message: bool = False) -> None:
    """Have tables and headings fit the terminal that standard output leads to; ``is_message``: that of standard error."""
    width = None
    if leads_to_terminal(sys.stderr if is_message else sys.stdout) and not _is_full:
        import shutil

        width = shutil.get_terminal_size().columns
    fit_to(width)


def finish_output() -> None:
    """Write the rest. Raises OutputError, or BrokenPipeError if a pipe's reader has gone."""
    with _output_errors():
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()


def drop_output() -> None:
    """Give up standard output, so that the interpreter does not try, and fail, to write the rest when it ends."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError):
            sys.stdout.close()


def _standard_output() -> TextIO:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("standard output is closed; redirect it to a file or to /dev/null instead")
    return sys.stdout


def _write(text: str) -> None:
    _write_pieces([text])


def _write_pieces(pieces: Iterable[str]) -> None:
    output = _standard_output()
    with _output_errors():
        output.writelines(pieces)


@contextlib.contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror}") from error


def write_bytes(path: str, pieces: Iterable[bytes]) -> None:
    """Write bytes to a file that the user named, whose old content stays until the new one is whole. Raises OutputError with
    the system's reason, and what ``refuse_input`` raises."""
    refuse_input(path)
    try:
        with _whole(os.path.realpath(path)) as file:
            file.writelines(pieces)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another location") from error


@contextlib.contextmanager
def _whole(target: str) -> Iterator[IO[bytes]]:
    """Yield a file that gets this name when it is whole. A pipe, a file that may not be written, and one in a folder
    that may not be, are opened as they are."""
    folder, is_there = os.path.dirname(target), os.path.lexists(target)
    if not os.access(folder, os.W_OK) or (is_there and not (os.path.isfile(target) and os.access(target, os.W_OK))):
        with open(target, "wb") as file:
            yield file
        return
    partial = os.path.join(folder, f".kernlens-{os.urandom(8).hex()}")
    try:
        with open(partial, "xb") as file:
            yield file
        if is_there:
            os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def refuse_input(path: str) -> None:
    """Raise OutputError for a file to write that the command's words name twice: as its input, or for other output."""
    import click

    context = click.get_current_context(silent=True)
    if context is None or not os.path.isfile(path):
        return
    named = [
        context.params.get(each.name or "") for each in context.command.params if isinstance(each.type, click.Path)
    ]
    every = [file for value in named for file in (value if isinstance(value, tuple) else (value,)) if file is not None]
    if [os.path.realpath(file) for file in every].count(os.path.realpath(path)) > 1:
        raise OutputError(f"{path} is named twice in this command and would be overwritten; choose another output file")


@contextlib.contextmanager
def written(
    files: Iterable[tuple[str | None, Callable[[], Iterable[bytes]]]], earlier: Iterable[OutputError] = ()
) -> Iterator[None]:
    """Write each file that has a path, then run the block, which prints the answer: a file that cannot be written does
    not lose it. Raises OutputError at the end for such files, for ``earlier`` ones too."""
    errors = [*earlier]
    for path, pieces in files:
        try:
            if path is not None:
                write_bytes(path, pieces())
        except OutputError as error:
            errors.append(error)
    try:
        yield
    except BrokenPipeError:  # Whoever read the answer has gone: that is no error, but what could not be written is.
        if not errors:
            raise
    if errors:
        raise OutputError("; ".join(map(str, errors)))


class Progress:
    """A progress bar on a terminal's standard error; nothing where nobody watches. With ``later`` it comes with the first
    step: until then the terminal belongs to somebody else."""

    def __init__(self, title: str, *, quiet: bool = False, later: bool = False) -> None:
        self._show: Callable[[int, int, str], None] | None = None
        self._title = title
        self._quiet = quiet or sys.stderr is None or not sys.stderr.isatty()
        self._later = later
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Progress:
        if not self._later:
            self._begin()
        return self

    def _begin(self) -> None:
        if not self._quiet:
            from rich.console import Console
            from rich.markup import escape
            from rich.progress import Progress as Bar

            bar = self._open.enter_context(Bar(console=Console(stderr=True), transient=True))
            task = bar.add_task(self._title, total=None)

            def show(done: int, total: int, title: str) -> None:
                bar.update(task, completed=done, total=total, description=escape(rendered(title)))

            self._show = show

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def show(self, done: int, total: int, title: str | None = None) -> None:
        """Say how many of all steps are done, and what the newest was, if they differ."""
        if self._later:
            self._later = False
            self._begin()
        if self._show is not None:
            self._show(done, total, title or self._title)

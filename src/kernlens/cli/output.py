"""The only place that writes to standard output and standard error.

Each line is made printable on its way (``report/style.py``), for terminals and for pipes alike: it may end on a terminal
anyway. What the user asked to have exactly as it is goes into JSON, a file of its own, or a pipe as bytes.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, TextIO

from kernlens.cli.terminal import Pager, choose_colours, in_colour, leads_to_terminal, start_pager
from kernlens.errors import OutputError
from kernlens.report.style import cut, rendered, rendered_lines, want_styles

#: What shows standard output to a user at a terminal, while it does.
_pager: Pager | None = None
_pager_tried = False

if TYPE_CHECKING:
    import click

#: Lines written at a time, as listings can be long.
_BATCH = 1000

#: How deep a document is taken to pieces: each kernel in the list of a program, in the list of programs, is one.
_PIECES_DEPTH = 4


def print_json(document: dict[str, Any]) -> None:
    """Print a document, indented on a terminal."""
    if is_terminal():
        _write_pieces(itertools.chain(_indented(document), ["\n"]))
    else:
        print_compact_json(document)


def print_compact_json(document: dict[str, Any]) -> None:
    """Print a document on one line."""
    _write_pieces(itertools.chain(json_pieces(document), ["\n"]))


def _indented(document: dict[str, Any]) -> Iterator[str]:
    import json

    return map(_without_delete, json.JSONEncoder(indent=2).iterencode(document))


def json_pieces(value: Any, depth: int = 0) -> Iterator[str]:
    """The text of a document in pieces: what stands deep within is encoded at once, which is many times faster than
    ``json.dump``, and the whole text need never be in memory. It is ASCII without any control character."""
    if depth == _PIECES_DEPTH or not isinstance(value, dict | list) or not value:
        yield _encoded(value)
        return
    before = "{" if isinstance(value, dict) else "["
    for item in value:
        yield before
        before = ","
        if isinstance(value, dict):
            yield _encoded(item) + ":"
            item = value[item]
        yield from json_pieces(item, depth + 1)
    yield "}" if isinstance(value, dict) else "]"


def _encoded(value: Any) -> str:
    """JSON on one line. orjson is ten times faster than ``json``, but leaves characters beyond ASCII as they are, and
    refuses lone surrogates (bytes of file names that are no UTF-8) and large numbers."""
    import orjson

    with contextlib.suppress(TypeError):
        encoded = orjson.dumps(value)
        if encoded.isascii() and b"\x7f" not in encoded:
            return encoded.decode("ascii")
    import json

    return _without_delete(json.dumps(value, separators=(",", ":")))


def _without_delete(text: str) -> str:
    """JSON with an escape for DEL, the one control character that ``json`` writes as it is."""
    return text.replace("\x7f", "\\u007f")


def write_json(path: str, document: dict[str, Any]) -> None:
    """Write a document to a file that the user named. Raises OutputError with the system's reason."""
    _write_file(path, itertools.chain(json_pieces(document), ["\n"]))


def print_lines(lines: Iterable[str], *, cutting: bool = False) -> None:
    """Print styled lines, coloured only on a terminal. With ``cutting`` lines wider than a terminal are cut there, if no
    pager does it."""
    colours = in_colour(sys.stdout)
    lines = iter(lines)
    if cutting and is_terminal() and _shown_by() is None:
        import shutil

        width = shutil.get_terminal_size().columns
        lines = (cut(line, width) for line in lines)
    while batch := list(itertools.islice(lines, _BATCH)):
        _write("\n".join(rendered_lines(batch, colours)) + "\n")


def print_text(lines: Iterable[str], ending: str) -> None:
    """Print the lines of a text, such as a stage's, with the colours of its language on a terminal.

    ``ending`` is the ending of the file that it would be. A carriage return that ends a line, as in sources written on
    Windows, is kept.
    """
    text = "".join(f"{_with_return(line)}\n" for line in lines)
    if in_colour(sys.stdout):
        from kernlens.report.highlight import highlighted

        text = highlighted(text, ending)
    _write(text)


def _with_return(line: str) -> str:
    return rendered(line[:-1]) + "\r" if line.endswith("\r") else rendered(line)


def print_bytes(content: bytes | memoryview) -> None:
    """Write bytes as they are, for a pipe or a file; the caller has made sure that it is no terminal."""
    stream = _standard_output()
    with _output_errors():
        stream.flush()
        stream.buffer.write(content)


def print_message(*lines: str) -> None:
    """Print lines to standard error; nothing if it cannot be written, as nobody is left to be told."""
    stream = sys.stderr
    if stream is None or stream.closed:
        return
    colours = in_colour(stream)
    with contextlib.suppress(OSError):
        stream.write("".join(f"{rendered(line, colours)}\n" for line in lines))
        stream.flush()


def print_usage_error(error: click.ClickException) -> None:
    """Print an error of the command line's words as click does, below the usage of the verb."""
    context: click.Context | None = getattr(error, "ctx", None)
    if context is not None:
        hint = f"Try '{context.command_path} {context.help_option_names[0]}' for help."
        print_message(*context.get_usage().split("\n"), hint, "")
    print_message(f"Error: {error.format_message()}")


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an error, for those who asked for it with --debug."""
    from traceback import format_exception

    # Each string ends with a newline and may hold more; the message of the error stands in the last ones.
    print_message(*"".join(format_exception(error)).rstrip("\n").split("\n"))


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return leads_to_terminal(sys.stdout)


def prepare_output(colours: str = "auto") -> None:
    """Have standard output take every character: what its encoding does not have is written as an escape. Have texts
    styled only where somebody will see it: ``colours`` is the value of ``--color``."""
    global _pager_tried
    _pager_tried = False
    choose_colours(colours)
    want_styles(in_colour(sys.stdout) or in_colour(sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def finish_output() -> None:
    """Write what is still held back, and let the user of a pager look at it. Raises OutputError, or BrokenPipeError if the
    reader of a pipe has gone."""
    global _pager
    if _pager is not None:
        pager, _pager = _pager, None
        pager.finish()
    if sys.stdout is not None and not sys.stdout.closed:
        with _output_errors():
            sys.stdout.flush()


def drop_output() -> None:
    """Give up standard output, so that the interpreter does not try, and fail, to write the rest when it ends."""
    global _pager
    if _pager is not None:
        pager, _pager = _pager, None
        with contextlib.suppress(BrokenPipeError):
            pager.finish()
    if sys.stdout is not None:
        with contextlib.suppress(OSError):
            sys.stdout.close()


def _standard_output() -> TextIO:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("there is no standard output to print to: it was closed when kernlens was started")
    return sys.stdout


def _write(text: str) -> None:
    _write_pieces([text])


def _shown_by() -> Pager | None:
    """The pager, which is started when something is printed first; None where there is none."""
    global _pager, _pager_tried
    if not _pager_tried and is_terminal():
        _pager_tried = True
        sys.stdout.flush()
        _pager = start_pager(sys.stdout)
    return _pager


def _write_pieces(pieces: Iterable[str]) -> None:
    output: IO[str] = _standard_output()
    pager = _shown_by()
    with _output_errors():
        (pager.input if pager is not None else output).writelines(pieces)


@contextlib.contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror}") from error


def write_text(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file that the user named, as to a pipe. Raises OutputError with the system's reason."""
    _write_file(path, (f"{rendered(line)}\n" for line in lines))


def _write_file(path: str, pieces: Iterable[str]) -> None:
    write_bytes(path, (piece.encode() for piece in pieces))


def write_bytes(path: str, pieces: Iterable[bytes]) -> None:
    """Write bytes to a file that the user named. Raises OutputError with the system's reason."""
    try:
        with open(path, "wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another place with -o") from error


class Progress:
    """A progress bar on a terminal's standard error; nothing where nobody watches."""

    def __init__(self, title: str, quiet: bool) -> None:
        self._show: Callable[[int, int, str], None] | None = None
        self._title = title
        self._quiet = quiet or sys.stderr is None or not sys.stderr.isatty()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Progress:
        if not self._quiet:
            from rich.console import Console
            from rich.progress import Progress as Bar

            bar = self._open.enter_context(Bar(console=Console(stderr=True), transient=True))
            task = bar.add_task(self._title, total=None)

            def show(done: int, total: int, title: str) -> None:
                bar.update(task, completed=done, total=total, description=_without_markup(rendered(title)))

            self._show = show
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def show(self, done: int, total: int, title: str) -> None:
        """Say how many of all steps are done, and what the newest was."""
        if self._show is not None:
            self._show(done, total, title)


def _without_markup(text: str) -> str:
    from rich.markup import escape

    return escape(text)

"""One root for every error that kernlens raises on purpose.

Each message is one sentence that says what was found, where, and what to do next. The command line prints it without a
traceback and exits with ``exit_status``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Self

#: The characters that a message has at most: it may quote input, which may be of any size.
MOST_CHARACTERS = 6000


def bounded(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text of at most about so many characters: of a longer one its beginning and its end, which says what to do."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} ... ({len(text) - 2 * half:,} characters are left out) ... {text[len(text) - half :]}"


class KernlensError(Exception):
    """Root of all errors of this package. ``exit_status`` is what the command line returns: 2, bad usage or bad input.
    ``cure`` is the name that ``kernlens toolchain add`` takes to fetch what is missing; empty if that would not help."""

    exit_status = 2
    cure = ""

    def cured_by(self, name: str) -> Self:
        """Return the error, whose ``cure`` has this name now."""
        self.cure = name
        return self

    def __str__(self) -> str:
        return bounded(super().__str__())

    @property
    def lines(self) -> tuple[str, ...]:
        """The message in the lines to print it in: one, whatever it quotes, as long as no kind of error has several."""
        return (str(self),)

    def __reduce__(self) -> tuple[Callable[..., KernlensError], tuple[object, ...]]:
        # As exceptions are remade from their arguments, those that take others than they hand on could not be pickled.
        return _remade, (type(self), self.args, vars(self))


def _remade(kind: type[KernlensError], arguments: tuple[object, ...], fields: dict[str, object]) -> KernlensError:
    error = kind.__new__(kind, *arguments)
    vars(error).update(fields)
    return error


class ArgumentError(KernlensError, TypeError):
    """A call of a public function with an argument that is missing, unknown, or of another type."""


class FormatError(KernlensError):
    """Bytes that do not hold what the format demands. ``format`` is the reader's name (``"zebin"``), ``section`` the
    section if any, ``offset`` the byte offset within the buffer that the reader was given."""

    def __init__(self, message: str, *, format: str, offset: int | None = None, section: str | None = None) -> None:
        self.format = format
        self.offset = offset
        self.section = section
        where = format
        if section is not None:
            where += f", section {section}"
        if offset is not None:
            where += f", offset {offset:#x}"
        super().__init__(f"{where}: {message}")


class TooManyError(FormatError):
    """An input with so many entries for its size that reading them all is refused."""


class NotFoundError(KernlensError):
    """A name (kernel, device, toolchain, stage, file) that does not exist; the message offers the nearest that do."""


class UnknownKernelError(NotFoundError, KeyError):
    """A ``name`` that is none of the ``known`` kernels. It is a KeyError too, since ``program.kernels`` is a mapping.
    The nearest names are looked up when the message is read: ``get`` of a mapping raises this error and drops it.
    ``note`` says what was left out before, ``lists_all`` what lists the others."""

    lists_all = "kernlens inspect"

    def __init__(self, name: object, known: Collection[str], note: str = "") -> None:
        self.name = name
        self.known = known
        self.note = note
        super().__init__(name, known)

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        if not self.known:
            return bounded(f"there is no kernel {self.name!r}; the binary holds no kernels at all{note}")
        near = nearest(str(self.name), self.known) or list(self.known)[:8]
        more = "" if len(self.known) <= len(near) else f" (of {len(self.known)}; {self.lists_all} lists all)"
        return bounded(f"there is no kernel {self.name!r}; the binary holds {', '.join(near)}{more}{note}")


class UnknownCostError(NotFoundError, KeyError):
    """A ``name`` that is none of the ``known`` costs of code. It is a KeyError too, since ``kernel.costs`` is a mapping."""

    def __init__(self, name: object, known: Collection[str]) -> None:
        self.name = name
        self.known = known
        super().__init__(name, known)

    def __str__(self) -> str:
        near = likeliest(str(self.name), self.known)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(list(self.known)[:8])}, ..."
        return bounded(f"there is no cost {self.name!r} of this code; {hint}")


class UnknownColumnError(NotFoundError, KeyError):
    """A ``name`` that is not among the ``known`` columns of a table. It is a KeyError too: columns and rows are mappings."""

    def __init__(self, name: object, known: Collection[str]) -> None:
        self.name = name
        self.known = known
        super().__init__(name, known)

    def __str__(self) -> str:
        if isinstance(self.name, int):
            return f"a table has columns by their names; list(table)[{self.name}] is a row"
        near = likeliest(str(self.name), self.known)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self.known)}"
        return bounded(f"there is no column {self.name!r}; {hint}")


class AmbiguousKernelError(NotFoundError):
    """A ``name`` that is a part of the names of several kernels, ``titles``."""

    def __init__(self, name: str, titles: Sequence[str]) -> None:
        more = f" and {len(titles) - 4:,} more" if len(titles) > 4 else ""
        super().__init__(
            f"{name!r} is a part of the names of {len(titles):,} kernels: {', '.join(titles[:4])}{more}; "
            f"give more of the name, or a pattern for all of them ('*{name.strip('*')}*')"
        )


class NoCodeError(NotFoundError):
    """A source line from which no instruction came; the answer is "no" (exit status 1)."""

    exit_status = 1


class UnsupportedError(KernlensError):
    """Valid input that this installation cannot handle; the message says what to install or what to use instead."""


class OutputError(KernlensError):
    """A file or folder that could not be written."""


class ToolError(KernlensError):
    """A compiler, disassembler or driver that failed, crashed, or ran out of time (exit status 3). ``command`` is what
    was run (or the driver call), ``log`` its whole output. ``is_slow`` is whether it ran out of time though it had a processor
    for nearly all of it: it would again."""

    exit_status = 3
    is_slow = False

    def __init__(self, message: str, *, command: str | None = None, log: str = "") -> None:
        self.command = command
        self.log = log
        super().__init__(message)


def call_target(device: str | None, input: str | None) -> str:
    """Return the subject of a driver call for its error's message, " on DEVICE for INPUT"; each part only if it is known."""
    return (f" on {device}" if device else "") + (f" for {input}" if input else "")


class AssemblyError(KernlensError):
    """An edited text that the assembler refuses: the message has each fault with its line and column, and what it expected.
    A fault is one line, or two with the line of the text below."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the faults."""
        return tuple(str(self).split("\n"))


class NoDeviceError(KernlensError):
    """The error that a source is to be compiled, that no device is named, and that this machine does not settle it; ``names``
    are some that it may be."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        super().__init__(message)


class LinkError(KernlensError):
    """Modules that cannot be linked with each other; the answer is "no" (exit status 1). ``symbols`` are those at fault."""

    exit_status = 1

    def __init__(self, message: str, symbols: tuple[str, ...] = ()) -> None:
        self.symbols = symbols
        super().__init__(message)


class NearestNames:
    """The base of a class whose objects offer the nearest attributes in place of one that is none: ``kernel.resource``."""

    __slots__ = ()

    if not TYPE_CHECKING:  # A type checker refuses such a name by itself.

        def __getattr__(self, name: str) -> object:
            known = [] if name.startswith("_") else [each for each in dir(self) if not each.startswith("_")]
            near = likeliest(name, known)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that are most like ``name``, the likest first, for an error to offer; at most four."""
    from difflib import get_close_matches

    names = list(known)
    in_other_case = [each for each in names if each.casefold() == name.casefold()]
    return in_other_case[:4] or get_close_matches(name, names, 4, 0.5)


def likeliest(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that a misspelt ``name`` is likely to mean: of the nearest those that are nearly as like as the
    first, or else the names that ``name`` is a part of."""
    from difflib import SequenceMatcher

    names = list(known)
    near = nearest(name, names)
    ratios = [SequenceMatcher(None, each, name).ratio() for each in near]
    if ratios and ratios[0] >= 0.7:
        return [each for each, ratio in zip(near, ratios, strict=True) if ratio > ratios[0] - 0.1]
    parts = [each for each in names if len(name) > 2 and name in each]
    return parts[:4] or near


def telling_line(log: str) -> str:
    """Return the first line of a build log that speaks of an error, else its first line; empty for an empty log."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")

"""Compilers' messages about builds: the first of those that fail, the warnings of those that do not, and whole logs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.report.style import rendered, style
from kernlens.toolchain.diagnostics import error_lines, log_parts, of_severity

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.program import Program
    from kernlens.toolchain.diagnostics import ErrorLine, LogPart

#: The compiler's messages that are printed of one failure, and the warnings of one source.
MOST_MESSAGES = 5
#: More notes of an error are a list of candidates, which says less than it hides.
MOST_NOTES = 2
#: Characters of a source line below a message.
_LONGEST_LINE = 400
_COLOURS = {"error": "red", "warning": "yellow"}
_LOG = "kernlens compile --log"


def messages_of(build: Build) -> tuple[ErrorLine, ...]:
    """Return the compiler's messages about a build, with the main source under the compiler's name of it."""
    return error_lines(build.log, os.path.abspath(build.path) if build.path else build.source)


def targets(builds: Iterable[Build]) -> str:
    """Return what builds of one source are for, and what made them: ``dg2, pvc (toolchain system, options -DN=3)``."""
    groups: dict[str, set[str]] = {}
    for build in builds:
        groups.setdefault(build.made_by, set()).add(build.device)
    return "; ".join(
        f"{', '.join(sorted(devices))}{f' ({made_by})' if made_by else ''}" for made_by, devices in groups.items()
    )


def message_lines(message: ErrorLine, texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a message, then its source line with a mark under the column, where ``texts`` has its file's lines."""
    place = f"{message.place}: " if message.place else ""
    yield f"{place}{style(message.severity, fg=_COLOURS.get(message.severity, 'blue'))}: {message.words}"
    lines = texts.get(message.path, ())
    if 1 <= message.line <= len(lines):
        line, column = _around(lines[message.line - 1].removesuffix("\r"), message.column)
        yield f"  {line.expandtabs(4)}"
        if column:
            yield f"  {' ' * len(rendered(line[: column - 1].expandtabs(4)))}^"


def _around(line: str, column: int) -> tuple[str, int]:
    """Return a source line and a column in it; of a long line the part around the column."""
    first = max(min(column - _LONGEST_LINE // 2, len(line) - _LONGEST_LINE), 0)
    if len(line) <= _LONGEST_LINE:
        return line, column
    before, behind = ("... " if first else ""), (" ..." if first + _LONGEST_LINE < len(line) else "")
    return f"{before}{line[first : first + _LONGEST_LINE]}{behind}", column and column - first + len(before)


def source_texts_of(build: Build) -> dict[str, list[str]]:
    """Return the lines of a build's sources by their paths."""
    return {source.path: source.text.split("\n") for source in build.sources}


def errors_of(build: Build) -> list[tuple[ErrorLine, tuple[ErrorLine, ...]]]:
    """Return the compiler's errors about a build, each with its notes."""
    parts = log_parts(build.log, os.path.abspath(build.path) if build.path else build.source)
    told = dict.fromkeys((part.message, part.notes) for part in parts)
    return [(message, notes) for message, notes in told if message is not None and message.severity == "error"]


def more_line(left_out: Sequence[object], noun: str) -> list[str]:
    """Return a line on the messages that are not printed, if there are any."""
    from kernlens.report.describe import plural

    return [f"and {plural(len(left_out), f'more {noun}')}; {_LOG} prints all"] if left_out else []


def warning_lines(builds: Iterable[Build]) -> Iterator[str]:
    """Yield the warnings of builds that succeeded, each once, and for which of the source's builds it is."""
    of_source: dict[str, list[Build]] = {}
    for build in builds:
        if build.ok and build.log:
            of_source.setdefault(build.path or build.source, []).append(build)
    for source, alike in of_source.items():
        warned: dict[ErrorLine, list[Build]] = {}
        for build in alike:
            for message in of_severity(messages_of(build), "warning"):
                warned.setdefault(message._replace(fix=None), []).append(build)
        texts = source_texts_of(alike[0])
        for message, own in list(warned.items())[:MOST_MESSAGES]:
            first, *below = message_lines(message, texts)
            first = first if message.path else f"{source}: {first}"
            yield from (f"{first}{_for_some(own, alike)}", *below)
        yield from (f"{source}: {line}" for line in more_line([*warned][MOST_MESSAGES:], "warning"))


def compiled_warnings(programs: Iterable[Program]) -> Iterator[str]:
    """Yield the warnings about those of these programs that this command compiled: recordings keep theirs (``inspect
    --log``)."""
    builds = {id(program.build): program.build for program in programs}
    return warning_lines(build for build in builds.values() if not build.created)


def _for_some(builds: Sequence[Build], of_all: Sequence[Build]) -> str:
    """Return the end of a line about some builds of a source: which they are, by what tells them from the others."""
    if len(builds) == len(of_all):
        return ""
    labels = [_labels(build) for build in of_all]
    telling = [0, *(place for place in (1, 2) if len({each[place] for each in labels}) > 1)]
    return f" [{', '.join(' '.join(_labels(build)[place] for place in telling).strip() for build in builds)} only]"


def _labels(build: Build) -> tuple[str, str, str]:
    return build.device, build.toolchain.name if build.toolchain else "", build.own_options or ""


def log_lines(build: Build, kernel_names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the whole log of a build: the source's messages by line, then those about each kernel by line, then the rest.
    With ``kernel_names``, mangled or as C++ has them, those about other kernels are left out."""
    from kernlens.report.describe import plural

    parts = log_parts(build.log, os.path.abspath(build.path) if build.path else build.source)
    messages = dict.fromkeys(part.message for part in parts if part.message is not None)
    counts = [plural(len(each), name) for name in ("error", "warning") if (each := of_severity(messages, name))]
    yield style(f"{build.source} for {targets([build])}: {', '.join(counts) or 'no messages'}", bold=True)
    by_kernel: dict[tuple[str, ...], list[LogPart]] = {(): []}
    for part in parts:
        if part.message is not None:
            by_kernel.setdefault(part.message.kernels, []).append(part)
    for kernels, own in by_kernel.items():
        if (
            kernel_names
            and kernels
            and not any(name in kernel_names or kernel_title(name) in kernel_names for name in kernels)
        ):
            continue
        if kernels and own:
            yield f"  in kernel {', '.join(map(kernel_title, kernels))}"
        for part in sorted(own, key=_place):
            yield from _part_lines(part)
    for part in parts:
        if part.message is None:
            yield from (style(f"  {line}", dim=True) for line in part.text)


def _place(part: LogPart) -> tuple[bool, str, int, int]:
    message = part.message
    return (True, "", 0, 0) if message is None else (not message.path, message.path, message.line, message.column)


def _part_lines(part: LogPart) -> Iterator[str]:
    if part.message is None:
        return
    place = f"{part.message.place}: " if part.message.place else ""
    function = f"in function {part.message.function}: " if part.message.function else ""
    severity = style(part.message.severity, fg=_COLOURS.get(part.message.severity, "blue"))
    times = f"  ({part.times:,} times)" if part.times > 1 else ""
    yield f"  {place}{severity}: {function}{part.message.message}{times}"
    yield from (f"    {line}" for line in part.text[1:])


def log_document(build: Build) -> dict[str, Any]:
    """Return a build's log as JSON has it: as it is, and its messages, each once."""
    parts = log_parts(build.log, os.path.abspath(build.path) if build.path else build.source)
    return {
        "log": build.log,
        "messages": [
            {**_message_document(part.message), "times": part.times, "notes": list(map(_message_document, part.notes))}
            for part in parts
            if part.message is not None
        ],
    }


def _message_document(message: ErrorLine) -> dict[str, Any]:
    return {
        "path": message.path or None,
        "line": message.line or None,
        "column": message.column or None,
        "severity": message.severity,
        "message": message.message,
        "kernels": list(message.kernels),
        "function": message.function or None,
    }

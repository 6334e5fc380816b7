"""Builds that failed, in every form of an answer: a line below a text, the section of ``inspect``, keys of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from kernlens.model.build import BUILT, Build
from kernlens.model.failed_builds import FailedBuilds, failure_reason, is_of_compiler
from kernlens.report.describe import plural
from kernlens.report.style import style

Document = dict[str, Any]
#: The first lines of a log that ``inspect`` shows of each failed build.
_SHOWN = 3
#: A place in a compiler's log.


@cache
def _placed() -> re.Pattern[str]:
    return re.compile(r"^(?P<path>(?:[A-Za-z]:)?[^:\n]+):(?P<line>\d{1,9}):\d+: (?:fatal )?error: ", re.MULTILINE)


def failed_lines(groups: Iterable[FailedBuilds]) -> Iterator[str]:
    """Yield the line on each path with failed builds that stands below an answer about the others."""
    sentences = dict.fromkeys(group.sentence for group in groups if group)
    yield from (style(sentence, fg="yellow") for sentence in sentences)


def failed_documents(groups: Iterable[FailedBuilds]) -> list[Document]:
    """Return the list ``failed_builds`` of a document."""
    return [_document(build, group.path) for group in groups for build in group.builds]


def _document(build: Build, path: str) -> Document:
    from kernlens.report.program_document import toolchain_keys

    return {
        "program": build.name,
        "recording": path or None,
        "source": build.source,
        "device": build.device or None,
        **toolchain_keys(build),
        "build_options": build.own_options,
        "command": build.command or None,
        "reason": failure_reason(build),
        "log": build.log,
    }


def failed_section(failed: FailedBuilds) -> Iterator[str]:
    """Yield the section of ``inspect``: of each failed build device, toolchain and options, and the first errors."""
    if not failed:
        return
    yield ""
    yield style(failed.share, bold=True)
    for build in failed.builds:
        toolchain = f", {build.toolchain_title}" if build.toolchain_title else ""
        yield f"  {style(build.title, bold=True)} for {build.device or 'an unknown device'}{toolchain}"
        if build.own_options:
            yield f"    options: {build.own_options}"
        lines = [line.strip() for line in build.log.splitlines() if line.strip()]
        told = ([line for line in lines if "error" in line.lower()] or lines)[:_SHOWN]
        own = [] if told and is_of_compiler(build) else [(build.reason or failure_reason(build))]
        yield from (style(f"    {line}", fg="red") for line in (*own, *told))
        if len(lines) > len(told):
            yield style(f"    the log has {plural(len(lines), 'line')}: --log shows it", dim=True)


def no_binary_lines(builds: Iterable[Build]) -> Iterator[str]:
    """Yield the lines of ``inspect`` on builds that went well, and of which there is no binary to show."""
    for build in builds:
        if build.outcome == BUILT and not build.ok:
            yield f"{build.title}: {build.reason}"


def error_place(build: Build) -> tuple[str, int] | None:
    """Return the file and line of the first error in a build's log, else the file that was compiled; None if none is known."""
    match = _placed().search(build.log)
    own = build.path or next(filter(None, build.parts.source_paths), "")
    if match is not None and "/" in match["path"]:
        return match["path"], int(match["line"])
    return (own, int(match["line"]) if match is not None else 1) if own else None

"""The figures that a page states, and the command or the test that stands beside them.

A figure is what somebody measured or counted, or a limit: a percentage, a time, an amount of memory, a number of thousands.
The section that states it, or the beginning of the page, shows the command that prints it or links to the section that does; or
it names the test or the source that holds the figure, in a comment ``<!-- PATH -->``, which readers do not see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
#: Code, addresses of links, and names of versions hold numbers that nobody measured.
_NO_FIGURES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\b(?:version|OpenCL|Python|Debian|Ubuntu|NEO|IGC) [\d.]+", re.DOTALL
)
_UNITS = r"(?:%|(?:ms|µs|s|seconds?|minutes?|hours?|[kMG]i?B)\b)"
_FIGURE = re.compile(rf"(?<![\w.,:/#-])(?:\d{{1,3}}(?:,\d{{3}})+|(?:\d+(?:\.\d+)?)\s?{_UNITS})")
#: A command that prints figures, or a link to where there are such commands.
_COMMAND = re.compile(
    r"^ *```(?:console|sh)$|`(?:python -m|kernlens|bash scripts/)[ `]"
    r"|\]\([./\w]*(?:performance\.md#|correctness\.md#|tutorials/)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"<!-- ([\w./-]+) -->")


def figures(text: str) -> list[str]:
    """Return the figures of a text, those in fences and in code aside."""
    return _FIGURE.findall(_NO_FIGURES.sub(" ", _FENCE.sub("", text)))


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the heading of each section of a page, and the section without those below it."""
    covered = _FENCE.sub(lambda fence: fence[0].replace("\n#", "\n\0"), text)
    for section in _HEADING.split(covered):
        section = section.replace("\0", "#")
        yield section.partition("\n")[0], section


def places(text: str) -> list[str]:
    """Return the files that comments name."""
    return _COMMENT.findall(text)


def unfounded(text: str) -> dict[str, list[str]]:
    """Return by heading the figures with neither a command nor a test beside them or at the page's beginning."""
    parts = list(sections(text))
    beginning = "".join(section for _, section in parts[:2])
    if _COMMENT.search(beginning) or re.search(r"`python -m |^python -m ", beginning, re.MULTILINE):
        return {}
    return {
        heading: stated
        for heading, section in parts
        if (stated := figures(section)) and not _COMMAND.search(section) and not _COMMENT.search(section)
    }

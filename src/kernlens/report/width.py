"""C++ names that are short enough for a line or a column of a table."""

from __future__ import annotations

import re
from functools import cache

from kernlens.report.style import cut, fitting_width

#: A kernel's or function's C++ name: it is shortened by its arguments, not cut off.
_BRACKETS = {"<": ">", "(": ")", "{": "}"}

_MORE = "…"
#: Operators with brackets in their names, which are no arguments.

#: A name is not made shorter than this for the sake of what stands beside it.
_SHORTEST = 16


@cache
def _operator() -> re.Pattern[str]:
    return re.compile(r"operator(?:<<=?|>>=?|<=>?|>=?|->\*?|<|>|\(\))")


@cache
def _innermost() -> re.Pattern[str]:
    return re.compile(r"<[^<>(){}]+>|\([^<>(){}]+\)|\{[^<>(){}]+\}")


class Name(str):
    """A C++ name in a cell of a table."""

    __slots__ = ()


def one_line(name: str, beside: int) -> str:
    """Return a C++ name that fits into a line beside so many characters."""
    width = fitting_width()
    return name if width is None else shortened(Name(name), max(width - beside, _SHORTEST))


def shortened(text: str, width: int) -> str:
    """Return a text that is at most ``width`` characters long: of a C++ name, the arguments of templates and functions become
    an ellipsis, the innermost first; a source place keeps its line; what is too long still, and any other text, is cut off."""
    if len(text) <= width:
        return text
    if line := re.search(r"(?<=\S):[0-9]+$", text):
        return f"{cut(text[: line.start()], width - len(line[0]))}{line[0]}"
    if isinstance(text, Name):
        text = _without_arguments(text, width)
    return cut(text, width)


def _without_arguments(name: str, width: int) -> str:
    if "operator" in name and _operator().search(name):
        return name
    name = name.replace("sycl::_V1::", "sycl::")
    # The last arguments are shortened first: what a name begins with tells most.
    while len(name) > width:
        innermost = [match for match in _innermost().finditer(name) if match[0][1:-1] != _MORE]
        if not innermost:
            outer = _outer(name)
            if outer == name:
                break
            name = outer
            continue
        last = max(innermost, key=lambda match: (_depth(name, match.start()), match.start()))
        name = f"{name[: last.start() + 1]}{_MORE}{name[last.end() - 1 :]}"
    return name


def _outer(name: str) -> str:
    """Return a name of which one pair of brackets holds nothing but shortened ones: it is shortened in turn."""
    return re.sub(r"([<({])[^<>(){}]*(?:[<({]…[>)}][^<>(){}]*)+([>)}])", rf"\1{_MORE}\2", name, count=1)


def _depth(name: str, position: int) -> int:
    before = name[:position]
    return sum(before.count(opening) - before.count(closing) for opening, closing in _BRACKETS.items())

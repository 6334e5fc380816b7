"""No pattern takes the square of a text's length: each is tried on texts made for it, and its steps are counted.

For each repetition without a limit a text is made: the shortest that reaches it, then many times what it repeats, then
something that matches nothing, so that all ways back are tried. Twice the text may cost twice the steps, and not four times.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from tests.pattern_steps import Matcher, TooManyStepsError, reached
from tests.tree import PACKAGE, package_files

#: Repetitions, and steps for each character that are few however they grow.
PUMPED, FEW = 24, 12
#: How many more steps twice the text may take: 2 where they grow with the text, 4 where they do with its square.
GROWTH = 2.8
MOST = 20_000
_ANCHORED = (".match", ".fullmatch")
ROOMS = ("formats", "loading", "analysis", "recording", "report", "isa", "toolchain", "verbs", "pipeline", "model")


def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Return the package's patterns by their places, each with whether it is searched for: not where all that is asked is
    whether a text begins with it, or is it."""
    known = {}
    for path in package_files():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        text = path.read_text()
        if parts[0] not in ROOMS or path.stem in ("__main__", "worker", "__init__") or "re.compile" not in text:
            continue
        with suppress(ImportError):
            module = import_module(".".join(("kernlens", *parts)))
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern):
                    used = text if name.startswith("_") else _all_text()
                    is_search = any(
                        method not in _ANCHORED for method in re.findall(rf"\b{name}\b(?! =)(\.?\w*)", used)
                    )
                    known[f"{'.'.join(parts)}.{name}"] = value, is_search
    return known


@cache
def _all_text() -> str:
    lines = (line for path in package_files() for line in path.read_text().split("\n"))
    return "\n".join(line for line in lines if not line.startswith("from "))


def texts(matcher: Matcher, flags: int, count: int) -> Iterator[str]:
    """Yield the texts that a pattern is tried on."""
    for before, inner in dict.fromkeys(reached(matcher.items, flags)):
        for pumped in dict.fromkeys((inner, " ", "\n", before + inner)):
            yield before + pumped * count + "\x01!"


def is_quadratic(pattern: re.Pattern[Any], *, is_search: bool = True) -> bool:
    """Return whether a search, or a match, takes the square of a text's length."""
    matcher = Matcher(pattern, MOST)
    for short, long in zip(
        texts(matcher, pattern.flags, PUMPED), texts(matcher, pattern.flags, 2 * PUMPED), strict=True
    ):
        try:
            steps = matcher.steps(short, is_search=is_search)
            if steps > FEW * len(short) and matcher.steps(long, is_search=is_search) > GROWTH * steps:
                return True
        except TooManyStepsError:
            return True
    return False


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """The matcher calls itself for each character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    "slow",
    [
        r"\s+$", r"(\w+)_(\w+)!", r"a*a*b", r"(?:a+)+b", r"0*(\d{4,})$", r"[a-z(]*[a-z]+\d", r"x\s*(?:,\s*)*\s*;",
        r"gen\d+\w*-", r"(?:[^\n]*\n)*end", r"\\(?:5C|\\)*22",
    ],
)  # fmt: skip
def test_what_is_quadratic_is_told(slow: str) -> None:
    assert is_quadratic(re.compile(slow, re.ASCII))


@pytest.mark.parametrize(
    "quick", [r"(?<!\s)\s+$", r"a\d+\.\d+", r"^\s*x", r"\\(?:5C)*22", r'"[^"\n]*"', r"\bx\w*+-", r"\bx.{0,200}y"]
)
def test_what_is_linear_is_not(quick: str) -> None:
    assert not is_quadratic(re.compile(quick, re.ASCII))


def test_no_pattern_is_quadratic() -> None:
    every = patterns()
    assert len(every) > 250
    assert [name for name, (pattern, is_search) in every.items() if is_quadratic(pattern, is_search=is_search)] == []

"""The loops of a source's text: where they begin and end, and how often they pass."""

from __future__ import annotations

import pytest

from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.model.build import Build, Source
from kernlens.model.program import Kernels, Program
from kernlens.model.source_map import SourcePlace
from tests.limits import processor_time

TEXT = """\
#define N 12  /* for (;;) */
void f(int n) {
  for (int i = 0; i < N; i++) {
    for (int j = 10; j >= 2; j -= 2)
      if (j) g(i); else { h(j); }
    k(i);
  }
  while (n) "for (;;)";
  for (int i = 0, k = 9; i < n; ++i, k++) m();
  end();
}
"""


def tokens(text: str) -> SourceTokens:
    source = Source("a.cl", text)
    return SourceTokens(Program("a", "raw", Kernels({}), Build("a"), find_sources=lambda: (source,)))


@pytest.mark.parametrize(
    ("word", "loops"),
    [
        ("g(i)", [(4, 5), (3, 12)]),
        ("h(j)", [(4, 5), (3, 12)]),
        ("k(i)", [(3, 12)]),
        ("m()", [(9, None)]),
        ("end", []),
        ("void", []),
    ],
)
def test_loops_around_a_place(word: str, loops: list[tuple[int, int | None]]) -> None:
    line = next(number for number, text in enumerate(TEXT.splitlines(), 1) if word in text)
    place = SourcePlace("a.cl", line, TEXT.splitlines()[line - 1].index(word) + 1)
    assert [(loop.line, loop.trips) for loop in tokens(TEXT).loops_around(place)] == loops


@pytest.mark.parametrize(
    ("header", "trips"),
    [
        ("i = 0; i < 8; i++, p += 3", 8),
        ("int i = 0; i != 8; i += 3", 3),
        ("int i = 8; i > 0; --i", 8),
        ("int i = 0; i <= 0x10; i++", 17),
        ("int i = 0; j < 8; i++", None),
        ("int i = 0; i < 8; i *= 2", None),
        ("int i = 0; i < 8; i += 0", None),
        ("int i = x; i < 8; i++", None),
        (";;", None),
    ],
)
def test_passes_of_a_loop_follow_from_its_constants(header: str, trips: int | None) -> None:
    (loop,) = tokens(f"for ({header}) f();").loops_around(SourcePlace("a.cl", 1, len(header) + 7))
    assert loop.trips == trips


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 300_000,
        "for(;;)" * 60_000,
        "for(" * 60_000,
        '"' * 200_000,
        "#define a b(\n" * 30_000,
        "(" * 300_000,
    ],
    ids=["comments", "loops", "heads", "strings", "macros", "brackets"],
)
def test_hostile_texts_take_no_longer(text: str) -> None:
    with processor_time(10):
        known = tokens(f"x\n{text}\n f(x) ")
        known.loops_around(SourcePlace("a.cl", 3, 2))
        known.at(SourcePlace("a.cl", 3, 2))
        known.at(SourcePlace("a.cl", 2, 3))
        known.statement("a.cl", 2)
        known.declared("a.cl", "double")

"""The operands of divisions: chains, unary operators, casts, calls; nothing where the text is not certain."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.analysis.advice.division import _among
from kernlens.analysis.advice.operands import operands
from kernlens.analysis.advice.pow_with_a_constant import simpler
from kernlens.analysis.advice.unrolled_too_far import hint_before
from kernlens.model.source_map import SourcePlace
from tests.unit.analysis.test_source_tokens import tokens


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("o[g] = a / b / c;", [("a", "b"), ("a / b", "c")]),
        ("o = a * b / c;", [("a * b", "c")]),
        ("o = x - y / z + 1;", [("y", "z")]),
        ("o = -y / z;", [("-y", "z")]),
        ("o = *p / -n;", [("*p", "-n")]),
        ("o = (uint) a[g] / (int) n;", [("(uint) a[g]", "(int) n")]),
        ("return a / b[c[0]];", [("a", "b[c[0]]")]),
        ("o = f(g(x)) / h(1, k(2)).y * 3;", [("f(g(x))", "h(1, k(2)).y")]),
        ("if (q) a / b;", [("a", "b")]),
        ("v %= x + 1;", [("v", "x + 1")]),
        ("o = s->a[1] / (b + c) * 2;", [("s->a[1]", "(b + c)")]),
        ("f(a, b / c, d);", [("b", "c")]),
        ("o = i++ / j++;", [("", "")]),
        ("o = sizeof a / b;", [("", "b")]),
        ("o = CAST a / b;", [("", "b")]),
        ("/", [("", "")]),
        (")] / ((", [("", "")]),
    ],
)
def test_operands_stand_left_and_right_of_an_operator(statement: str, expected: list[tuple[str, str]]) -> None:
    operators = re.finditer(r"[/%]=?", statement)
    assert [operands(statement[: it.start()], it[0], statement[it.end() :]) for it in operators] == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x;\n#pragma unroll\n", float("inf")),
        ("x;\n # pragma  unroll(4) // as often\n\n  /* and no more */ ", 4),
        ("a; __attribute__((opencl_unroll_hint(16))) ", 16),
        ("#pragma clang loop unroll_count(2)\n", 2),
        ("#pragma nounroll\n", 1),
        ("#pragma unroll N\n", 8),
        ("y; UNROLL\n", 6),
        ("int i; ", None),
        ("} else ", None),
        ("#pragma unroll 4\n x; ", None),
        ("#pragma unroll 4\nfor (int j = 0; j < 4; j++)\n", None),
    ],
)
def test_hints_before_a_loop(text: str, count: float | None) -> None:
    macros = {"UNROLL": ['_Pragma("unroll 6")'], "N": ["8"]}
    assert hint_before(text, lambda name: macros.get(name, [])) == count


@pytest.mark.parametrize(
    ("text", "sites", "expected"),
    [
        ("int y = g / w, x = g % w;", [(1, 22)], ", perhaps with those of `g / w`"),
        ("int y = g/w;\n// and\nint x = g % w;", [(3, 11)], ", perhaps with those of `g / w`"),
        ("int y = g / w, x = g % w;", [(1, 11), (1, 22)], ""),
        ("int y = g / ww + a.g / w, x = g % w;", [(1, 33)], ""),
        ("int x = g % w; // g / w", [(1, 11)], ""),
        ("int y = g / w;\n}\nvoid f() {\nint x = g % w;", [(4, 11)], ""),
    ],
)
def test_a_quotient_that_a_remainder_may_hold(text: str, sites: list[tuple[int, int]], expected: str) -> None:
    words = tokens(text)
    places = [SourcePlace("a.cl", *site) for site in sites]
    construct = words.at(places[-1])
    assert construct is not None
    assert construct.token == "%"
    facts: Any = SimpleNamespace(tokens=words, sites=dict.fromkeys(places))
    assert _among(facts, places[-1], construct) == expected


@pytest.mark.parametrize(
    ("call", "expression"),
    [
        ("pow(x, 1.0f)", "x"),
        ("pow(a + b, 0.0f)", "1.0f"),
        ("pown(x, 0)", "1.0f"),
        ("powr(x, 0.0f)", None),
        ("powr(x, 1.0f)", "x"),
    ],
)
def test_powers_with_0_and_1(call: str, expression: str | None) -> None:
    construct = tokens(f"{call};").at(SourcePlace("a.cl", 1, 1))
    assert construct is not None
    simple = simpler(construct)
    assert (simple and simple.expression, simple and simple.condition) == (expression, expression and "")

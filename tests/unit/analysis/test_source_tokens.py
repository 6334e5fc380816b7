"""The word of the source at a place: calls, operators, macros, arguments."""

from __future__ import annotations

import pytest

from kernlens.analysis.advice.literals import literal
from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.model.build import Build, Source
from kernlens.model.program import Kernels, Program
from kernlens.model.source_map import SourcePlace


def tokens(text: str, options: str = "") -> SourceTokens:
    source = Source("a.cl", text)
    return SourceTokens(Program("a", "raw", Kernels({}), Build("a", options=options), find_sources=lambda: (source,)))


def test_a_call_and_its_arguments() -> None:
    construct = tokens("x = pow(f(a, b), /* c, */\n  2.0f) + sin(y);").at(SourcePlace("a.cl", 1, 5))
    assert construct is not None
    assert (construct.token, construct.is_macro) == ("pow", False)
    assert construct.arguments == ("f(a, b)", "2.0f")
    assert construct.names == {"pow"}


def test_columns_count_bytes() -> None:
    text = tokens("/* ää */ x = sin(y);")
    place = SourcePlace("a.cl", 1, len("/* ää */ x = ".encode()) + 1)
    construct = text.at(place)
    assert construct is not None
    assert construct.token == "sin"


@pytest.mark.parametrize(
    ("text", "column", "edited"),
    [
        ("x = pow(f(a, b), 2);", 5, "x = Y;"),
        ("x = pow(a /* ) */, 2\n  );", 5, "x = Y\n;"),
        ("printf(\"(%c\", ')');", 1, "Y;"),
        ("/* \u00e4 */ pow(a, 2);", 10, "/* \u00e4 */ Y;"),
        ("pow;", 1, None),
        ("pow(a", 1, None),
        ("POW(a)\n#define POW(a) pow(a, 2)", 1, None),
    ],
)
def test_a_call_is_replaced_up_to_its_own_bracket(text: str, column: int, edited: str | None) -> None:
    edit = tokens(text).in_place_of_call(SourcePlace("a.cl", 1, column), "Y")
    assert (edit and edit.of(text)) == edited


@pytest.mark.parametrize(("operator", "name"), [("/", "/"), ("%", "%"), ("/=", "/"), ("%=", "%")])
def test_an_operator_is_known_at_its_place(operator: str, name: str) -> None:
    construct = tokens(f"a {operator} b").at(SourcePlace("a.cl", 1, 3))
    assert construct is not None
    assert (construct.token, construct.arguments) == (operator, ())
    assert construct.names == {name}


def test_a_macro_is_all_that_it_expands_to() -> None:
    text = tokens(
        "#define ROT(x) \\\n  TURN(x, cos)\n#define TURN(x, f) (sin(x) / f(x))\n  y = ROT(exp(b));\n", "-DFUN=log"
    )
    construct = text.at(SourcePlace("a.cl", 4, 7))
    assert construct is not None
    assert construct.is_macro
    assert {"sin", "cos", "exp", "/"} <= construct.names
    assert construct.among({"sin": 0, "exp": 0, "log": 0}) == ["exp", "sin"]
    assert construct.titled(["exp", "sin"]) == "the macro `ROT` (with `exp` and `sin`)"
    by_option = tokens("FUN(x)", "-DFUN=log").at(SourcePlace("a.cl", 1, 1))
    assert by_option is not None
    assert "log" in by_option.names


def test_variables_are_no_calls() -> None:
    functions = {"length": 0, "sin": 0, "cos": 0}
    text = tokens("#define A(x) (length * sin(x))\n#define FUN cos\nA(FUN(y)) length[9] length(9)")
    for column, calls in ((1, ["sin"]), (3, ["cos"]), (11, []), (21, ["length"])):
        construct = text.at(SourcePlace("a.cl", 3, column))
        assert construct is not None
        assert text.calls(construct, functions) == calls


def test_macros_that_name_each_other_end() -> None:
    construct = tokens("#define A B\n#define B A sin\nA(x)").at(SourcePlace("a.cl", 3, 1))
    assert construct is not None
    assert construct.names == {"A", "B", "sin", "x"}


@pytest.mark.parametrize(
    "place",
    [SourcePlace("a.cl", 1, 0), SourcePlace("a.cl", 9, 1), SourcePlace("b.cl", 1, 1), SourcePlace("a.cl", 1, 99)],
)
def test_what_is_no_place_of_a_text_has_no_word(place: SourcePlace) -> None:
    assert tokens("sin(x)").at(place) is None


def test_brackets_without_an_end() -> None:
    construct = tokens("pow(((((").at(SourcePlace("a.cl", 1, 1))
    assert construct is not None
    assert construct.arguments == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.0f", 2.0),
        ("2", 2.0),
        ("(-1.5e1)", -15.0),
        (".5f", 0.5),
        ("0x10", 16.0),
        ("7UL", 7.0),
        ("x", None),
        ("2*3", None),
    ],
)
def test_literals_have_their_values(text: str, value: float | None) -> None:
    assert literal(text) == value

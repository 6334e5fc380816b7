"""Rows of listings, which the native decoder puts together: the same as Python would, whatever the texts hold."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kernlens._decoder import are_plain, rows
from kernlens.report.style import rendered_lines

#: What is special somewhere: to JSON, to str.rstrip, to terminals, to UTF-8.
PIECES = (
    *("mov (8|M0)", "", " ", "   ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\0", "\x7f", "\x80"),
    *("\x85", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b", '"', "\\", "/", "</script>", "é", "漢", "\U0001f600"),
    *("\ud800", "\udc80", "\udfff", "\ud83d\ude00", "~", "a" * 5000),
)


def in_python(start: int, stop: int, columns: Sequence[tuple[str, Any]]) -> list[str]:
    texts: dict[str, Callable[[Any, int], str]] = {
        "constant": lambda values, index: values,
        "texts": lambda values, index: values[index],
        "stripped": lambda values, index: values[index].rstrip(),
        "quoted": lambda values, index: json.dumps(values[index]),
        "numbers": lambda values, index: str(values[index]),
        "offsets": lambda values, index: f"{values[index]:#06x}",
    }
    return ["".join(texts[kind](values, index) for kind, values in columns) for index in range(start, stop)]


def columns_by_chance(chance: random.Random, count: int) -> Any:
    def text() -> str:
        return "".join(chance.choices(PIECES, k=chance.randrange(4)))

    def numbers(letter: str) -> bytes | array[int]:
        bits = {"B": 8, "I": 32, "Q": 64}[letter]
        column = [chance.getrandbits(chance.randint(1, bits)) for _ in range(count)]
        return bytes(column) if letter == "B" else array(letter, column)

    columns: list[tuple[str, Any]] = []
    for _ in range(chance.randrange(1, 9)):
        kind = chance.choice(("constant", "texts", "stripped", "quoted", "numbers", "offsets"))
        if kind == "constant":
            columns.append((kind, text()))
        elif kind in ("numbers", "offsets"):
            columns.append((kind, numbers(chance.choice("BIQ"))))
        else:
            columns.append((kind, chance.choice((list, tuple))(text() for _ in range(count))))
    return tuple(columns)


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_those_that_python_makes(seed: int) -> None:
    chance = random.Random(f"rows {seed}")
    for _ in range(25):
        count = chance.randrange(12)
        columns = columns_by_chance(chance, count)
        start = chance.randint(0, count)
        stop = chance.randint(start, count)
        expected = in_python(start, stop, columns)
        assert rows(start, stop, columns) == expected
        assert rows(start, stop, columns, ",\ud801") == ",\ud801".join(expected)


def test_a_column_that_does_not_fit_is_an_error() -> None:
    wrong: tuple[tuple[type[Exception], Any], ...] = (
        (IndexError, (("texts", ["a"]),)),
        (IndexError, (("numbers", b"\1"),)),
        (IndexError, (("offsets", array("Q", [1])),)),
        (TypeError, (("numbers", array("i", [1, 2])),)),
        (TypeError, (("numbers", array("d", [1, 2])),)),
        (TypeError, (("numbers", [1, 2]),)),
        (TypeError, (("texts", ["a", b"b"]),)),
        (TypeError, (("stripped", ["a", None]),)),
        (TypeError, (("quoted", ["a", 2]),)),
        (TypeError, (("constant", 7),)),
        (TypeError, (["constant", "a"],)),
        (TypeError, [("constant", "a")]),
        (ValueError, (("words", "a"),)),
        (ValueError, (("constant", "a"),) * 33),
    )
    for error, columns in wrong:
        with pytest.raises(error):
            rows(0, 2, columns)
    for start, stop in ((-1, 1), (2, 1)):
        with pytest.raises(IndexError):
            rows(start, stop, (("constant", "a"),))


def test_plain_lines_are_those_that_need_no_rendering() -> None:
    for piece in PIECES:
        lines = ["a", f"x{piece}y"]
        assert are_plain(lines) == (rendered_lines(lines) is lines), piece
    with pytest.raises(TypeError):
        are_plain(["a", 1])  # type: ignore[list-item]

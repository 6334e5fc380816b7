"""Functions that are read at one sitting: from ``def`` to the last line, docstring and arguments counted."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.tree import PACKAGE, ROOT, nodes_of, package_files

LONGEST = 60
#: Those of the tests that are longer: each is one document, or one page that is measured.
LONG_IN_TESTS = {
    "tests/browser/made.py:small_document": 76,
    "tests/browser/measure.py:large": 69,
}


def lengths(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield each function's name with its lines; decorators do not count."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def too_long(paths: Iterable[Path], root: Path) -> dict[str, int]:
    return {
        f"{path.relative_to(root)}:{name}": lines
        for path in paths
        for name, lines in lengths(nodes_of(path))
        if lines > LONGEST
    }


def test_no_function_is_longer_than_a_screen() -> None:
    assert too_long(package_files(), PACKAGE) == {}


def test_no_function_of_the_tests_grows_beyond_a_screen() -> None:
    longer = too_long(sorted((ROOT / "tests").rglob("*.py")), ROOT)
    assert {name: lines for name, lines in longer.items() if lines > LONG_IN_TESTS.get(name, LONGEST)} == {}
    assert longer.keys() == LONG_IN_TESTS.keys(), "a function here is short by now"


@pytest.mark.parametrize(("body", "lines"), [("    pass\n", 2), ('    """Words."""\n    return\n', 3)])
def test_lines_are_counted_from_def_to_the_end(body: str, lines: int) -> None:
    source = f"@decorator\n@another\ndef function() -> None:\n{body}"
    assert list(lengths(ast.walk(ast.parse(source)))) == [("function", lines)]

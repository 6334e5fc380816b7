"""Patterns of ``re`` hold to what every Python from 3.11.0 on does right.

Possessive quantifiers and atomic groups are new in 3.11. Until 3.11.4 a possessive repetition of what backtracks is wrong
(https://github.com/python/cpython/issues/106052): Debian 12 has 3.11.2, on which some includes were not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.tree import PACKAGE, nodes_of, package_files

#: ``x*+``, ``x++``, ``x?+``, ``x{2}+`` and ``(?>x)``; a star or plus behind a backslash is a letter like others.
NEW_IN_3_11 = re.compile(r"(?<!\\)[*+?}]\+|\(\?>")


def texts(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """All constant texts of a module that uses ``re``, with their lines: no docstrings, no C++, no digits of base85."""
    if not any(isinstance(node, ast.Import) and any(name.name == "re" for name in node.names) for node in nodes):
        return
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docstrings:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if not text.startswith("0123456789ABC"):
                yield node.lineno, text.replace("C++", "")


def test_no_pattern_is_possessive_or_atomic() -> None:
    places = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in package_files()
        for line, text in texts(nodes_of(path))
        if NEW_IN_3_11.search(text)
    ]
    assert not places, "older Pythons match these differently:\n" + "\n".join(places)


@pytest.mark.parametrize("pattern", [r"a*+", r"a++", r"(?:ab)?+", r"a{2,3}+", r"(?>a|b)", rb"[^a]*+"])
def test_what_is_looked_for_is_seen(pattern: str | bytes) -> None:
    shown = [text for _, text in texts([*ast.walk(ast.parse(f"import re\nre.compile({pattern!r})\n"))])]
    assert shown != []
    assert all(map(NEW_IN_3_11.search, shown))

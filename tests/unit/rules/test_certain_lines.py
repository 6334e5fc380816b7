"""No reader counts by line without the number of instructions that are certainly the line's: by a line table alone, two of
three instructions may be of no line. Whoever asks a source map for lines, or an instruction's, says what is certain."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tests.tree import PACKAGE, nodes_of, package_files

#: What gives the lines, or the line of an instruction to count it by.
ASKS = {"lines", "line_of"}
#: Modules that ask and count nothing, with what they do.
COUNT_NOTHING = {
    "analysis/comparison/kernel_changes.py": "whether both sides have lines",
    "analysis/lanes/kernel_accesses.py": "the names of files",
    "analysis/observed_code.py": "the names of files",
    "analysis/trip_weights.py": "the loops that a line names",
    "cli/answers/behaviour_notes.py": "which lines have code",
    "cli/listings.py": "the names of lines, in a message that there is no such line",
}


def asks(nodes: Iterable[ast.AST]) -> bool:
    """Return whether a module asks a source map for lines."""
    return any(isinstance(node, ast.Attribute) and node.attr in ASKS and _is_map(node.value) for node in nodes)


def _is_map(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name == "source_map"


def says(nodes: Iterable[ast.AST]) -> bool:
    """Return whether a module names what is certain."""
    words = (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in nodes)
    return any(word in ("certain", "is_certain", "uncertainty", "certain_of") for word in words)


def test_a_reader_that_forgets_is_told() -> None:
    reader = ast.walk(ast.parse("for line, code in kernel.source_map.lines.items(): count(code)"))
    assert asks(reader)
    assert not says(ast.walk(ast.parse("for line, code in kernel.source_map.lines.items(): count(code)")))


def test_who_counts_by_line_says_what_is_certain() -> None:
    readers = {str(path.relative_to(PACKAGE)) for path in package_files() if asks(nodes_of(path))}
    silent = {str(path.relative_to(PACKAGE)) for path in package_files() if not says(nodes_of(path))}
    assert readers & silent == COUNT_NOTHING.keys()
    assert len(readers) > 8

"""The source tree: where it lies, and the package's files, each of which is read and parsed once in a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kernlens"


@cache
def package_files() -> tuple[Path, ...]:
    """Every module of the package."""
    paths = tuple(sorted(PACKAGE.rglob("*.py")))
    assert len(paths) > 40
    return paths


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The nodes of a file's syntax tree: a walk takes as long as the parser."""
    return tuple(nodes_in(tree_of(path)))


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """Every node of a syntax tree but for the marks of loading, storing and operators, in the order of ``ast.walk``, which
    takes twice as long."""
    nodes = [tree]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                nodes += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                nodes.append(value)
    return nodes

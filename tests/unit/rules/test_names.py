"""No variable, parameter or function is called by a word that names nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.tree import PACKAGE, ROOT, nodes_in, nodes_of

EMPTY_NAMES = frozenset({"one", "found", "made", "given", "wanted", "kept", "said"})


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every name that a module gives to something, with its line; an import under its own name is named by others."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "scripts"])
def test_names_say_what_they_hold(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    empty = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in paths
        for name, line in bound_names(nodes_of(path) if folder == "src" else nodes_in(ast.parse(path.read_bytes())))
        if name.strip("_") in EMPTY_NAMES
    ]
    assert not empty


def test_a_module_of_one_room_is_called_as_none_of_another() -> None:
    """A verb's name is its module's in ``cli``, and that of what does it."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "__init__.py":
            places.setdefault(path.stem, []).append(path.relative_to(PACKAGE).parent.as_posix())
    assert {name: folders for name, folders in places.items() if len(folders) > 1 and "cli" not in folders} == {}


def test_names_of_tests_are_sentences() -> None:
    """``test_names`` says of what a test is, and not what is so."""
    words = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and node.name.count("_") < 2
    }
    assert words == set()

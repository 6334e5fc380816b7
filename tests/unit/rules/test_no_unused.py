"""Nothing in the package is there for tests alone: what nobody else names is documented, or it goes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.tree import PACKAGE, ROOT, nodes_of, package_files, text_of

WORD = re.compile(r"\w+")

#: Names that another library calls, and tables of a format that are kept whole.
CALLED_BY_OTHERS = {"list_commands", "get_command", "format_commands", "capture_signals"}
CALLED_BY_PYTEST = {"pytest_configure", "pytest_runtest_setup", "pytest_runtest_call", "pytest_terminal_summary"}
WHOLE_TABLES = {"neo_elf.py"}


def defined(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of functions, methods, classes and constants; what a decorator makes a command of is in use."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any(
                isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith((".command", ".verb"))
                for decorator in node.decorator_list
            ):
                yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id


def words_of(paths: Iterable[Path]) -> Counter[str]:
    return Counter(word for path in paths for word in WORD.findall(text_of(path)))


@pytest.mark.slow
def test_nothing_serves_tests_alone() -> None:
    used = words_of(package_files())
    named = words_of(path for folder in ("docs", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.??"))
    named += words_of(ROOT.glob("README.md"))
    unused = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in package_files()
        if path.name not in WHOLE_TABLES
        for name in defined(nodes_of(path))
        if used[name] == 1 and not named[name] and not name.startswith("__")
    ]
    allowed = CALLED_BY_OTHERS | CALLED_BY_PYTEST
    assert [entry for entry in unused if entry.split(": ")[1] not in allowed] == []
    assert {entry.split(": ")[1] for entry in unused} == allowed, "a name here is in use by now"

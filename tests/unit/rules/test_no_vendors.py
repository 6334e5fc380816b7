"""No room but those that know machine code, formats and compilers asks whose a device is: code that does is code which the
next vendor's would need too. What can be told is a column or a part that is None where nobody knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.tree import PACKAGE, nodes_of, package_files

#: They read what one vendor writes, decode it and call its compilers.
FAMILIES = ("isa", "formats", "toolchain")
#: The noun itself, whose ``ip`` is Intel's.
NOUN = "model/device.py"
VENDORS = {"intel", "amd", "nvidia", "pocl", "gen", "amdgcn", "sass", "ptx", "x86-64"}
ATTRIBUTES = {"vendor", "intel"}


def questions(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The lines that read a device's vendor or numbers, or compare something with a vendor's or instruction set's name."""
    for node in nodes:
        is_read = isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Attribute | ast.Compare) and (is_read or _is_compared(node)):
            yield node.lineno
        elif isinstance(node, ast.MatchValue) and _is_vendor(node.value):
            yield node.value.lineno


def _is_compared(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(map(_is_vendor, (node.left, *node.comparators)))


def _is_vendor(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.lower() in VENDORS
        for part in parts
    )


def test_nobody_asks_for_a_vendor() -> None:
    asked = [
        f"{relative}:{line}"
        for path in package_files()
        if (relative := path.relative_to(PACKAGE)).parts[0] not in FAMILIES and str(relative) != NOUN
        for line in questions(nodes_of(path))
    ]
    assert asked == [], "ask the instructions or the kernel what they can tell; isa, formats and toolchain know vendors"


@pytest.mark.parametrize(
    "text",
    [
        'if device.vendor == "AMD": pass',
        "numbers = device.intel",
        'x = isa in ("amdgcn", "sass")',
        'x = name.lower() == "nvidia"',
        'match isa:\n    case "ptx":\n        pass',
    ],
)
def test_a_question_would_be_seen(text: str) -> None:
    assert list(questions(ast.walk(ast.parse(text))))


def test_what_is_no_question_is_left_alone() -> None:
    assert not list(questions(ast.walk(ast.parse('device = Device("gfx1030", "", "AMD", "amdgcn")\nx = device.isa'))))

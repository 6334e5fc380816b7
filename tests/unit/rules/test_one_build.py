"""One noun for what one build yields: a second class with a build's fields is a copy that will begin to differ."""

from __future__ import annotations

import ast

import pytest

from kernlens.model.build import Build, BuildParts
from tests.tree import PACKAGE, nodes_of, package_files

#: The nouns, and those that read a build's parts when they are asked for.
HOMES = {"Build", "BuildParts", "HeldParts", "_RecordedParts", "ContainerParts"}
FIELDS = {
    *("toolchain", "options", "command", "ok", "reason", "log", "seconds", "sources"),
    *("binary", "debug", "spirv", "snapshots", "build_options", "build_log", "versions"),
}
#: A class with more of these fields describes a build.
MOST = 3
#: How a process ended: the shape below that of a build, which knows nothing of programs.
OTHER = {"Completed"}


def fields_of(definition: ast.ClassDef) -> set[str]:
    """The names of a class's annotated fields and properties."""
    fields = {
        node.target.id
        for node in definition.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return fields | {
        node.name
        for node in definition.body
        if isinstance(node, ast.FunctionDef) and any("property" in ast.unparse(mark) for mark in node.decorator_list)
    }


def test_no_other_class_describes_a_build() -> None:
    others = []
    for path in package_files():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and node.name not in HOMES | OTHER:
                copied = fields_of(node) & FIELDS
                if len(copied) > MOST:
                    others.append(f"{path.relative_to(PACKAGE)}: {node.name} has {', '.join(sorted(copied))}")
    assert others == []


@pytest.mark.parametrize(
    "member", ["{}: str", "@property\n    def {}(self): ...", "@functools.cached_property\n    def {}(self): ..."]
)
def test_fields_and_properties_count(member: str) -> None:
    (definition,) = ast.parse(f"class Copy:\n    {member.format('log')}").body
    assert isinstance(definition, ast.ClassDef)
    assert fields_of(definition) == {"log"}


def test_a_build_gives_its_parts() -> None:
    parts = {name for name in vars(BuildParts) if not name.startswith("_")}
    assert parts - {"source_paths"} <= {name for name in vars(Build) if isinstance(vars(Build)[name], property)}
    assert len(FIELDS & {*parts, *Build.__dataclass_fields__}) > MOST

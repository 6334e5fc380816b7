"""One noun for what one build yields: a second class with a build's fields is a copy that will begin to differ."""

from __future__ import annotations

import ast
from pathlib import Path

import kernlens
from kernlens.model.build import Build, BuildParts

PACKAGE = Path(kernlens.__file__).parent

#: The nouns, and those that read a build's parts when they are asked for.
HOMES = {"Build", "BuildParts", "HeldParts", "_RecordedParts", "ContainerParts"}
FIELDS = {
    *("toolchain", "options", "command", "ok", "reason", "log", "seconds", "sources"),
    *("binary", "debug", "spirv", "snapshots", "build_options", "build_log", "versions"),
}
#: A class with more of these fields describes a build.
MOST = 3


def fields_of(definition: ast.ClassDef) -> set[str]:
    """The names of a class's annotated fields."""
    return {
        node.target.id
        for node in definition.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_no_other_class_describes_a_build() -> None:
    others = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in HOMES:
                copied = fields_of(node) & FIELDS
                if len(copied) > MOST:
                    others.append(f"{path.relative_to(PACKAGE)}: {node.name} has {', '.join(sorted(copied))}")
    assert others == []


def test_a_build_gives_its_parts() -> None:
    parts = {name for name in vars(BuildParts) if not name.startswith("_")}
    assert parts - {"source_paths"} <= {name for name in vars(Build) if isinstance(vars(Build)[name], property)}
    assert len(FIELDS & {*parts, *Build.__dataclass_fields__}) > MOST

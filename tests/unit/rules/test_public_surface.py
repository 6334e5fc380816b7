"""The public surface: what examples and documentation import, and that all of it is typed and explained."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import kernlens
import kernlens.model
from tests.tree import ROOT

#: What stands in the open modules, and no answer of a public function leads to: modules of the model, and classes.
#: They are the words that rooms have among each other, or what only a command meets.
INNER = {
    *(f"kernlens.model.{name}" for name in (
        "allowance", "code_moves", "instruction_record", "kernel_launches", "lane_code", "launch_items",
        "module", "notebook", "samples", "source_table", "stage_text", "stated_code", "static_access", "sycl_device",
    )),
    *(f"kernlens.model.{name}" for name in (
        "binary.Container", "binary.Section", "binary.Site", "bounds.Rule", "build.BuildParts", "build.HeldParts",
        "figure.Measured", "figures.LineColumn", "kernel.KernelParts", "spirv.SpecConstant", "stage.Attempts",
        "stage_map.PassLines", "stage_map.StageRows", "trial.Tried", "trial.TriedKernel", "trips.Executions",
        "waits.Step", "waits.Timings",
    )),
    "kernlens.errors.LinkError", "kernlens.errors.NoCodeError",
}  # fmt: skip
MODEL = [
    name
    for path in sorted(Path(kernlens.model.__path__[0]).glob("[a-z]*.py"))
    if (name := f"kernlens.model.{path.stem}") not in INNER
]
#: Modules with a list of names; of the others, all names without an underscore that they define are public, but ``INNER``.
LISTED = ["kernlens", "kernlens.answers", "kernlens.opencl", "kernlens.level_zero"]
PUBLIC = [*LISTED, "kernlens.errors", *MODEL]


def public_names(module: ModuleType) -> list[str]:
    if module.__name__ in LISTED:
        names: list[str] = module.__all__
        return names
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and f"{module.__name__}.{name}" not in INNER
    ]


def python_texts() -> Iterator[tuple[str, str]]:
    """Every example and every block of Python in the documentation, with its place."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield path.name, path.read_text()
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL), 1):
            yield f"{path.name}, block {number}", block


def test_examples_and_documentation_use_the_public_surface_only() -> None:
    texts = dict(python_texts())
    assert len(texts) > 14
    wrong = [f"{place}: {name}" for place, text in texts.items() for name in wrong_imports(text)]
    assert wrong == []


def wrong_imports(text: str) -> list[str]:
    """Names of this package that a program imports, or reads from ``kernlens``, though they are not public."""
    names: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "kernlens":
            names.append(("kernlens", node.attr))
    return [f"{module} {name or ''}" for module, name in names if not _is_public(module, name)]


def _is_public(module: str, name: str | None) -> bool:
    if module.split(".")[0] != "kernlens":
        return True
    if module not in PUBLIC:
        return False
    return name is None or f"{module}.{name}" in PUBLIC or name in public_names(importlib.import_module(module))


def test_what_is_not_public_would_be_seen() -> None:
    assert wrong_imports("from kernlens.runtime.opencl import live_builds") == ["kernlens.runtime.opencl live_builds"]
    assert wrong_imports("from kernlens.opencl import open_opencl") == ["kernlens.opencl open_opencl"]
    assert wrong_imports("import kernlens\nkernlens.loading.load('x')") == ["kernlens loading"]
    assert wrong_imports("import os\nfrom kernlens.model.program import Program\nfrom kernlens import opencl") == []


def test_what_is_called_inner_exists() -> None:
    """So that the list holds no name of yesterday."""
    for name in sorted(INNER):
        module, _, attribute = name.rpartition(".")
        if attribute.islower():
            importlib.import_module(name)
        else:
            assert inspect.isclass(getattr(importlib.import_module(module), attribute)), name


def test_pages_name_no_inner_module() -> None:
    """In prose too, but for the pages about the inside, and that with the loggers, which are named after rooms."""
    inside = {path.stem for path in Path(kernlens.__file__).parent.iterdir()}
    inner = "|".join(inside - {name.split(".")[1] for name in PUBLIC if "." in name})
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]:
        if (
            path.name not in ("architecture.md", "troubleshooting.md")
            and "decisions" not in path.parts
            and path.is_file()
        ):
            assert re.findall(rf"\bkernlens\.(?:{inner})\b", path.read_text()) == [], path


@pytest.mark.parametrize("module_name", PUBLIC)
def test_every_public_name_is_typed_and_explained(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert module.__doc__
    names = public_names(module)
    missing = [f"{name}: {what}" for name in names for what in unexplained(getattr(module, name))]
    assert missing == []
    if module_name in LISTED:
        assert (
            names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
            or module is kernlens
        )


def unexplained(value: object) -> Iterator[str]:
    """What a public function or class leaves out: docstrings, types."""
    if isinstance(value, FunctionType):
        if not value.__doc__:
            yield "has no docstring"
        yield from _untyped(value)
    elif inspect.isclass(value):
        # A dataclass or a named tuple without a docstring gets its signature for one.
        if not vars(value).get("__doc__") or (value.__doc__ or "").startswith(f"{value.__name__}("):
            yield "has no docstring"
        if getattr(value, "_is_protocol", False):
            return  # Its members are those of the class that it stands for.
        for name, member in vars(value).items():
            function = _function(member)
            if function is not None and (not name.startswith("_") or name == "__init__"):
                yield from (f"{name} {what}" for what in _untyped(function))
                if not function.__doc__ and name != "__init__":
                    yield f"{name} has no docstring"


def _function(member: object) -> FunctionType | None:
    """The function behind a method or a property of this package; None for what is none, or a default value."""
    for attribute in ("fget", "func", "__func__"):
        member = getattr(member, attribute, member)
    is_own = (
        isinstance(member, FunctionType) and member.__module__.startswith("kernlens") and "<" not in member.__name__
    )
    return member if isinstance(member, FunctionType) and is_own else None


def _untyped(function: FunctionType) -> Iterator[str]:
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        if parameter.annotation is parameter.empty and name not in ("self", "cls"):
            yield f"has no type for {name}"
    if signature.return_annotation is signature.empty:
        yield "has no type for its answer"


def test_the_interfaces_are_reached_through_public_names() -> None:
    page = (ROOT / "docs/python.md").read_text().split("## The interfaces that it implements")[1]
    rows = [line for line in page.split("\n## ")[0].splitlines() if line.startswith("|") and "`kernlens." in line]
    assert len(rows) == 4
    for row in rows:
        for name in re.findall(r"`(kernlens[\w.]+)`", row):
            module, _, attribute = name.rpartition(".")
            assert module in PUBLIC
            assert attribute in public_names(importlib.import_module(module)), name


def test_the_page_names_every_module() -> None:
    table = (ROOT / "docs/python.md").read_text().split("```")[0]
    assert set(re.findall(r"^\|`(kernlens[\w.]*)`", table, re.MULTILINE)) == {
        *LISTED,
        "kernlens.errors",
        "kernlens.model",
    }
    (own,) = re.findall(r"^\|`kernlens`\|(.*)\|$", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", own)) == {name for name in kernlens.__all__ if not name.startswith("_")}


def test_live_modules_open_no_driver_when_they_are_imported() -> None:
    script = "import sys, kernlens.opencl, kernlens.level_zero; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pyopencl", "click", "rich", "sqlite3"} & set(done.stdout.split())

"""The C and C++ sources: which part may include which, no circles, no header for nobody, plain names, files for one sitting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.tree import ROOT

NATIVE = ROOT / "native"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
SYSTEM_INCLUDE = re.compile(r"^#include <([^>]+)>", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
#: A function that a header declares, with no body.
DECLARED = re.compile(r"^(?!static|typedef|#)\w[\w *]*?\b(\w+)\((?=[^;{}]*;)", re.MULTILINE)
#: Who calls these is no file of ours: the loaders of layers, and kernlens's Python functions.
CALLED_FROM_OUTSIDE = re.compile(r"zeGet\w+ProcAddrTable|kernlens_\w+")
#: Words that name nothing: what is in the variable?
EMPTY_NAMES = re.compile(r"\b(?:one|found|made|given|wanted|kept|said)\b")

LAYER = "opencl_layer"
LEVEL_ZERO = "level_zero_layer"
#: Part -> the parts that it may include besides itself.
ALLOWED = {
    "assembler": {"disassembler"},
    "base": set(),
    "confine": set(),
    "decoder": {"base"},
    "demangler": set(),
    "disassembler": set(),
    "recording": {"base"},
    "level_zero_api": set(),
    "observer/host": set(),
    "observer/plugin": set(),
    LEVEL_ZERO: {"base", "level_zero_api", "recording"},
    f"{LAYER}/below": {"base", f"{LAYER}/compilers"},
    f"{LAYER}/compilers": {"base"},
    f"{LAYER}/vendor": {"base", "recording"},
    f"{LAYER}/second_build": {"base", f"{LAYER}/below", f"{LAYER}/compilers", f"{LAYER}/vendor"},
    f"{LAYER}/recorder": {
        "base",
        "recording",
        *(f"{LAYER}/{part}" for part in ("below", "compilers", "kept", "second_build")),
    },
    f"{LAYER}/kept": {"base", "recording", f"{LAYER}/below", f"{LAYER}/recorder"},
    f"{LAYER}/layer": {
        "base",
        *(f"{LAYER}/{part}" for part in ("below", "compilers", "recorder", "second_build", "vendor")),
    },
}
#: What a layer of another interface can stand on, so it knows nothing of OpenCL (nor of Python).
NEUTRAL = {"base", "recording", f"{LAYER}/compilers"}

LONGEST = 300


def files() -> list[Path]:
    result = sorted(path for ending in ("c", "cc", "h") for path in NATIVE.rglob(f"*.{ending}"))
    assert len(result) > 60
    return result


def module_of(path: Path) -> str:
    """A source and its header are one module."""
    return path.relative_to(NATIVE).with_suffix("").as_posix()


def part_of(module: str) -> str:
    return next(part for part in sorted(ALLOWED, reverse=True) if f"{module}/".startswith(f"{part}/"))


def included(path: Path) -> Iterator[Path]:
    """The files of ours that a file includes; the decoder names its own without their folder."""
    for name in INCLUDE.findall(path.read_text("utf-8")):
        result = next((place for place in (NATIVE / name, path.parent / name) if place.is_file()), None)
        assert result is not None, f'{path}: no file "{name}"'
        yield result


def test_parts_include_only_what_they_may() -> None:
    for path in files():
        part = part_of(module_of(path))
        for other in included(path):
            other_part = part_of(module_of(other))
            assert other_part == part or other_part in ALLOWED[part], (
                f"{path.relative_to(NATIVE)} includes {other.name}"
            )


def test_no_modules_include_one_another_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for path in files():
        module = module_of(path)
        graph.setdefault(module, set()).update(set(map(module_of, included(path))) - {module})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_what_every_layer_can_stand_on_knows_no_interface() -> None:
    for path in files():
        if part_of(module_of(path)) in NEUTRAL:
            foreign = [
                name for name in SYSTEM_INCLUDE.findall(path.read_text("utf-8")) if re.match("CL/|Python|.*ze_", name)
            ]
            assert not foreign, f"{path.relative_to(NATIVE)} includes {foreign}"


def test_each_source_includes_its_own_header_first() -> None:
    for path in files():
        header = path.with_suffix(".h")
        if path.suffix in (".c", ".cc") and header.is_file():
            assert next(included(path)) == header, path.relative_to(NATIVE)


def test_files_can_be_read_at_one_sitting() -> None:
    long = {
        str(path.relative_to(NATIVE)): length for path in files() if (length := path.read_text().count("\n")) > LONGEST
    }
    assert not long


def code_of(path: Path) -> str:
    """The file without comments."""
    return COMMENT.sub("", path.read_text("utf-8"))


@pytest.mark.slow
def test_each_function_of_a_header_is_called_by_another_file_than_its_own() -> None:
    """Else it is static, and the header has a line less."""
    code = {path: code_of(path) for path in files()}
    words = {path: set(re.findall(r"\w+", text)) for path, text in code.items()}
    for header in (path for path in code if path.suffix == ".h"):
        for name in DECLARED.findall(code[header]):
            users = [path for path in code if path != header and name in words[path]]
            in_macros = len(re.findall(rf"\b{name}\b", code[header])) > 1
            assert len(users) + in_macros > 1 or CALLED_FROM_OUTSIDE.fullmatch(name), (
                f"{header.relative_to(NATIVE)}: {name}"
            )


def test_names_say_what_they_hold() -> None:
    empty = {
        str(path.relative_to(NATIVE)): names
        for path in files()
        if (names := EMPTY_NAMES.findall(TEXT.sub("", code_of(path))))
    }
    assert not empty

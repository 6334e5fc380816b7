"""The viewer's TypeScript: no circle among its imports, which room may import which, and plain names. It needs no Node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.tree import ROOT

SOURCES = ROOT / "viewer" / "src"
#: Imports of types count like all others, and so do those that run only when they are reached.
IMPORT = re.compile(r'^(?:import|export)\b[^;"]*"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"', re.MULTILINE)

#: What is no name: comments, and texts. Of a template's text only what stands in braces is code.
NO_CODE = re.compile(r'/\*.*?\*/|^\s*//.*?$|(?<=[\s;])//\s.*?$|"(?:\\.|[^"\\\n])*"', re.DOTALL | re.MULTILINE)
TEMPLATE = re.compile(r"`((?:\\.|\$\{[^{}]*\}|[^`\\])*)`")
IN_BRACES = re.compile(r"\$\{([^{}]*)\}")
#: Words that name nothing: what is in the variable? Those of documents stand in quotes.
EMPTY_NAMES = re.compile(r"\b(?:one|found|made|given|wanted|kept|said)\b")

#: Folder -> the folders, and the files beside them, that it may import besides itself. Files beside the folders may import
#: each of these.
ALLOWED = {
    # What a document says, and what instructions say: neither knows of a page, and both are tested without a browser.
    "document": set(),
    "machine": set(),
    "comparison": {"document"},
    "panes": {"document", "dom", "lighting", "machine"},
    "frame": {"document", "dom", "machine", "panes", "remember", "state"},
    # These two know the page as what it is to its parts, and never as the whole of it.
    "views": {"comparison", "document", "dom", "frame", "machine", "page"},
    "editing": {"document", "dom", "frame", "page", "panes"},
    # Files that stand in for others in the script for notebooks.
    "notebook": {"dom", "panes"},
}


def files() -> list[Path]:
    paths = sorted(SOURCES.rglob("*.ts"))
    assert len(paths) > 50
    return paths


def module_of(path: Path) -> str:
    return path.relative_to(SOURCES).with_suffix("").as_posix()


def imported(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports; style sheets, which are imported as texts, are none."""
    for names in IMPORT.findall(path.read_text("utf-8")):
        name = "".join(names).partition("?")[0]
        if name.endswith(".css"):
            continue
        target = (path.parent / f"{name}.ts").resolve()
        assert target.is_file(), f'{path}: no file "{name}"'
        yield module_of(target)


def test_no_modules_import_one_another_in_a_circle() -> None:
    refuse_circles({module_of(path): set(imported(path)) for path in files()})


def test_no_folders_import_one_another_in_a_circle() -> None:
    """A file beside the folders counts as a folder of its own."""
    graph: dict[str, set[str]] = {}
    for path in files():
        room = module_of(path).split("/")[0]
        graph.setdefault(room, set()).update({other.split("/")[0] for other in imported(path)} - {room})
    refuse_circles(graph)


def refuse_circles(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_folders_import_what_they_may_and_all_of_it() -> None:
    """A permission that nobody needs would let the next import through unseen."""
    used: dict[str, set[str]] = {folder.name: set() for folder in SOURCES.iterdir() if any(folder.glob("*.ts"))}
    for path in files():
        folder, _, module = module_of(path).partition("/")
        if module:
            used[folder] |= {other.split("/")[0] for other in imported(path)} - {folder}
    assert used == ALLOWED


def test_the_page_is_known_to_its_parts_by_its_interface() -> None:
    """``App`` is put together by ``main``, and moved by keys and by an editor around it; its parts take a ``Page``."""
    assert {module_of(path) for path in files() if "app" in imported(path)} == {"commands", "embedding", "main"}


def code_of(path: Path) -> str:
    """The file without comments and texts."""
    text = NO_CODE.sub("", path.read_text("utf-8"))
    return TEMPLATE.sub(lambda template: " ".join(IN_BRACES.findall(template[1])), text)


def test_names_say_what_they_hold() -> None:
    empty = {module_of(path): names for path in files() if (names := EMPTY_NAMES.findall(code_of(path)))}
    assert not empty

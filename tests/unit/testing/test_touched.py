"""The quick check runs the tests of a change, the nearest first, and says what it left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import touched
from tests.touched import EVERYTHING, LOOKED_AT, RULES, Budget, distances, import_graph, imports
from tests.tree import ROOT

GRAPH = {
    "kernlens.formats.elf": set[str](),
    "kernlens.loading.open": {"kernlens.formats.elf"},
    "tests.unit.formats.test_elf": {"kernlens.formats.elf"},
    "tests.unit.formats.test_whole": {"kernlens.loading.open"},
    "tests.unit.loading.test_open": {"kernlens.loading.open"},
    "tests.unit.isa.test_decode": set[str](),
    "tests.unit.rules.test_names": set[str](),
}
TESTS = [f"{name.replace('.', '/')}.py" for name in GRAPH if ".test_" in name]


def test_what_a_module_imports_while_it_runs() -> None:
    text = """
import kernlens.errors
from kernlens import log
if TYPE_CHECKING:
    from kernlens.model.kernel import Kernel

    from kernlens.model.build import Build
from kernlens.loading import (
    open_file,
)
def later():
    from kernlens.report.table import rows
    kernlens("annotate", "x.bin")
"""
    assert {name for name in imports(text) if not name.endswith(("open_file", "rows"))} == {
        *("kernlens.errors", "kernlens", "kernlens.log", "kernlens.loading", "kernlens.report.table"),
        "kernlens.cli.annotate",
    }


def test_packages_around_a_module_are_imported_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched, "ROOT", tmp_path)
    room = tmp_path / "src/kernlens/formats"
    room.mkdir(parents=True)
    (room / "__init__.py").touch()
    (room / "elf.py").touch()
    (room / "zebin.py").write_text("from kernlens.formats.elf import read\n")
    graph = import_graph(room.glob("*.py"))
    assert graph["kernlens.formats.zebin"] == {"kernlens.formats", "kernlens.formats.elf"}


def test_the_fewest_imports_count() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set[str](), "d": {"b"}}
    assert distances(graph, ["c"]) == {"c": 0, "a": 1, "b": 1, "d": 2}


def test_users_are_touched_and_the_own_room_is_nearer() -> None:
    near = touched.touched(["src/kernlens/formats/elf.py"], GRAPH, TESTS)
    assert near == {
        "tests/unit/formats/test_elf.py": 1,
        "tests/unit/formats/test_whole.py": 1,
        "tests/unit/loading/test_open.py": 2,
        "tests/unit/rules/test_names.py": 1.5,
    }


def test_a_changed_test_is_the_nearest() -> None:
    near = touched.touched(["tests/unit/isa/test_decode.py"], GRAPH, TESTS)
    assert near is not None
    assert near["tests/unit/isa/test_decode.py"] == 0


@pytest.mark.parametrize(
    "name", ["tests/conftest.py", "scripts/check.sh", "native/decoder/decoder.c", "pyproject.toml"]
)
def test_what_all_tests_rest_on_touches_all(name: str) -> None:
    assert touched.touched([name, "src/kernlens/formats/elf.py"], GRAPH, TESTS) is None


def test_pages_touch_their_tests() -> None:
    names = ["tests/unit/docs/test_pages.py", "tests/unit/isa/test_devices.py"]
    assert touched.touched(["docs/json.md"], {}, names) == {names[0]: 1.0}


def test_the_tables_name_what_there_is() -> None:
    beginnings = [*EVERYTHING, *LOOKED_AT, RULES, *(folder for folders in LOOKED_AT.values() for folder in folders)]
    assert [name for name in beginnings if not (ROOT / name).exists()] == []


def test_every_file_of_tests_can_be_touched() -> None:
    """A test that imports nothing of the package, nor looks at what the table names, would be run by nobody's change."""
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    graph = import_graph(paths)
    unit = sorted(path for path in paths if path.name.startswith("test_") and path.is_relative_to(ROOT / "tests/unit"))
    far = distances(graph, [name for name in graph if name.startswith("kernlens")])
    named = tuple(f"{folder}/" for folders in LOOKED_AT.values() for folder in folders)
    names = [str(path.relative_to(ROOT)) for path in unit]
    # These look at the native code, which touches everything.
    assert [name for name in names if touched.module_name(ROOT / name) not in far and not name.startswith(named)] == [
        "tests/unit/native/test_native_calls.py",
        "tests/unit/native/test_native_includes.py",
    ]


def test_no_test_is_begun_when_the_time_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = touched.SECONDS - 1
    monkeypatch.setattr(touched.os, "times", lambda: (seconds, 0, 0, 0, 0))  # type: ignore[attr-defined]
    lines: list[str] = []
    budget = Budget(["tests/unit/cli/test_far.py"])
    item = cast(Any, SimpleNamespace(nodeid="tests/unit/report/test_late.py::test_it"))
    assert budget.pytest_runtest_protocol(item) is None
    seconds += 1
    assert budget.pytest_runtest_protocol(item) is True
    budget.pytest_terminal_summary(cast(Any, SimpleNamespace(write_line=lines.append)))
    assert "1 tests of 1 files and 1 files more" in lines[0]
    assert "report 1, cli 1" in lines[0]


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    lines: list[str] = []
    Budget([]).pytest_terminal_summary(cast(Any, SimpleNamespace(write_line=lines.append)))
    assert lines == []

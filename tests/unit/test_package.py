"""The package as others see it: its public names, its types, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import kernlens

#: Modules that only some commands need.
HEAVY = ("click", "rich", "ctypes", "sqlite3", "subprocess", "ryml", "elftools", "zstandard", "json", "asyncio")


def modules_after(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_pulls_in_nothing_heavy() -> None:
    found = modules_after("import kernlens")
    assert "kernlens" in found
    assert not found & set(HEAVY)


@pytest.mark.parametrize("name", kernlens.__all__)
def test_no_room_bears_a_public_name(name: str) -> None:
    """Importing a room binds it to the package's attribute of its name, in place of the public function."""
    folder = Path(kernlens.__file__).parent
    assert not (folder / name).exists()
    assert not (folder / f"{name}.py").exists()


def test_load_pulls_in_no_command_line_and_no_compiler() -> None:
    found = modules_after("from kernlens import load; load.__name__")
    assert not found & {"click", "rich", "subprocess", "sqlite3", "ryml", "elftools"}


@pytest.mark.parametrize("name", kernlens.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kernlens, name) is not None
    assert name in dir(kernlens)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = kernlens.no_such_name


def test_version_is_the_installed_one() -> None:
    assert metadata.version("kernlens") == kernlens.__version__


def test_types_are_shipped() -> None:
    assert (Path(kernlens.__file__).parent / "py.typed").is_file()


def test_public_functions_say_what_they_do() -> None:
    missing = [
        name for name in kernlens.__all__ if callable(getattr(kernlens, name)) and not getattr(kernlens, name).__doc__
    ]
    assert missing == []

"""What a confined child is shown beside what the user names: never a folder that holds everything."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kernlens.toolchain import shown_files


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder, which is wide, with a program and libraries in it."""
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: shown_files.LANDLOCK)
    path = (tmp_path / "home").resolve()
    for name in ("tools/bin", "tools/lib", "work"):
        (path / name).mkdir(parents=True)
    for name in ("ocloc", "libigc.so", "tools/bin/ocloc"):
        (path / name).write_bytes(b"\x7fELF")
    monkeypatch.setenv("HOME", str(path))
    return path


def shown(home: Path, program: str, variables: dict[str, str]) -> set[str]:
    words = shown_files.confining(str(home / "work"), [], program, variables)
    return {path for option, path in itertools.pairwise(words) if option == "--show"}


def test_a_program_brings_what_its_installation_has_beside_it(home: Path) -> None:
    paths = shown(home, str(home / "tools/bin/ocloc"), {})
    assert {f"{home}/tools/bin/ocloc", f"{home}/tools/bin", f"{home}/tools/lib"} <= paths


def test_a_program_in_a_wide_folder_comes_alone(home: Path) -> None:
    paths = shown(home, str(home / "ocloc"), {})
    assert [path for path in paths if path.startswith(str(home))] == [f"{home}/ocloc"]


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "ZE_ENABLE_ALT_DRIVERS"])
def test_of_what_variables_name_wide_and_relative_folders_are_left_out(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "tools")
    value = f"{home}:{home}/tools/lib:{home}/libigc.so:/:bin"
    paths = shown(home, "/usr/bin/ocloc", {name: value})
    assert [path for path in paths if path.startswith(str(home))] == [f"{home}/tools/lib"]
    assert "/" not in paths

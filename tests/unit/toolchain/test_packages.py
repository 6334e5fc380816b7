"""The commands that bring what is missing, on systems whose packages have different names."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from kernlens.errors import ToolError
from kernlens.toolchain import packages
from kernlens.toolchain.clang import find_front_end
from kernlens.toolchain.packages import how_to_get, reinstall

#: Some packages of releases, as ``apt-cache pkgnames`` names them.
BOOKWORM = (
    "clang-15", "clang-16", "clang-19", "intel-opencl-icd", "libigc1", "libigc-dev", "libigc-tools", "libze1", "llvm-15",
    "llvm-spirv-15", "llvm-19", "spirv-tools",
)  # fmt: skip
TRIXIE = ("clang-17", "clang-19", "libze1", "llvm-17", "llvm-spirv-17", "llvm-spirv-19", "llvm-19", "spirv-tools")
FORKY = ("intel-ocloc", "intel-opencl-icd", "libigc2", "libigc2-tools", "libze-intel-gpu1", "libze1", "spirv-tools")
NEWEST = "kernlens toolchain add newest"
#: What it brings needs no package, nor root.
OR_NEWEST = f", or without root: {NEWEST}"


def with_packages(folder: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an apt-cache into PATH, alone, that has these packages."""
    folder.mkdir()
    program = folder / "apt-cache"
    program.write_text("#!/bin/sh\n" + "".join(f"echo {name}\n" for name in names))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("release", "program", "command"),
    [
        (BOOKWORM, "ocloc", "apt install intel-opencl-icd" + OR_NEWEST),
        (TRIXIE, "ocloc", NEWEST),
        (FORKY, "ocloc", "apt install intel-ocloc" + OR_NEWEST),
        (BOOKWORM, "libiga64", "apt install libigc1" + OR_NEWEST),
        (TRIXIE, "libiga64", NEWEST),
        (FORKY, "libiga64", "apt install libigc2" + OR_NEWEST),
        (BOOKWORM, "libze_intel_gpu.so.1", "apt install intel-opencl-icd" + OR_NEWEST),
        (FORKY, "libze_intel_gpu.so.1", "apt install libze-intel-gpu1" + OR_NEWEST),
        (BOOKWORM, "llvm-dis", "apt install llvm-19"),
        (TRIXIE, "llvm-dis-17", "apt install llvm-17"),
        (TRIXIE, "spirv-link", "apt install spirv-tools"),
        (FORKY, "clang-15", "this system's package that holds clang-15"),
        ((), "spirv-dis", "apt update, which lists packages; then the one that holds spirv-dis"),
    ],
)
def test_packages_are_those_that_apt_has(
    release: tuple[str, ...], program: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_packages(tmp_path / "bin", release, monkeypatch)
    assert how_to_get(program) == command


def test_a_system_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert how_to_get("ocloc") == NEWEST
    assert how_to_get("spirv-dis") == "this system's package that holds spirv-dis"


@pytest.mark.parametrize(
    ("release", "command"),
    [(BOOKWORM, "apt install clang-15 llvm-spirv-15"), (TRIXIE, "apt install clang-17 llvm-spirv-17")],
)
def test_the_front_end_is_one_whose_parts_are_packaged(
    release: tuple[str, ...], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_packages(tmp_path / "bin", release, monkeypatch)
    with pytest.raises(ToolError, match=f"to get them: {command}$"):
        find_front_end()


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        (None, "kernlens"),
        ({"url": "file:///", "dir_info": {}}, "/"),
        ({"url": "file:///", "dir_info": {"editable": True}}, "--editable /"),
        ({"url": "file:///no/such/folder"}, "FOLDER, the one of kernlens's sources"),
        ({"url": "https://example.org/kernlens.zip"}, "https://example.org/kernlens.zip"),
    ],
)
def test_kernlens_comes_again_from_where_it_came(
    origin: dict[str, object] | None, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distribution:
        @staticmethod
        def read_text(name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution)
    assert reinstall() == f"pip install --force-reinstall --no-deps {place}"


def test_an_apt_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "apt-cache"
    program.write_text("#!/bin/sh\nsleep 5\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(packages, "_TIMEOUT", 0.1)
    assert how_to_get("ocloc") == NEWEST

"""Repositories and file names of others: no setting of a repository starts a program, no name is taken for an option."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError, UnsupportedError
from kernlens.toolchain import amd_clang
from kernlens.toolchain.amd_clang import amd_devices_of, compile_for_amd
from kernlens.toolchain.clang import compile_library, find_front_end
from kernlens.toolchain.sources.includes import operand, source_options
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.sources import git_repository
from kernlens.verbs.sources.git_repository import Repository
from tests.writers import repositories

TEXT = "kernel void k(global int *p) { *p = 1; }\n"


@pytest.fixture
def partial(tmp_path: Path) -> tuple[Path, Path]:
    """Return a repository that lacks an object, whose settings say that a program gets it, and the file that this makes."""
    proof, program = tmp_path / "proof", tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    written = repositories.Repository(tmp_path / "repository")
    written.commit("First", {"a.cl": TEXT})
    number = repositories.git(written.folder, "rev-parse", "HEAD:a.cl").strip()
    (written.folder / ".git" / "objects" / number[:2] / number[2:]).unlink()
    for name, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"), ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{program}"), ("protocol.ext.allow", "always"), ("protocol.allow", "always"),
    ):  # fmt: skip
        repositories.git(written.folder, "config", name, value)
    return written.folder, proof


def ask(folder: Path) -> None:
    with Repository(str(folder)) as repository:
        entries = repository.entries(repository.commit("HEAD"))
        with pytest.raises(KernlensError, match=r"has no object|ended early"):
            repository.content(entries["a.cl"].id)


def test_no_setting_of_a_repository_starts_a_program(partial: tuple[Path, Path]) -> None:
    folder, proof = partial
    ask(folder)
    assert not proof.exists()


@pytest.mark.parametrize(("left_out", "is_started"), [("GIT_NO_LAZY_FETCH", False), ("both", True)])
def test_each_of_two_guards_is_enough(
    left_out: str, is_started: bool, partial: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, proof = partial
    gone = {"GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"} if left_out == "both" else {left_out}
    variables = {name: value for name, value in git_repository._VARIABLES.items() if name not in gone}
    monkeypatch.setattr(git_repository, "_VARIABLES", variables)
    ask(folder)
    assert proof.exists() == is_started


def test_names_that_look_like_options() -> None:
    assert [operand(name) for name in ("-Dx.cl", "@x.cl", "a/-x.cl", "/-x")] == [
        "./-Dx.cl",
        "./@x.cl",
        "a/-x.cl",
        "/-x",
    ]
    options = source_options(Path("-Dx.cl"), "-gline-tables-only", naming=["-gline-tables-only"], folder="/f")
    assert options == "-gline-tables-only -s ./-Dx.cl"


@pytest.mark.parametrize("name", ["-Dx.cl", "@x.cl", "-include", "--version"])
def test_a_file_of_such_a_name_is_compiled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(TEXT)
    if shutil.which("clang-15") is None or find_front_end() is None:
        pytest.skip("clang-15 is not installed: apt install clang-15 llvm-spirv-15")
    assert compile_library(name).spirv
    chosen = toolchain("system")
    if devices := amd_devices_of(chosen):
        assert compile_for_amd(name, next(iter(devices)), "", chosen, 60.0).ok


def test_spirv_is_refused_before_a_compiler_of_amds_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "a.spv"
    module.write_bytes((0x07230203).to_bytes(4, "little") + bytes(16))
    monkeypatch.setattr(amd_clang, "check_amd_device", lambda device, chosen: device)
    monkeypatch.setattr(amd_clang, "amd_compiler", lambda chosen: "/usr/bin/false")
    with pytest.raises(UnsupportedError, match="SPIR-V, which Debian's clang does not compile for AMD's GPUs"):
        compile_for_amd(str(module), "gfx1030", "", toolchain("system"), 60.0)


def test_a_folder_of_a_repository_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"there is no folder .*absent; name a folder of a git repository"):
        Repository(str(tmp_path / "absent"))

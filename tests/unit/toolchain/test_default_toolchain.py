"""The toolchain that works where none is chosen: a variable, kernlens.toml, the system's, or the only one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.errors import FormatError, KernlensError, NotFoundError
from kernlens.toolchain.toolchains import Toolchain, default_toolchain, find_toolchains, toolchain
from kernlens.verbs import doctor
from kernlens.verbs.capture.capture import capture
from tests.unit.conftest import Kernlens
from tests.writers.programs import decoded, write_compiler


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and a machine without a compiler."""
    path = tmp_path / "project"
    path.mkdir()
    (tmp_path / "toolchains").mkdir()
    monkeypatch.chdir(path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("KERNLENS_NEWEST_ROOT", raising=False)
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path / "toolchains"))
    for variable in ("KERNLENS_NEWEST_ROOT", "KERNLENS_TOOLCHAIN"):
        monkeypatch.delenv(variable, raising=False)
    return path


def register(tmp_path: Path, *names: str) -> None:
    for name in names:
        (tmp_path / "toolchains" / name / "usr").mkdir(parents=True)


def with_loader(tmp_path: Path) -> Path:
    """Register ``newest`` with a script in place of its dynamic loader; return its folder of programs, not made yet."""
    register(tmp_path, "newest")
    root = tmp_path / "toolchains/newest"
    loader = root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    loader.write_text('#!/bin/sh\nPATH=/usr/bin:/bin; shift 2; exec "$@"\n')
    loader.chmod(0o755)
    return root / "usr/bin"


def test_the_system_is_first_where_it_has_a_compiler(tmp_path: Path) -> None:
    register(tmp_path, "newest")
    write_compiler(tmp_path / "bin")
    assert default_toolchain() == "system"
    assert toolchain().name == "system"


def test_without_a_compiler_of_the_systems(tmp_path: Path) -> None:
    assert toolchain().name == "system"
    register(tmp_path, "older", "another")
    assert toolchain().name == "another"
    register(tmp_path, "newest")
    assert toolchain().name == "newest"
    assert toolchain("system").name == "system"


def test_a_choice_goes_before_the_system(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(tmp_path, "newest", "older")
    write_compiler(tmp_path / "bin")
    (folder / "kernlens.toml").write_text('toolchain = "older"\n[kernel."*"]\nmax-spill = 0\n')
    assert default_toolchain() == "older"
    monkeypatch.setenv("KERNLENS_TOOLCHAIN", "newest")
    assert default_toolchain() == "newest"
    monkeypatch.setenv("KERNLENS_TOOLCHAIN", "gone")
    with pytest.raises(NotFoundError, match=r"'gone', the default \(KERNLENS_TOOLCHAIN, .*: system, newest, older"):
        toolchain()


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "kernlens.toml").write_text("toolchain = 3\n")
    with pytest.raises(KernlensError, match=r"kernlens\.toml: toolchain must be the name of a toolchain, not 3"):
        default_toolchain()
    (folder / "kernlens.toml").write_text("toolchain = \n")
    with pytest.raises(FormatError, match=r"kernlens\.toml: invalid TOML"):
        default_toolchain()


def test_the_default_compiles(
    kernlens: Kernlens, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path / "toolchains"))  # The command line's fixture has none.
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    script = write_compiler(with_loader(tmp_path))
    (folder / "k.cl").write_text("kernel void k() {}\n")
    for words in (["compile"], ["compile", "--toolchain", "newest"], ["sweep"], ["check", "--max-slm", "0"]):
        done = kernlens(*words, "k.cl", "--device", "skl")
        assert done.status == 0, (words, done.err)
    assert len((script.parent / "calls").read_text().splitlines()) == 4


def test_doctor_needs_no_compiler_of_the_systems(tmp_path: Path) -> None:
    bare = doctor._compiler(toolchain("system"), default_toolchain())
    assert bare.needed
    register(tmp_path, "newest")
    system, newest = (doctor._compiler(toolchain(name), default_toolchain()) for name in ("system", "newest"))
    assert (system.finding, system.needed) == ("no ocloc; newest is the default", False)
    assert newest.needed
    assert newest.fix == "kernlens toolchain remove newest, then add it again"


def test_doctor_sees_the_driver_of_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = doctor.Check("Level Zero driver", False, "no such file", "apt install intel-opencl-icd", "link")
    monkeypatch.setattr(doctor, "_library", lambda name, files, serves: absent)
    register(tmp_path, "newest")
    assert doctor._level_zero_driver(find_toolchains()) == absent
    library = tmp_path / "toolchains/newest/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1"
    library.parent.mkdir(parents=True)
    library.write_text("")
    check = doctor._level_zero_driver(find_toolchains())
    assert (check.works, check.finding) == (True, "of toolchain newest, for simulated devices")


def test_a_root_that_has_a_compiler_is_the_next_step(
    kernlens: Kernlens, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not "kernlens toolchain add newest", where that is there: system was asked for by name."""
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path / "toolchains"))  # The command line's fixture has none.
    (folder / "k.cl").write_text("kernel void k() {}\n")
    script = write_compiler(with_loader(tmp_path))
    words = ("--toolchain", "system")
    assert script.is_file()
    done = kernlens("compile", "k.cl", "--device", "dg2", *words)
    assert done.err == "kernlens: there is no compiler: ocloc was not found; newest has one: --toolchain newest\n"
    done = kernlens("run", "--simulate", "dg2", *words, "--", "true")
    assert done.err.endswith("so it simulates no device; add --toolchain newest\n")
    done = kernlens("toolchain", "list")
    assert re.fullmatch(r"  system +- +\S+ +/ \((no compiler|clang \S+ for AMD)\)", done.out.splitlines()[1])


FIRST_CHECKS = """
import itertools, logging
from kernlens.verbs.doctor import checks
logging.basicConfig(level=logging.DEBUG)
list(itertools.islice(checks(), 2))
"""


def test_doctor_looks_for_a_disassembler_in_roots_too(tmp_path: Path) -> None:
    register(tmp_path, "newest")
    library = tmp_path / "toolchains/newest/usr/lib/x86_64-linux-gnu/libiga64.so.2"
    library.parent.mkdir(parents=True)
    library.write_text("no library")
    # In a process of its own: what was looked for once is looked for by all later tests.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", FIRST_CHECKS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(library) in done.stderr


def test_an_application_keeps_the_machines_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device to simulate, a default that compiles is no reason to run on another driver."""
    asked = []

    def find(name: str) -> Toolchain:
        asked.append(name)
        raise NotFoundError("enough")

    monkeypatch.setenv("KERNLENS_TOOLCHAIN", "newest")
    monkeypatch.setattr("kernlens.verbs.capture.capture.find_toolchain", find)
    for device in (None, "dg2"):
        with pytest.raises(NotFoundError, match="enough"):
            capture(["true"], simulate=device)
    assert asked == ["system", ""]


def test_a_root_of_clang_is_no_default(tmp_path: Path) -> None:
    """A root made for AMD's GPUs compiles for no other device."""
    register(tmp_path, "amd")
    clang = tmp_path / "toolchains/amd/usr/lib/llvm-15/bin/clang"
    clang.parent.mkdir(parents=True)
    clang.write_text("")
    assert default_toolchain() == "system"
    register(tmp_path, "other")
    assert default_toolchain() == "other"

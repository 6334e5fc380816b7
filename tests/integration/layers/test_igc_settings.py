"""The settings of the IGC library in a process: in each layout that its versions had, and in the real libraries here.

``KERNLENS_IGC_LIBRARIES`` names more of them, separated by colons: ``libigc.so.1`` of other releases of Debian, with what it
needs beside it or where the dynamic loader looks.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kernlens.toolchain.toolchains import of_root
from tests.tree import ROOT
from tests.whole import each_run

HERE = Path(__file__).parent / "igc_settings"
NATIVE = ROOT / "native"

#: How large a value is in each layout of made_library.cpp.
SIZES = {1: 256, 2: 256, 3: 1024, 4: 1024, 5: 1024}
MADE_SETTINGS = 214

OTHERS = [path for path in os.environ.get("KERNLENS_IGC_LIBRARIES", "").split(":") if path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("igc-settings") / "settings_test"
    igc = NATIVE / "opencl_layer" / "compilers" / "igc"
    sources = [HERE / "settings_test.c", *NATIVE.glob("base/*.c")]
    sources += [igc / f"{name}.c" for name in ("settings", "settings_table")]
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
    subprocess.run(["gcc", *flags, "-o", built, *sources, "-ldl", "-lpthread"], check=True, timeout=120)
    return built


def settings(*command: str | Path, **more: str) -> tuple[int, int]:
    """How many settings there are, and how large a value is."""
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    count, size = done.stdout.split()
    return int(count), int(size)


@pytest.mark.parametrize("layout", SIZES)
@pytest.mark.parametrize("flags", each_run("-O2 -fcf-protection=full", others=["-O2 -fcf-protection=none"]))
def test_each_layout(layout: int, flags: str, program: Path, tmp_path: Path) -> None:
    library = tmp_path / "libigc.so.1"
    source = HERE / "made_library.cpp"
    subprocess.run(
        ["g++", "-shared", "-fPIC", *flags.split(), f"-DLAYOUT={layout}", "-o", library, source],
        check=True,
        timeout=300,
    )
    assert settings(program, library) == (MADE_SETTINGS, SIZES[layout])


def test_a_library_without_settings_is_searched_once(program: Path, tmp_path: Path) -> None:
    library = tmp_path / "libigc.so.1"
    command = ["g++", "-shared", "-fPIC", "-DLAYOUT=5", "-o", str(library), str(HERE / "made_library.cpp")]
    subprocess.run(command, check=True, timeout=300)
    subprocess.run([program, library, "hidden"], check=True, timeout=60)


def test_the_real_library_of_this_machine(program: Path) -> None:
    (library,) = Path("/usr/lib/x86_64-linux-gnu").glob("libigc.so.1.0.*")
    copy = program.parent / "libigc.so.1"
    copy.unlink(missing_ok=True)
    copy.symlink_to(library)
    assert settings(program, copy) == (703, 1024)


def test_the_real_library_of_the_newest_root(program: Path, newest_root: Path) -> None:
    chosen = of_root("newest", newest_root)
    library = newest_root / "usr/lib/x86_64-linux-gnu/libigc.so.2"
    count, size = settings(*map(str, chosen.command(program, str(library))), **chosen.environment())
    assert count > 900
    assert size == 1024


@pytest.mark.skipif(
    not OTHERS, reason="KERNLENS_IGC_LIBRARIES names no libigc.so.1 of another release (docs/testing.md)"
)
@pytest.mark.parametrize("library", OTHERS)
def test_other_real_libraries(library: str, program: Path, newest_root: Path) -> None:
    """With the C library of the newest root, as newer releases need it, and with what lies beside the library."""
    loader, _, folders, *_ = of_root("newest", newest_root).command(program)
    count, size = settings(loader, "--library-path", f"{folders}:{Path(library).parent}", program, library)
    assert count > 200
    assert size in (256, 1024)

"""The layer and the application's process: forks, limits, signals, other processes' environment, what a killed one leaves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.layers.layer_trials import Amount, limited, trials
from tests.integration.layers.opencl_layer_fixtures import (
    BUILDER,
    HEADERS,
    LAYER,
    Platform,
    led,
    passed,
    place,
    platform,
    work,
)
from tests.whole import before_release

__all__ = ["place", "platform", "work"]

BOTH = ("pocl", "dg2")
CHILDREN = 60
HELD = 16 * 1024


@before_release
@pytest.mark.parametrize("platform", BOTH, indirect=True)
def test_under_stress(platform: Platform, place: Path, tmp_path: Path) -> None:
    """In brief; ``python -m tests.integration.layers.layer_stress`` is the whole of it.

    Each run has the same with the sanitizers in the layer (test_native_sanitizers.py).
    """
    for _, trial in trials(platform, place, tmp_path, Amount(children=CHILDREN, threads=8)):
        trial()


STAGES = {"PoCL": ("llvm", "object"), "driver A, dg2": ("spirv", "llvm-codegen", "visa", "gen-assembly", "resources")}


@pytest.mark.parametrize("size", [0, 512, HELD])
@pytest.mark.parametrize("platform", BOTH, indirect=True)
def test_limit_of_file_sizes(platform: Platform, place: Path, size: int, tmp_path: Path) -> None:
    """Neither the compiler's files nor ours, nor the message of it, raise SIGXFSZ in the application."""
    full = tmp_path / "log"
    full.write_bytes(b"-" * size)
    build = ["refused"] if platform.name == "PoCL" else []  # its own build needs larger files
    for stage in STAGES[platform.name]:
        result = limited(platform, size).run(place, "limited", stage, *build, KERNLENS_SNAPSHOT_LOG=str(full))
        passed(result)
    assert full.stat().st_size == size


@pytest.mark.parametrize("platform", ["dg2"], indirect=True)
def test_a_limit_is_the_reason_that_is_told(platform: Platform, place: Path) -> None:
    result = limited(platform, 16).run(place, "limited", "gen-assembly", KERNLENS_SNAPSHOT_LOG="")
    passed(result)
    assert "cannot be handed to the second build: File too large" in result.stderr
    result = limited(platform, 2048).run(place, "limited", "gen-assembly")
    passed(result)
    assert "no snapshot of stage 'gen-assembly'" in result.stderr


@pytest.mark.parametrize("platform", ["dg2"], indirect=True)
def test_nobody_reads_the_messages(platform: Platform, place: Path) -> None:
    """Standard error is a pipe whose other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, **platform.environment, "KERNLENS_SNAPSHOT_DIR": "/proc/self"}
    environment = led(place / LAYER, environment)
    done = subprocess.run(
        [place / "snapshot_test", "limited", "gen-assembly"],
        env=environment,
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=300,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("platform", ["pocl", "cpu", "dg2"], indirect=True)
def test_other_processes_get_no_variables(platform: Platform, place: Path) -> None:
    result = platform.run(place, "child", platform.late)
    passed(result)
    told = {line.partition("=")[0] for line in result.stdout.splitlines() if "=" in line}
    known = {
        *os.environ,
        *platform.environment,
        "OCL_ICD_VENDORS",
        "KERNLENS_OCL_ICD_VENDORS",
        "_",
        "PWD",
        "OLDPWD",
        "SHLVL",
    }
    assert "PATH" in told
    assert not {name for name in told - known if name.startswith(("CL_CONFIG", "IGC_", "POCL_", "KERNLENS"))}


@pytest.mark.parametrize("platform", BOTH, indirect=True)
def test_killed_processes_leave_nothing_for_long(platform: Platform, place: Path, tmp_path: Path) -> None:
    """The next process with the layer removes the folder, and no folder but such a one."""
    stuck = tmp_path / "stuck"
    stuck.mkdir()
    shutil.copy2(place / LAYER, stuck / LAYER)
    (stuck / BUILDER).write_text("#!/bin/sh\nexit 0\n")  # it does not remove the folder either
    (stuck / BUILDER).chmod(0o755)
    folder = tmp_path / "folders"
    folder.mkdir()
    result = platform.run(place, "killed", str(folder), layer=str(stuck / LAYER), KERNLENS_SNAPSHOT_DIR=str(folder))
    assert result.returncode == -signal.SIGKILL, result.stdout
    (left,) = folder.iterdir()
    space, number, start, chance = left.name.removeprefix("kernlens-snapshot-").partition(".")[0].split("-")

    own_folder = tmp_path / "kept"
    own_folder.mkdir()
    (own_folder / "file").touch()
    (left / "deep").mkdir(exist_ok=True)
    (left / "deep" / "link").symlink_to(own_folder)
    own = f"{os.getpid():x}"
    with open(f"/proc/{os.getpid()}/stat", encoding="ascii") as file:
        own_start = int(file.read().rpartition(")")[2].split()[19])
    others = [
        f"kernlens-snapshot-{space}-{own}-{own_start:x}-{chance}",  # alive
        f"kernlens-snapshot-{int(space, 16) + 1:x}-{number}-{start}-{chance}",  # of a container
        f"kernlens-snapshot-{space}-{number}-0-{chance}",  # nobody knows
        f"kernlens-snapshot-0-{number}-{start}-{chance}",
        "kernlens-snapshot-0123456789abcdef",  # as earlier versions named them
        "kernlens-snapshot-",
        "another",
    ]
    for name in others:
        (folder / name).mkdir()
    link = folder / f"kernlens-snapshot-{space}-{number}-{start}-1"
    link.symlink_to(own_folder)
    file_of_that_name = folder / f"kernlens-snapshot-{space}-{number}-{start}-2"
    file_of_that_name.touch()
    foreign = folder / f"kernlens-snapshot-{space}-{number}-{start}-3"
    foreign.mkdir()
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
    else:
        foreign.rmdir()
    before = {*others, link.name, file_of_that_name.name, *([foreign.name] if foreign.exists() else [])}

    passed(platform.run(place, "plain", layer=False))
    assert left.exists()
    passed(platform.run(place, "limited", "source", KERNLENS_SNAPSHOT_DIR=str(folder)))
    assert {path.name for path in folder.iterdir()} == before
    assert (own_folder / "file").exists()


@pytest.mark.parametrize("platform", BOTH, indirect=True)
def test_another_compiler_offers_what_can_come(platform: Platform, place: Path, tmp_path: Path) -> None:
    """A program from source of a compiler that the layer does not know: there is no SPIR-V."""
    source = Path(__file__).parent / "preloaded" / "renamed_platform.c"
    renamed = tmp_path / "renamed.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{HEADERS}", "-o", renamed, source], check=True, timeout=60)
    driver = Path(platform.environment["OCL_ICD_VENDORS"]).read_text().strip()
    module = str(place / "module.spv")
    result = platform.run(place, "offered", module, OCL_ICD_VENDORS=str(renamed), RENAMED_DRIVER=driver)
    passed(result)
    offered = [line.split()[1:] for line in result.stdout.splitlines() if line.startswith("offered ")]
    assert offered[0] == ["source", "program"]
    if platform.name != "PoCL":
        assert offered[1] == ["source", "spirv", "program"]

"""An application that a signal ended, also outside builds: the summary says so, and which call of the driver it was in."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from kernlens.verbs.capture.ending import endings
from tests.integration.capture.capture_fixtures import FLAGS, HERE, captured, dg2, folder, platform
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver, level_zero_folder
from tests.integration.layers.opencl_layer_fixtures import Platform

__all__ = ["dg2", "folder", "level_zero_folder", "platform"]


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("crashing") / "app"
    words = ["gcc", *FLAGS, "-o", str(program), str(HERE / "crashing.c"), "-lOpenCL"]
    subprocess.run(words, check=True, timeout=60)
    return str(program)


@pytest.mark.parametrize(
    ("where", "number", "builds", "told"),
    [
        ("before", signal.SIGSEGV, 0, "SIGSEGV ended the application within clGetProgramInfo"),
        ("after", signal.SIGSEGV, 1, "SIGSEGV ended the application within clGetKernelInfo"),
        ("argument", signal.SIGSEGV, 1, "SIGSEGV ended the application within clSetKernelArg"),
        ("fill", signal.SIGSEGV, 1, "SIGSEGV ended the application within clEnqueueFillBuffer"),
        ("outside", signal.SIGABRT, 1, "SIGABRT ended the application"),
    ],
)
def test_a_crash_outside_builds(
    where: str,
    number: signal.Signals,
    builds: int,
    told: str,
    crashing: str,
    platform: Platform,
    folder: Path,
    tmp_path: Path,
) -> None:
    done = captured(platform, folder, tmp_path, crashing, where)
    assert done.status == -number, "as without kernlens"
    assert f"kernlens: {told}\n" in done.err
    assert f"{builds} build" in done.err if builds else "nothing was built" in done.err


def test_of_an_application_that_does_not_crash_nothing_is_said(
    crashing: str, platform: Platform, folder: Path, tmp_path: Path
) -> None:
    done = captured(platform, folder, tmp_path, crashing)
    assert done.status == 0
    assert "ended" not in done.err


def test_a_crash_behind_a_shell(crashing: str, dg2: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(dg2, folder, tmp_path, "sh", "-c", f"{crashing} after; exit $?")
    assert done.status == 128 + signal.SIGSEGV
    assert "ended with status 139, as a shell does when SIGSEGV ended its command" in done.err
    assert "of the application ended within clGetKernelInfo" in done.err
    done = captured(dg2, folder, tmp_path, "sh", "-c", f"{crashing} after; true")
    assert done.status == 0
    assert "of the application ended within clGetKernelInfo" in done.err


def test_a_crash_of_level_zero(level_zero_folder: Path, tmp_path: Path) -> None:
    under = Driver("system", "dg2", level_zero_folder)
    done = under.captured(tmp_path, "crash", variables=UNTRACED)
    assert done.status == -signal.SIGSEGV
    assert "SIGSEGV ended the application within zeKernelCreate\n" in done.err


def test_words_of_endings() -> None:
    calls = {7: ["clFinish"], 8: ["clFlush", "clFinish"]}
    assert list(endings(0, 7, {})) == list(endings(None, None, {})) == list(endings(255, 7, {})) == []
    assert list(endings(-9, 7, calls)) == [
        "SIGKILL ended the application within clFinish",
        "process 8 of the application ended within clFlush and clFinish",
    ]
    assert list(endings(-40, 9, {})) == ["signal 40 ended the application"]
    assert list(endings(None, None, {7: ["clFinish"]})) == ["process 7 of the application ended within clFinish"]

"""Attacks on private files: none succeeds, and each does where its guard is taken out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.__main__ import opened_outside
from tests.tree import ROOT
from tests.whole import before_release


def done(*words: str) -> tuple[int, str]:
    completed = subprocess.run(
        [sys.executable, "-m", "tests.attacks", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return completed.returncode, completed.stdout + completed.stderr


def summary(*words: str) -> tuple[int, str]:
    """The status, and what is said last: before it stands which compilers are not installed."""
    status, text = done(*words)
    return status, text.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("every", ["59", pytest.param("1", marks=before_release)])
def test_no_attack_succeeds(every: str) -> None:
    status, words = summary("--every", every)
    assert (status, words.split(" ", 1)[1]) == (0, "attacks, 0 leaked")


@pytest.mark.slow
@pytest.mark.parametrize("every", ["59", pytest.param("1", marks=before_release)])
def test_each_attack_succeeds_without_its_guard(every: str) -> None:
    status, words = summary("--every", every, "--guards-out")
    count = words.split()[0]
    assert (status, words) == (0, f"{count} attacks, {count} leaked, with the guards out")
    assert every != "1" or int(count) > 850


@before_release
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: apt install strace")
def test_nothing_is_opened_outside() -> None:
    status, words = done("--strace")
    assert (status, words.splitlines()[-1].split(" opened, ")[1]) == (0, "0 outside"), words


def test_what_strace_shows_is_read(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(
        '7 openat(AT_FDCWD</a>, "b", O_RDONLY) = 3</a/b>\n'
        '7 openat(AT_FDCWD</a>, "/etc/shadow", O_RDONLY) = -1 EACCES (Permission denied)\n'
        '7 open("/c", O_RDONLY|O_CLOEXEC) = 4</c>\n'
        '7 openat(AT_FDCWD</a>, ".hidden/k", O_RDONLY) = 3</a/.hidden/k>\n'
    )
    assert opened_outside(trace, ("/a",)) == (3, ["/c", "/a/.hidden/k"])

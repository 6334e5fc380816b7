"""scripts/setup.sh says what it installs and how large that is, and installs for a release alone what only that needs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.tree import ROOT

#: Instead of packages and an environment: what would be installed.
_TOLD = (
    'install_packages() { echo "install $*"; }; make_environment() { echo "environment $1"; }; is_installed() { true; }'
)


def told(words: str, home: Path, **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **variables}
    script = f"source {ROOT}/scripts/setup.sh; VENV={home}/.venv; {_TOLD}; {words}"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_sizes_are_told_with_what_is_there(tmp_path: Path) -> None:
    words = told("say_needs test", tmp_path)
    assert ".venv with what 'test' needs (2700 MB, missing)" in words
    assert "driver (94 MB to fetch, 430 MB on the disk, missing)" in words
    (tmp_path / ".cache/kernlens-tests/toolchains/newest").mkdir(parents=True)
    assert "430 MB on the disk, there already" in told("say_needs test", tmp_path)


def test_a_demonstration_needs_little(tmp_path: Path) -> None:
    (line,) = told("say_needs run", tmp_path).splitlines()
    assert ".venv with what 'run' needs (70 MB, missing)" in line
    installed = told("set_up run", tmp_path)
    assert "chromium" not in installed
    assert "environment run" in installed


@pytest.mark.parametrize(
    ("variables", "is_installed"),
    [({}, False), ({"KERNLENS_WHOLE": "1"}, True), ({"KERNLENS_VALGRIND": "brief"}, True)],
)
def test_what_a_release_alone_needs(tmp_path: Path, variables: dict[str, str], is_installed: bool) -> None:
    installed = told("set_up test", tmp_path, **variables)
    assert "chromium" in installed
    assert ("valgrind" in installed, "darktable" in installed) == (is_installed, is_installed)

"""The tests' environment: what a user has in the home folder and sets in variables changes no test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

#: What a test sees of the machine, printed by one.
SEEN = """
import json, os, sys
from pathlib import Path
from kernlens.toolchain.compile_cache import cache_folder
from kernlens.toolchain.registered import roots

def test_seen():
    home = Path.home()
    seen = {"roots": [*roots()], "cache": str(cache_folder()), "home": sorted(map(str, home.rglob("*")))}
    seen |= {"is_home": home.is_dir(), "variables": dict(os.environ)}
    Path(os.environ["KERNLENS_TEST_SEEN"]).write_text(json.dumps(seen))
"""
#: Variables that a user may have set, each of which changes an answer of kernlens, a driver or a compiler.
USERS = {
    "KERNLENS_TOOLCHAIN": "newest",
    "KERNLENS_LOG": "debug",
    "KERNLENS_IGA_PATH": "/nowhere/libiga64.so",
    "IGC_VISAOptions": "-noSuchOption",
    "OCL_ICD_VENDORS": "/nowhere",
    "OPENCL_LAYERS": "/nowhere/layer.so",
    "XDG_DATA_HOME": "/nowhere/share",
    "NEOReadDebugKeys": "1",
    "NO_COLOR": "1",
    "COLUMNS": "40",
    "LC_ALL": "C",
}
#: Names a program that no package of Debian has, for the tests that need it (docs/testing.md).
TESTERS = {"KERNLENS_NVDISASM": "/opt/nvdisasm"}


@pytest.mark.slow
@pytest.mark.parametrize("is_distributed", [False, True], ids=["one process", "xdist"])
def test_nothing_of_the_users_is_seen(is_distributed: bool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".local/share/kernlens/toolchains/newest/usr/bin").mkdir(parents=True)
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text("[global]\n")
    test = tmp_path / "tests/test_seen.py"
    test.parent.mkdir()
    test.write_text(SEEN)
    (tmp_path / "tests/conftest.py").write_text("from tests.conftest import *\n")
    variables = {**os.environ, **USERS, **TESTERS, "HOME": str(home), "KERNLENS_TEST_SEEN": str(tmp_path / "seen.json")}
    for own in ("KERNLENS_TEST_HOME", "KERNLENS_TEST_CACHE", "KERNLENS_NEWEST_ROOT", "PIP_CONFIG_FILE"):
        variables.pop(own, None)
    words = ["-n", "1"] if is_distributed else []
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        *words,
        str(test),
    ]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["roots"], seen["cache"], seen["home"], seen["is_home"]) == ([], "None", [], True)
    assert not USERS.keys() & seen["variables"].keys()
    assert seen["variables"].items() >= TESTERS.items()
    assert seen["variables"]["KERNLENS_TEST_CACHE"] == str(home / ".cache/kernlens-tests")
    assert seen["variables"]["PIP_CONFIG_FILE"] == str(home / ".config/pip/pip.conf")
    assert not Path(seen["variables"]["HOME"]).exists()  # It is removed at the end.


def test_this_test_runs_in_it() -> None:
    assert Path.home().name.startswith("kernlens-home-")
    assert os.environ["KERNLENS_CACHE"] == "off"

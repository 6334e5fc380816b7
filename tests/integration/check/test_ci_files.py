"""The files for CI of the examples, run from their YAML with a real compiler; what they would install is here already."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kernlens
from tests.ci_runners import run_action, run_gitlab, run_hook
from tests.tree import ROOT

ACTION, GITLAB = ROOT / "examples/ci/github/action.yml", ROOT / "examples/ci/gitlab.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
#: A stand-in for what installs something: it writes down how it was called.
NOTED = '#!/bin/sh\necho "$(basename "$0") $*" >> {calls}\n'
#: The command, but for what would fetch a compiler.
COMMAND = """\
#!/bin/sh
if [ "$1 $2" = "toolchain add" ]; then echo "kernlens $*" >> {calls}; exit; fi
exec {python} -m kernlens "$@"
"""
#: python3 -m venv FOLDER, without what that takes.
VENV = """\
#!/bin/sh
echo "python3 $*" >> {calls}
mkdir -p "$3/bin" && cp {stubs}/pip {stubs}/kernlens "$3/bin/"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with two kernels, whose limits tone.cl exceeds."""
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copytree(ROOT / "examples/kernels", folder / "kernels")
    (folder / "kernlens.toml").write_text('[kernel."*"]\nmin-simd = 16\nmax-code-size = 9000\n')
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine where nothing is installed: stubs stand in for what installs."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    words = {"calls": tmp_path / "calls", "python": sys.executable, "stubs": stubs}
    (tmp_path / "calls").touch()
    for name, text in (("sudo", NOTED), ("pip", NOTED), ("kernlens", COMMAND), ("python3", VENV)):
        (stubs / name).write_text(text.format(**words))
        (stubs / name).chmod(0o755)
    package = str(Path(kernlens.__file__).parents[1])
    return {**os.environ, "PATH": f"{stubs}:{os.environ['PATH']}", "PYTHONPATH": package}


def test_the_github_action(folder: Path, environment: dict[str, str], tmp_path: Path, newest_root: Path) -> None:
    environment["KERNLENS_NEWEST_ROOT"] = str(newest_root)
    paths = "kernels/blur.cl kernels/tone.cl"
    inputs = {"paths": paths, "device": "dg2", "package": "kernlens.whl", "mirror": "http://mirror"}
    ran = run_action(ACTION, inputs, folder, environment, tmp_path)
    assert ran.status == 1, ran.output
    assert "tone  tone on dg2 (12.55.8) by newest\n  max-code-size: code size" in ran.output
    assert ran.called == {
        "github/codeql-action/upload-sarif@v3": {"sarif_file": "kernlens.sarif", "category": "kernlens"},
        "actions/upload-artifact@v4": {"name": "kernlens-junit", "path": "kernlens.xml"},
    }
    assert (tmp_path / "calls").read_text().splitlines() == [
        "sudo apt-get install -y debian-archive-keyring",
        f"python3 -m venv {tmp_path}/kernlens",
        "pip install kernlens.whl",
        "kernlens toolchain add newest --mirror http://mirror",
    ]
    (result,) = json.loads((folder / "kernlens.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "kernels/tone.cl"}
    cases = list(ElementTree.parse(folder / "kernlens.xml").iter("testcase"))
    assert [case.find("failure") is not None for case in cases].count(True) == 1
    assert {case.get("classname") for case in cases} == {f"{path} on dg2 by newest" for path in paths.split()}


def test_the_github_action_of_what_does_not_compile(folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (folder / "kernels/broken.cl").write_text("kernel void f( {}\n")
    inputs = {"paths": "kernels/broken.cl", "device": "dg2", "package": "x", "mirror": "x", "toolchain": "system"}
    ran = run_action(ACTION, inputs, folder, environment, tmp_path)
    assert (ran.status, "broken.cl" in ran.output) == (3, True)
    assert len(ran.called) == 2, "both files say that it does not compile"
    (case,) = ElementTree.parse(folder / "kernlens.xml").iter("testcase")
    assert case.find("error") is not None


def test_the_gitlab_job(folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    own = {"KERNLENS_PACKAGE": "kernlens.whl", "KERNLENS_PATHS": "kernels", "KERNLENS_TOOLCHAIN": "system"}
    ran = run_gitlab(GITLAB, folder, environment, own | {"KERNLENS_PATHS": "kernels/blur.cl kernels/tone.cl"})
    assert ran.status == 1, ran.output
    assert "tone  tone on dg2 (12.55.8) by system\n" in ran.output
    assert ran.called == {"kernlens.sarif": {"is there": "True"}, "kernlens.xml": {"is there": "True"}}
    calls = ["pip install kernlens.whl", "kernlens toolchain add newest"]
    assert (tmp_path / "calls").read_text().splitlines() == calls
    checked = run_gitlab(GITLAB, folder, environment, own | {"KERNLENS_PATHS": "kernels/blur.cl"})
    assert (checked.status, "all kept" in checked.output) == (0, True)


def test_the_hook_of_pre_commit(folder: Path, environment: dict[str, str]) -> None:
    words = ("--device", "dg2")
    for files, status, shown in (
        (("kernels/blur.cl", "README.md"), 0, "1 kernel, 0 unread, 2 bounds checked: all kept"),
        (("kernels/blur.cl", "kernels/tone.cl"), 1, "max-code-size: code size 10,056, at most 9,000"),
        (("README.md",), 0, ""),
    ):
        ran = run_hook(HOOKS, "kernlens-check", files, words, folder, environment)
        assert (ran.status, shown in ran.output) == (status, True), ran.output

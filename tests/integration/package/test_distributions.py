"""scripts/build.sh: the sdist holds all that is needed to work on kernlens, the wheel runs on any recent Linux."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.whole import before_release


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What scripts/build.sh makes first, without an environment of its own and without a wheel."""
    folder, scratch = tmp_path_factory.mktemp("sdist"), tmp_path_factory.mktemp("egg")
    words = ["-q", "egg_info", "--egg-base", str(scratch), "sdist", "--dist-dir", str(folder)]
    subprocess.run([sys.executable, "setup.py", *words], cwd=ROOT, check=True, capture_output=True, timeout=600)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["bash", str(ROOT / "scripts/build.sh"), str(folder)], check=True, capture_output=True, timeout=600)
    return folder


def test_the_sdist_holds_every_file_of_the_project(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )
    files = {name for name in listed if name and not name.startswith((".ci/", ".git"))}
    assert files - held == set()
    assert {name for name in held if name.endswith((".so", ".pyc"))} == set()


@pytest.mark.parametrize("tree", ["", "https://pages.invalid/kernlens/v1/"])
def test_an_index_shows_no_link_that_leads_nowhere(tree: str, tmp_path: Path) -> None:
    words = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    environment = {**os.environ, "KERNLENS_TREE": tree}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True, capture_output=True)
    fields, _, page = (tmp_path / "kernlens.egg-info/PKG-INFO").read_text().partition("\n\n")
    assert "License-Expression: Apache-2.0 AND MIT\n" in fields
    assert "Description-Content-Type: text/markdown\n" in fields
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert all(link.startswith("https://") for link in links), links
    relative = len(re.findall(r"\]\((?!https?://)", (ROOT / "README.md").read_text()))
    assert relative > 5
    assert sum(link.startswith(tree or "nothing") for link in links) == (relative if tree else 0)


@before_release
def test_the_wheel_is_for_any_recent_linux_and_works_alone(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("kernlens-*.whl")
    assert "-cp311-abi3-manylinux_2_" in path.name
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert {"kernlens/py.typed", "kernlens/explorer/viewer/viewer.js", "kernlens/explorer/viewer/notebook.js"} <= set(
        names
    )
    for layer in ("opencl", "level_zero"):
        assert f"kernlens/native/libkernlens_{layer}_layer.so" in names
    programs = ("assembler", "confine", "demangler", "disassembler")
    assert {f"kernlens/native/kernlens_{program}" for program in programs} <= set(names)
    assert not any("libze_intel_gpu" in name for name in names), "the driver is not part of the wheel"
    shared = {name.partition(".data/data/share/")[2] for name in names}
    examples = {path.relative_to(ROOT) for path in (ROOT / "examples").rglob("*.*") if path.suffix != ".pyc"}
    assert {"man/man1/kernlens.1", *(f"kernlens/{path}" for path in examples)} <= shared
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kernlens.cli.main import main; main()"
    for words in (["--version"], ["layer", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), *words],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "kernlens 0.1" in done.stdout or str(tmp_path) in done.stdout

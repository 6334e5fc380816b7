"""The newest toolchain's root, built for real: needs Debian's mirror."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, ToolError
from kernlens.toolchain import roots
from kernlens.toolchain.apt import debian_mirror
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import find_toolchains
from tests.whole import before_release

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="roots hold Linux programs")

#: A shell starts what runs in its background with SIGINT ignored, and children inherit that.
ADD = """
import signal
from kernlens.toolchain import roots
signal.signal(signal.SIGINT, signal.default_int_handler)
roots.add("newest", on_progress=lambda line: print(line, flush=True))
"""


@pytest.fixture(scope="module")
def mirror() -> str:
    """apt's mirror, if it answers; else these tests are named in the summary."""
    try:
        address = debian_mirror()
        with urllib.request.urlopen(f"{address}/dists/{roots.SUITE}/Release", timeout=20) as answer:
            answer.read(100)
    except (KernlensError, urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"no Debian mirror: {error}")
    return address


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "toolchains"
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(path))
    monkeypatch.delenv("KERNLENS_NEWEST_ROOT", raising=False)
    return path


def begin() -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", ADD]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize(
    ("ending", "step"),
    [
        (signal.SIGKILL, "Retrieving"),
        pytest.param(signal.SIGKILL, "Unpacking", marks=before_release),
        (signal.SIGINT, "Retrieving"),
    ],
)
def test_an_interrupted_add_leaves_nothing_half_done(
    ending: signal.Signals, step: str, mirror: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin() as child:
        assert child.stdout is not None
        assert child.stderr is not None
        if not any(line.startswith(step) for line in child.stdout):
            pytest.skip(f"the mirror gave up before {step}: {child.stderr.read().splitlines()[-1:]}")
        child.send_signal(ending)
        child.stdout.read()
    assert child.returncode != 0
    assert [chain.name for chain in find_toolchains()] == ["system"]
    left = [path.name for path in folder.iterdir() if path.name != ".lock"]
    # Killed, it cannot clean up after itself; interrupted from the keyboard it does.
    assert len(left) == (1 if ending == signal.SIGKILL else 0)
    # The next add removes it, and waits for what the killed one left running, however long that takes here.
    monkeypatch.setattr(roots, "LOCK_TIMEOUT", 3600.0)
    with pytest.raises(ToolError, match="the packages could not be had from"):
        roots.add("newest", mirror="http://127.0.0.1:9/debian")
    assert [path.name for path in folder.iterdir()] == [".lock"]


def test_a_mirror_that_does_not_answer(folder: Path) -> None:
    with pytest.raises(ToolError, match=r"127\.0\.0\.1:9/debian: .*; try another mirror with --mirror URL") as caught:
        roots.add("newest", mirror="http://127.0.0.1:9/debian")
    assert caught.value.log
    assert caught.value.command
    assert [path.name for path in folder.iterdir()] == [".lock"]


@before_release
def test_added_used_and_removed(mirror: str, folder: Path, tmp_path: Path) -> None:
    printed: list[str] = []
    added = roots.add("newest", on_progress=printed.append)
    assert printed[-1] == "Toolchain newest is ready"
    assert any(line.startswith("Retrieving intel-ocloc") for line in printed)
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "newest"]
    assert added.release is not None
    assert added.release >= (26, 27)
    assert added.iga_libraries
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global int *a) { a[0] = 1; }\n")
    assert compile_source(source, "bmg", "", added).ok
    with pytest.raises(KernlensError, match="there is a toolchain newest already"):
        roots.add("newest")
    roots.remove("newest")
    assert [path.name for path in folder.iterdir()] == [".lock"]

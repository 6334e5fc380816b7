"""scripts/viewer.sh tells a registry that cannot be reached, without which tests go on, from every other failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.tree import ROOT


class Refusing(BaseHTTPRequestHandler):
    """A registry that is there, and has nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def build(folder: Path, registry: str) -> subprocess.CompletedProcess[str]:
    """Builds the viewer as in a fresh checkout, with nothing that an earlier run has kept."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which scripts/viewer.sh runs")
    (folder / "scripts").mkdir()
    for name in ("viewer.sh", "npm.sh"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    shutil.copytree(ROOT / "viewer", folder / "viewer", ignore=shutil.ignore_patterns("node_modules"))
    settings = {"registry": registry, "cache": str(folder / "cache"), "fetch_retries": "0", "update_notifier": "false"}
    environment = {**os.environ, **{f"npm_config_{name}": value for name, value in settings.items()}}
    command = ["bash", str(folder / "scripts/viewer.sh"), "--check"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def run_check(folder: Path, programs: dict[str, str], words: str) -> subprocess.CompletedProcess[str]:
    """What scripts/test.sh does where there are these programs, scripts, and no others that matter."""
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    for name in ("bash", "cmp", "dirname", "sha256sum"):
        (folder / name).symlink_to(str(shutil.which(name)))
    script = f"source {ROOT}/scripts/setup.sh; {words}"
    environment = {"PATH": str(folder), "HOME": str(folder)}
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("programs", [{}, {"node": "exit 1", "npm": "exit 9"}, {"node": "exit 0"}])
def test_without_node_the_tests_say_what_they_leave_out(tmp_path: Path, programs: dict[str, str]) -> None:
    words = 'check_viewer; check_vscode; echo "$KERNLENS_AXE_MISSING"; echo "$KERNLENS_VSCODE_MISSING"'
    done = run_check(tmp_path, programs, words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "== viewer: neither linted, tested nor built again, as Node 20 or newer with npm is not installed\n"
        "== VS Code: neither linted nor tested, as Node 20 or newer with npm is not installed\n"
        "it comes through npm, and Node 20 or newer with npm is not installed\n"
        "it comes through npm, and Node 20 or newer with npm is not installed\n"
    )


@pytest.mark.slow
def test_without_a_registry_it_says_so(tmp_path: Path) -> None:
    # Nothing listens on port 1.
    done = build(tmp_path, "http://127.0.0.1:1/")
    assert done.returncode == 75, done.stderr
    assert "ECONNREFUSED" in done.stderr


@pytest.mark.slow
def test_a_registry_that_refuses_is_a_failure(tmp_path: Path, registry: str) -> None:
    done = build(tmp_path, registry)
    assert done.returncode == 1
    assert "404" in done.stderr

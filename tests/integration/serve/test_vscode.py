"""The extension for VS Code (editors/vscode) with a real ``kernlens serve``: editors/vscode/tests/serve.test.ts, in Node.

VS Code itself is a fake there; ``python -m tests.browser.vscode`` tries the extension in a real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tree import ROOT

FOLDER = ROOT / "editors" / "vscode"
VITEST = FOLDER / "node_modules" / ".bin" / "vitest"


@pytest.fixture(scope="module")
def vitest() -> Path:
    """Return what runs the tests."""
    missing = os.environ.get("KERNLENS_VSCODE_MISSING")
    if missing is None and not VITEST.exists():
        missing = "scripts/vscode.sh --check installs what its tests run in, which scripts/test.sh does"
    if missing is not None:
        pytest.skip(f"the extension for VS Code: {missing}")
    return VITEST


def test_the_extension_shows_what_a_server_tells(vitest: Path) -> None:
    command = [str(vitest), "run", "tests/serve.test.ts", "--reporter=dot"]
    environment = {**os.environ, "KERNLENS": str(Path(sys.executable).with_name("kernlens")), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout


def test_the_package_has_all_that_its_manifest_names(vitest: Path, tmp_path: Path) -> None:
    for mode in ("production", "page"):
        command = [str(vitest.with_name("vite")), "build", "--mode", mode, "--logLevel", "warn"]
        subprocess.run(command, cwd=FOLDER, check=True, timeout=120)
    package = tmp_path / "kernlens.vsix"
    subprocess.run(
        [sys.executable, ROOT / "scripts/vsix.py", package], check=True, timeout=60, stdout=subprocess.DEVNULL
    )
    with zipfile.ZipFile(package) as opened:
        names = opened.namelist()
        manifest = ElementTree.fromstring(opened.read("extension.vsixmanifest"))
        (bridge,) = [opened.read(name).decode() for name in names if name.endswith("bridge.js")]
    assets = {each.attrib["Path"] for each in manifest.iter() if each.tag.endswith("}Asset")}
    named = {"package.json", "dist/extension.js", "dist/bridge.js", "icon.png", "syntaxes/opencl.tmLanguage.json"}
    assert assets | {f"extension/{name}" for name in (*named, "LICENSE.txt")} <= set(names)
    # It stands in a page as it is.
    assert "</script" not in bridge.lower()
    assert "<!--" not in bridge

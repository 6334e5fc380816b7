"""The manifest of the extension for VS Code says what its sources do, and what an untrusted workspace may not decide."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from kernlens import __version__
from tests.tree import ROOT

FOLDER = ROOT / "editors" / "vscode"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "package.json").read_text())
SOURCES = {path.name: path.read_text() for path in (FOLDER / "src").rglob("*.ts")}
SETTINGS = MANIFEST["contributes"]["configuration"]["properties"]


def test_no_registry_is_named() -> None:
    assert '"resolved"' not in (FOLDER / "package-lock.json").read_text()


def test_what_the_manifest_names_is_there() -> None:
    contributes = MANIFEST["contributes"]
    for command in contributes["commands"]:
        assert f'registerCommand("{command["command"]}"' in SOURCES["extension.ts"]
    for editor in contributes["customEditors"]:
        assert f'"{editor["viewType"]}"' in SOURCES["extension.ts"]
    named = [MANIFEST["icon"], contributes["languages"][0]["configuration"], contributes["grammars"][0]["path"]]
    assert all((FOLDER / name).is_file() for name in named)


def test_settings_are_those_that_are_read() -> None:
    read = set(re.findall(r'\.get(?:<[^>]*>)?\("(\w+)"', SOURCES["settings.ts"] + SOURCES["session.ts"]))
    assert {f"kernlens.{name}" for name in read} == set(SETTINGS)
    page = (ROOT / "docs/vscode.md").read_text()
    assert all(f"|`{name.removeprefix('kernlens.')}`|" in page for name in SETTINGS)


def test_an_untrusted_workspace_names_no_command_and_no_options() -> None:
    trust = MANIFEST["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    # The device and the time of compiles are no more than words of kernlens.
    assert set(trust["restrictedConfigurations"]) == set(SETTINGS) - {"kernlens.device", "kernlens.compile"}
    assert SETTINGS["kernlens.path"]["scope"] == "machine-overridable"


def test_no_shell_and_no_other_server() -> None:
    text = "\n".join(SOURCES.values())
    assert "shell: true" not in text
    assert set(re.findall(r"https?:[^\s\"'`]*", text)) == {r"http:\/\/127\.0\.0\.1:\d+\/#t=/.test(address))"}


def test_its_version_and_licence_are_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert MANIFEST["license"] in project["license"]
    assert MANIFEST["version"] == __version__
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    assert lock["packages"][""]["version"] == MANIFEST["version"]

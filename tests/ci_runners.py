"""Runners of CI files: the steps of a GitHub action, the job of a GitLab file and the hooks of pre-commit, each run from its
YAML as its server's runner would, on this machine."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_HASH_FILES = re.compile(r"hashFiles\('([^']*)'\)")


@dataclass
class Ran:
    """The outcome of a job: its status, its output, and the actions of others that it would call, with their inputs."""

    status: int = 0
    output: str = ""
    called: dict[str, dict[str, str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def run_action(
    path: Path, inputs: Mapping[str, str], folder: Path, environment: Mapping[str, str], temporary: Path
) -> Ran:
    """Run a composite action (docs.github.com/actions/sharing-automations/creating-actions/metadata-syntax-for-github-actions)
    in ``folder``. A step that fails skips those behind it which do not say ``always()``."""
    action = yaml.safe_load(path.read_text())
    assert action["runs"]["using"] == "composite"
    unknown = set(inputs) - set(action["inputs"])
    missing = {name for name, each in action["inputs"].items() if each.get("required")} - set(inputs)
    assert not unknown | missing, (unknown, missing)
    values = {name: inputs.get(name, each.get("default", "")) for name, each in action["inputs"].items()}

    def filled(text: str) -> str:
        return _EXPRESSION.sub(lambda match: values[match[1].removeprefix("inputs.")], text)

    added = temporary / "github_path"
    added.touch()
    ran = Ran()
    for number, step in enumerate(action["runs"]["steps"]):
        if not _holds(step.get("if", "success()"), ran.status == 0, folder):
            ran.skipped.append(step["name"])
            continue
        if "uses" in step:
            ran.called[step["uses"]] = {key: filled(str(value)) for key, value in step.get("with", {}).items()}
            continue
        script = temporary / f"step{number}.sh"
        script.write_text(filled(step["run"]))
        assert step["shell"] == "bash"
        paths = [*reversed(added.read_text().split()), environment["PATH"]]
        own = {name: filled(str(value)) for name, value in step.get("env", {}).items()}
        runner = {"RUNNER_TEMP": str(temporary), "GITHUB_PATH": str(added), "PATH": ":".join(paths)}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        _run(ran, words, folder, {**environment, **runner, **own})
    return ran


def _holds(condition: str, is_well: bool, folder: Path) -> bool:
    """Return whether a step's condition holds; it may be made of always(), success(), hashFiles and comparisons with ''."""
    expression = _EXPRESSION.sub(lambda match: match[1], condition)
    expression = _HASH_FILES.sub(lambda match: repr("1" if list(folder.glob(match[1])) else ""), expression)
    is_always = "always()" in expression
    words = expression.replace("always()", "True").replace("success()", str(is_well)).replace("&&", "and")
    assert re.fullmatch(r"(True|False|and|!=|''|'1'|\s)+", words), condition
    return bool(eval(words)) and (is_well or is_always)


def run_gitlab(path: Path, folder: Path, environment: Mapping[str, str], variables: Mapping[str, str]) -> Ran:
    """Run the job of a GitLab file (docs.gitlab.com/ci/yaml): its lines in one shell, which ends with the first that fails."""
    ((_, job),) = yaml.safe_load(path.read_text()).items()
    unknown = set(variables) - set(job["variables"])
    assert not unknown, unknown
    own = {name: str(value) for name, value in job["variables"].items()} | dict(variables)
    lines = "\n".join([*job["before_script"], *job["script"]])
    ran = Ran()
    _run(ran, ["bash", "-eo", "pipefail", "-c", lines], folder, {**environment, **own})
    reports = job["artifacts"]
    assert reports["when"] == "always"
    for file in [*reports["paths"], *reports["reports"].values()]:
        ran.called[file] = {"is there": str((folder / file).exists())}
    return ran


def run_hook(path: Path, name: str, files: Sequence[str], words: Sequence[str], folder: Path, environment: Any) -> Ran:
    """Run a hook (pre-commit.com/#creating-new-hooks) on the files that it is for, in one process."""
    (hook,) = (each for each in yaml.safe_load(path.read_text()) if each["id"] == name)
    assert hook["require_serial"]
    chosen = [file for file in files if re.search(hook["files"], file)]
    ran = Ran()
    if chosen:
        _run(ran, [*shlex.split(hook["entry"]), *words, *chosen], folder, environment)
    return ran


def _run(ran: Ran, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    ran.status = ran.status or done.returncode
    ran.output += done.stdout

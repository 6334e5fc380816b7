"""scripts/man.py: a page for each verb and action, which says what the help says, in a language that troff takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kernlens.cli.verb_group import VERBS, kernlens
from tests.tree import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "man.py"), str(folder)], check=True, timeout=120)
    return folder


def commands() -> dict[str, click.Command]:
    """All commands by the names of their pages."""
    named: dict[str, click.Command] = {"kernlens": kernlens}
    for verb in VERBS:
        command = kernlens.get_command(click.Context(kernlens, **kernlens.context_settings), verb)
        assert command is not None
        named[f"kernlens-{verb}"] = command
        if isinstance(command, click.Group):
            named |= {f"kernlens-{verb}-{name}": action for name, action in command.commands.items()}
    return named


def test_each_command_has_a_page_with_its_options_and_example(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {f"{name}.1" for name in commands()}
    for name, command in commands().items():
        text = (folder / f"{name}.1").read_text().replace("\\-", "-")
        assert text.startswith(f".TH {name.upper()} 1 "), name
        assert re.search(r"\.SH EXAMPLE\n.*kernlens ", text), name
        assert "--help" in text, name
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert all(each in text for each in parameter.opts), (name, parameter.opts)
                assert " ".join((parameter.help or "").split()) in text, (name, parameter.opts)
    assert ".SS This machine\n.TP\n\\fBdevices\\fP\n" in (folder / "kernlens.1").read_text()


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff, Debian's groff-base, is not installed")
def test_troff_takes_the_pages_and_prints_the_help(folder: Path) -> None:
    pages = sorted(map(str, folder.iterdir()))
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=200n", *pages], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--own-lines" in done.stdout
    assert r"""eval "$(kernlens layer)"; ./application""" in done.stdout

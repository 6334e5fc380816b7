"""Every command that a page shows: which are run, and why the others cannot be where the tests run.

Pages hold commands in fences ``console`` (behind ``$``, with what they print: tests/pages.py runs them) and ``sh`` (a line
each, for what is not run), and in code within sentences. The words of all of them are looked up: verbs, options, modules and
scripts must be there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click

from kernlens.cli.verb_group import kernlens
from tests.tree import ROOT

#: The reason for which a command is not run -> how such commands begin.
NOT_RUN = {
    "it installs something, from the network or as root": re.compile(
        r"(sudo )?apt(-get)? install |(env/bin/)?pip (install|download) |python3 -m venv |env/bin/"
        r"|kernlens toolchain (add|remove) |code --install-extension |cp -r \"\$VIRTUAL_ENV/|kernlens annotate my\.cl "
    ),
    "what it prints is the machine's own, and other tests run it": re.compile(
        r"kernlens (doctor|devices|toolchain list)$"
    ),
    "it takes minutes, and is a test or a measurement itself": re.compile(
        r"bash scripts/|python -m (tests|benchmarks)\."
    ),
    "it does not end by itself": re.compile(r"kernlens (serve|mcp) |dask (scheduler|worker) "),
    "it is about an application, a library or a repository of the reader's": re.compile(
        r"(.* )?\./(app|service)\w*\b|.*\b(application|service)\.|.* lib\w+\.so|kernlens diff --git main\b"
        r"|.* -- python app\.py$|kernlens (check|replay|sweep) app\.klens |kernlens advise .* --prove app\.klens$"
        r"|make -C blur-report "
    ),
    "it needs a program or a machine that need not be there": re.compile(
        r"(eu-stack|gdb|sqlite3|ssh) |kernlens sweep .*--scheduler |kernlens (inspect|stages) ~/"
        r"|kernlens \w+ .*--device \S*\bgfx"
    ),
}
#: The pages whose commands are not run as long as they read files that the reader does not have, and not those of examples/.
#: The mistakes of troubleshooting.md have a test of their own.
WITHOUT_EXAMPLES = frozenset({"docs/troubleshooting.md"})

#: The words before which a command ends: the next one, or an application that it starts.
ENDS = ("--", "|", "&", "&&", ">", "2>")
_FENCE = re.compile(r"^( *)```([\w{}-]*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`((?:kernlens [a-z-]|python -m |bash scripts/)[^`]*)`")
#: A block of code that is indented, behind a paragraph that is not of a list: nobody could tell a command in it.
_INDENTED = re.compile(r"^(?![ *+-]|\d+\. ).+\n\n(?= {4})(.+)", re.MULTILINE)


def markdown() -> list[Path]:
    """Return the pages: README.md, that of the examples, and all of docs/."""
    return [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def why_not_run(command: str) -> str | None:
    """Return the reason for which a command is not run, if there is any."""
    return next((reason for reason, pattern in NOT_RUN.items() if pattern.match(without_comment(command))), None)


def without_comment(command: str) -> str:
    """Return a command without what stands behind `` #``."""
    return re.sub(r"\s+#\s.*", "", command)


def fences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each fence of a page."""
    for match in _FENCE.finditer(text):
        yield match[2], match[3]


def plain_commands(text: str) -> list[str]:
    """Return the commands of a page that it shows without what they print: the lines of fences ``sh``."""
    lines = [
        line
        for language, inside in fences(text)
        if language == "sh"
        for line in inside.replace("\\\n", "").splitlines()
    ]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def spans(text: str) -> list[str]:
    """Return the commands that a page has in its sentences."""
    return [" ".join(span.split()) for span in _SPAN.findall(_FENCE.sub("", text))]


def faults_of_form(text: str) -> list[str]:
    """Return what of a page may be a command that :func:`tests.pages.commands` does not see."""
    faults = [
        f"{language or 'a fence'}: {line}" for language, inside in fences(text) for line in _hidden(language, inside)
    ]
    return faults + [line.strip() for line in _INDENTED.findall(_FENCE.sub("", text))]


def _hidden(language: str, inside: str) -> list[str]:
    lines = inside.splitlines()
    if language == "console":
        return [] if inside.startswith("$ ") else lines[:1]
    return [line for line in lines if re.match(r"\s*\$ ", line)]


def unknown(command: str) -> list[str]:
    """Return the words of a command that nothing is called by: verbs, options, modules, scripts and their options."""
    try:
        words = shlex.split(without_comment(command))
    except ValueError:
        return [command]
    missing = []
    for number, word in enumerate(words):
        following = words[number + 1 :]
        if word.removeprefix("env/bin/") == "kernlens":
            missing += _unknown_to_kernlens(
                list(takewhile(lambda word: word not in ENDS and word[-1:] != ";", following))
            )
        elif words[max(number - 1, 0) : number + 1] == ["-m", word] and word.startswith(("tests.", "benchmarks.")):
            missing += _unknown_to_a_module(word, following)
        elif word.startswith("scripts/"):
            missing += [] if (ROOT / word).exists() else [word]
    return missing


def _unknown_to_kernlens(words: list[str]) -> list[str]:
    command: click.Command = kernlens
    context = click.Context(command, info_name="kernlens", **command.context_settings)
    options = _options(command, context)
    missing = []
    waiting = iter(words)
    for word in waiting:
        name, _, value = word.partition("=")
        if isinstance(command, click.Group) and not word.startswith("-"):
            chosen = command.get_command(context, word)
            if chosen is None:
                return [word]
            command, context = chosen, click.Context(chosen, parent=context, info_name=word)
            options |= _options(command, context)
        elif name in options:
            if not options[name] and not value:
                next(waiting, None)
        elif re.match(r"--?[A-Za-z]", word) and not re.match(r"-[DIo].", word):
            missing.append(word)
    return missing


def _options(command: click.Command, context: click.Context) -> dict[str, bool]:
    """Return whether each option is a flag, which takes no value."""
    return {
        name: getattr(each, "is_flag", False) or getattr(each, "count", False)
        for each in command.get_params(context)
        for name in (*each.opts, *each.secondary_opts)
    }


def _unknown_to_a_module(module: str, words: list[str]) -> list[str]:
    path = ROOT / module.replace(".", "/")
    sources = [path.with_suffix(".py"), path / "__main__.py"]
    text = "".join(source.read_text("utf-8") for source in sources if source.exists())
    if not text:
        return [module]
    return [word for word in words if word.startswith("--") and f'"{word.partition("=")[0]}"' not in text]

"""Write the man pages: of kernlens, and of each verb and action, from their help.

    python scripts/man.py FOLDER        then man -l FOLDER/kernlens-annotate.1

The package click-man leaves examples out, and lets troff obey lines of help that begin with a dot. ``scripts/build.sh`` puts
the pages into the wheel: share/man/man1. Their language is that of man(7), of groff.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

import click

from kernlens import __version__
from kernlens.cli.verb_group import GROUPS, VERBS, kernlens


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    root = click.Context(kernlens, info_name="kernlens", **kernlens.context_settings)
    listed = [f".SS {_text(title)}\n{_list(verbs.items())}" for title, verbs in GROUPS.items()]
    others = [f"kernlens-{verb}" for verb in VERBS]
    yield "kernlens", _page(root, "what a GPU compiler made of your kernel", "\n".join(listed), others)
    for verb, sentence in VERBS.items():
        command = kernlens.get_command(root, verb)
        assert command is not None
        context = click.Context(command, root, verb)
        actions = command.commands if isinstance(command, click.Group) else {}
        listed = [_list((name, _paragraphs(action)[0]) for name, action in actions.items())] if actions else []
        names = [f"kernlens-{verb}-{name}" for name in actions]
        yield f"kernlens-{verb}", _page(context, sentence, "\n".join(listed), ["kernlens", *names])
        for name, action in actions.items():
            own = click.Context(action, context, name)
            yield f"kernlens-{verb}-{name}", _page(own, _paragraphs(action)[0], "", [f"kernlens-{verb}"])


def _page(context: click.Context, sentence: str, commands: str, others: list[str]) -> str:
    command, path = context.command, context.command_path
    name = path.replace(" ", "-")
    summary = sentence[0].lower() + sentence[1:].rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    options = (each for each in command.get_params(context) if isinstance(each, click.Option))
    records = [option.get_help_record(context) for option in options]
    parts = [
        f'.TH {name.upper()} 1 "" "kernlens {__version__}" "kernlens"',
        f".SH NAME\n{_text(name)} \\- {_text(summary)}",
        f".SH SYNOPSIS\n.B {_text(path)}\n{_text(usage)}",
        ".SH DESCRIPTION\n" + "\n.PP\n".join(map(_text, _paragraphs(command))),
        f".SH {'VERBS' if path == 'kernlens' else 'ACTIONS'}\n{commands}" if commands else "",
        f".SH OPTIONS\n{_list(record for record in records if record is not None)}",
        _example(command),
        ".SH SEE ALSO\n" + ", ".join(f"\\fB{_text(other)}\\fP(1)" for other in others),
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _paragraphs(command: click.Command) -> list[str]:
    """Return the paragraphs of a command's help, but for its example."""
    text = cleandoc(command.help or "").split("\b")[0]
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def _example(command: click.Command) -> str:
    text = (command.epilog or command.help or "").partition("Example:\n")[2]
    lines = "\n.br\n".join(_text(line.strip()) for line in text.splitlines() if line.strip())
    return f".SH EXAMPLE\n{lines}" if lines else ""


def _list(items: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f".TP\n\\fB{_text(term)}\\fP\n{_text(' '.join(meaning.split()))}" for term, meaning in items)


def _text(text: str) -> str:
    """Return a text that troff prints as it is: no escape, no request, hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in (".", "'") else text


def main(folder: str) -> None:
    """Write the pages into the folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        Path(folder, f"{name}.1").write_text(text, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/man.py FOLDER")
    main(sys.argv[1])

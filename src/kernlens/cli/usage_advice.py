"""The next step after a mistake in the words of a command line, where click says only what is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

#: Options of compilers begin like these; those of kernlens have two dashes.
_BUILD_OPTION = re.compile(r"-(?:cl-|ze-|D|U|I|g|W|O|s\b|w\b|x\b)")


def message_of(error: click.ClickException) -> str:
    """Return click's message, in which options that are offered have their current names."""
    import click

    context: click.Context | None = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and error.possibilities and context is not None:
        current = {name: each.opts[0] for each in context.command.params for name in getattr(each, "former", ())}
        offered = dict.fromkeys(current.get(name, name) for name in error.possibilities)
        error = click.NoSuchOption(error.option_name, possibilities=offered, ctx=context)
    return error.format_message()


def next_step(error: click.ClickException, words: Sequence[str]) -> str:
    """Return what to do about a usage error, as the end of its sentence; empty where the sentence says that already."""
    import click

    context: click.Context | None = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        return _of_option(error.option_name, context, words)
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        metavar = error.param.metavar or ""
        return f" Add {error.param.opts[-1]}{f' {metavar}' if metavar else ''}{_where(error.param)}."
    if isinstance(error, click.BadOptionUsage):
        return f" Write it as {error.option_name} VALUE{_where(error.option_name)}."
    extra = re.search(r"unexpected extra arguments? \(([^\s)]+)", error.format_message())
    if extra is not None and context is not None:
        return _of_extra(extra[1], context)
    return ""


def instead_of_verb(name: str) -> str:
    """Return what to write in place of a word that is no verb and resembles none."""
    if name == "help":
        return "write kernlens --help, or kernlens VERB --help"
    if os.path.isfile(name):
        use = f"compile {name} --device D" if name.endswith((".cl", ".spv")) else f"annotate {name}"
        return f"it is a file, and a verb comes first: kernlens {use}"
    return "see kernlens --help"


def _of_option(name: str, context: click.Context, words: Sequence[str]) -> str:
    known = {option for param in context.command.params for option in param.opts}
    # Of a word with one dash click names the first letter alone.
    word = next((word for word in words if word.startswith(name) and not word.startswith("--")), "")
    if word and f"-{word}" in known:
        return f" Options have two dashes: -{word}."
    if word and _BUILD_OPTION.match(word) and "--build-options" in known:
        return f" Build options are one word after --build-options: --build-options '{word}'."
    if context.parent is None:
        return " Options of a verb come after it: kernlens VERB FILE OPTIONS."
    return ""


def _of_extra(word: str, context: click.Context) -> str:
    known = {option for param in context.command.params for option in param.opts}
    if "--kernel" in known and not os.path.exists(word):
        return f". A kernel is chosen with --kernel {word}."
    return ""


def _where(option: click.Parameter | str) -> str:
    names = option.opts if not isinstance(option, str) else [option]
    return "; kernlens devices lists them" if {"--device", "--simulate"}.intersection(names) else ""

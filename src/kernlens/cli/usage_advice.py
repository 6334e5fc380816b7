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
    """Return click's message, in the words of this command line: the options that are offered are those that begin alike, if
    some do."""
    import click

    context: click.Context | None = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None and error.option_name.startswith("--"):
        shown = [each for each in context.command.params if not getattr(each, "hidden", False)]
        if alike := [name for each in shown for name in each.opts if name.startswith(error.option_name)]:
            error = click.NoSuchOption(error.option_name, possibilities=alike, ctx=context)
    message = re.sub(r"a valid integer( range)?", "a whole number", error.format_message())
    return re.sub(r"is not in the range x>=(\d+)", r"is less than \1", message)


def next_step(error: click.ClickException, words: Sequence[str]) -> str:
    """Return what to do about a usage error, as the end of its sentence; empty where the sentence says that already."""
    import click

    context: click.Context | None = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        return _of_option(error.option_name, context, words)
    if isinstance(error, click.MissingParameter) and context is not None:
        return _misplaced(context, words) or _of_missing(error.param, context)
    if isinstance(error, click.BadOptionUsage):
        return f" Write it as {error.option_name} VALUE{_where(error.option_name)}."
    message = error.format_message()
    if isinstance(error, click.BadParameter):
        steps = {
            "is not readable.": " You may not read it: ls -l shows who may.",
            "is a directory.": " Name a file in it.",
        }
        return next((step for end, step in steps.items() if message.endswith(end)), "")
    if message.startswith("no target device") and context is not None:
        return _misplaced(context, words)
    extra = re.search(r"unexpected extra arguments? \(([^\s)]+)", message)
    if extra is not None and context is not None:
        return _of_extra(extra[1], context)
    return ""


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
    if "--root" in known and os.path.isdir(word):
        return f". A folder that is there is registered with --root {word}."
    return f". {context.command_path} reads one file; kernlens diff compares two." if os.path.exists(word) else ""


def _of_missing(param: click.Parameter | None, context: click.Context) -> str:
    import click

    if isinstance(param, click.Option):
        return f" Add {param.opts[-1]}{f' {param.metavar}' if param.metavar else ''}{_where(param)}."
    if param is not None and (param.metavar or "").startswith("-- "):
        return f" The application follows behind --: {context.command_path} ... -- ./app."
    return ""


def _misplaced(context: click.Context, words: Sequence[str]) -> str:
    """Return what to do about an option behind ``--``, or without its dashes, which was taken for a file."""
    known = {option for param in context.command.params for option in param.opts}
    takes_application = any((param.metavar or "").startswith("-- ") for param in context.command.params)
    behind = words[words.index("--") + 1 :] if "--" in words and not takes_application else ()
    for word in behind:
        if word in known:
            return f". What follows -- is a file: leave -- out before {word}."
    for word in words:
        if f"--{word}" in known and not os.path.exists(word):
            return f". An option has two dashes: --{word}."
    return ""


def _where(option: click.Parameter | str) -> str:
    names = option.opts if not isinstance(option, str) else [option]
    return "; kernlens devices lists them" if {"--device", "--simulate"}.intersection(names) else ""

"""Questions to whoever sits at a terminal, without whose answer a command cannot go on: the device, and whether to fetch
what is missing."""

from __future__ import annotations

import os
from typing import Any

import click

from kernlens.cli.output import ask, can_ask, print_message
from kernlens.errors import KernlensError, NoDeviceError


def settled(error: KernlensError, context: click.Context, values: dict[str, Any], *, is_agreed: bool) -> dict[str, Any]:
    """Return the values of a command's words with which it can be tried again, after what it lacked was asked for, or fetched
    if that ``is_agreed``. Raises the error, as bad usage if an option is missing, where nobody can be asked or the answer is
    no."""
    is_asked = can_ask() and not os.environ.get("CI")
    if isinstance(error, NoDeviceError):
        option = next((each for each in context.command.params if "--device" in each.opts), None)
        if option is None or not is_asked:
            # An option is missing, and what stands there instead may say why.
            raise click.UsageError(str(error), context) from error
        print_message(f"kernlens: {error}")
        answer = ask(f"device ({', '.join(error.names)}, ...): ")
        if not answer:
            raise error
        return values | {str(option.name): option.process_value(context, (answer,) if option.multiple else answer)}
    _fetch(error, is_asked=is_asked, is_agreed=is_agreed)
    return values


def _fetch(error: KernlensError, *, is_asked: bool, is_agreed: bool) -> None:
    from kernlens.toolchain.registered import toolchains_folder
    from kernlens.toolchain.roots import OFFERED, add

    what, _, sizes = OFFERED[error.cure].partition(": ")
    if not is_agreed and not is_asked:
        # An error of the same kind, and so of the same status.
        error.args = (f"{error}; or repeat the command with --yes, which does that ({sizes})",)
        raise error
    verb = "kernlens fetches" if is_agreed else "kernlens can fetch"
    print_message(f"kernlens: {what} is missing; {verb} it into {toolchains_folder()}: {sizes}, no root rights")
    if not is_agreed and ask("fetch it? [Y/n] ").lower() not in ("", "y", "yes"):
        raise error
    add(error.cure, on_progress=print_message)

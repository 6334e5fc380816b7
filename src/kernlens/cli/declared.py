"""Commands whose words are declared: a dataclass has a field for each argument and option, and the command gets one of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import click

from kernlens.cli.option_rules import Implied, Rule, check
from kernlens.cli.output import colour_output, print_message
from kernlens.cli.terminal import COLOURS
from kernlens.errors import KernlensError, NoDeviceError, likeliest
from kernlens.log import print_messages

Words = TypeVar("Words")
#: Where a command line's context keeps that --yes is on it.
_YES = "kernlens.yes"


class Declared:
    """A field's argument or option: a ``kind`` of click's, the option's ``names``, and click's settings."""

    def __init__(self, kind: type[click.Parameter], *names: str, **settings: Any) -> None:
        self._kind, self._names, self._settings = kind, names, settings

    def parameters(self, field: str) -> Iterator[click.Parameter]:
        """Yield click's parameters, which set the value of the field's name."""
        yield self._kind([*self._names, field], **self._settings)

    def value(self, field: str, values: Mapping[str, Any]) -> Any:
        """Return the field's value, of those that click has read."""
        return values[field]


class Together(Declared):
    """A field whose value is an object of a dataclass of declared fields, which several commands share."""

    def __init__(self, words: type[Any]) -> None:
        self._words = words

    def parameters(self, field: str) -> Iterator[click.Parameter]:
        return _parameters(self._words)

    def value(self, field: str, values: Mapping[str, Any]) -> Any:
        return _words(self._words, values)


def together(words: type[Words]) -> Words:
    """Return what declares the fields of a class that several commands share, and gives its place to an object of the class
    when the command is called."""
    declared: Any = Together(words)
    return declared  # type: ignore[no-any-return]


def _parameters(words: type[Any]) -> Iterator[click.Parameter]:
    for name, declared in _fields(words):
        yield from declared.parameters(name)


def _words(words: type[Words], values: Mapping[str, Any]) -> Words:
    return words(**{name: declared.value(name, values) for name, declared in _fields(words)})


def _fields(words: type[Any]) -> list[tuple[str, Declared]]:
    declared: list[tuple[str, Any]] = [(field.name, field.default) for field in fields(words)]
    return declared


def verb(
    words: type[Words],
    example: str,
    kind: type[click.Command] = click.Command,
    rules: Sequence[Rule] = (),
    implied: Implied | None = None,
    *,
    name: str = "",
    of: click.Group | None = None,
) -> Callable[[Callable[[Words], None]], click.Command]:
    """Make a command of a function that takes its ``words``, with their fields as its arguments and options, whose help ends
    with an example, and which takes ``--debug`` and its like. Its options keep ``rules``; ``implied`` are options that follow
    from others. Its name is that of its module, or else ``name``, with which it is one of a group."""

    def decorate(function: Callable[[Words], None]) -> click.Command:
        def run(**values: Any) -> None:
            context = click.get_current_context()
            check(rules, context, implied)
            lacked: set[str] = set()
            while True:
                try:
                    return function(_words(words, values))
                except KernlensError as error:
                    what = error.cure or ("a device" if isinstance(error, NoDeviceError) else None)
                    if what is None or what in lacked:  # What was named or fetched does not help.
                        raise
                    from kernlens.cli.asking import settled

                    lacked.add(what)
                    values = settled(error, context, values, is_agreed=context.find_root().meta.get(_YES, False))

        command = kind(
            name or function.__module__.rpartition(".")[2],
            params=[
                *(click.Option([name], hidden=True, **settings) for name, settings in _DIAGNOSTICS),
                *_parameters(words),
            ],
            callback=run,
            help=inspect.cleandoc(function.__doc__ or ""),
            epilog=help_end(example),
        )
        if of is not None:
            of.add_command(command)
        return command

    return decorate


class Choice(click.Choice):  # type: ignore[type-arg]
    """A choice of words; the error for another word offers the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = likeliest(str(value), map(str, self.choices))
            if not near:
                raise
            meant = f"{error.message.rstrip('.')}; did you mean {' or '.join(near)}?"
            raise click.BadParameter(meant, ctx, param) from None


def flag_at_once(act: Callable[[], None], meaning: str) -> dict[str, Any]:
    """Return the settings of a flag that takes effect as soon as it is read, and gives the command no value."""

    def obey(context: click.Context, parameter: click.Parameter, is_there: bool) -> None:
        if is_there:
            act()

    return {"is_flag": True, "expose_value": False, "is_eager": True, "callback": obey, "help": meaning}


def _agree(context: click.Context, parameter: click.Parameter, is_there: bool) -> None:
    if is_there:
        context.find_root().meta[_YES] = True


def _choose_colours(context: click.Context, parameter: click.Parameter, when: str | None) -> None:
    if when is not None:
        colour_output(when)


#: The options that every command takes; ``main`` looks for ``--debug`` itself.
_DIAGNOSTICS: Sequence[tuple[str, dict[str, Any]]] = (
    ("--debug", {"is_flag": True, "expose_value": False, "help": "Print a traceback on errors."}),
    ("--yes", {"is_flag": True, "expose_value": False, "callback": _agree, "help": "Fetch a missing tool without asking."}),
    (
        "--verbose",
        flag_at_once(lambda: print_messages(print_message), "Log to stderr what was tried and why it was rejected."),
    ),
    (
        "--color",
        {
            "metavar": "WHEN", "type": Choice(COLOURS), "expose_value": False, "is_eager": True, "callback": _choose_colours,
            "help": "When to print colours: auto (on a terminal), always or never.",
        },
    ),
)  # fmt: skip


def diagnostic(function: Callable[..., Any], *, hidden: bool = True) -> Callable[..., Any]:
    """Add the options that every command takes to a group. They are ``hidden`` but in the help of ``kernlens``."""
    for name, settings in reversed(_DIAGNOSTICS):
        function = click.option(name, hidden=hidden, **settings)(function)
    return function


def help_end(example: str) -> str:
    """Return the end of a command's help: where the options that all have are explained, and an example."""
    *names, last = (name for name, _ in _DIAGNOSTICS)
    return f"Every command takes {', '.join(names)} and {last}: see kernlens --help.\n\n\b\nExample:\n  {example}"

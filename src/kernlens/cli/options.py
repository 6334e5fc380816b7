"""Options that several verbs share, and the values of their words."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import completion
from kernlens.cli.output import colour_output, print_message, show_in_full
from kernlens.cli.terminal import COLOURS
from kernlens.log import print_messages

if TYPE_CHECKING:  # kernlens --version needs none of them.
    from kernlens.model.line_choice import LineChoice

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class HelpingGroup(click.Group):
    """A group that prints its help if no subcommand follows. Since 8.2 click reports that as an error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else [ctx.help_option_names[-1]])


class RenamedOption(click.Option):
    """An option that takes its ``former`` names too, which no help lists."""

    def __init__(self, *words: Any, former: Sequence[str], **others: Any) -> None:
        super().__init__(*words, **others)
        self.former = former

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        names = self.opts
        self.opts = [*names, *self.former]
        super().add_to_parser(parser, ctx)
        self.opts = names


def path_argument() -> Decorator:
    return click.argument("path", type=click.Path())


def verb(example: str, kind: type[click.Command] = click.Command) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command named ``command`` whose help ends with an example, and which takes ``--debug`` and ``--verbose``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        name = function.__module__.rpartition(".")[2]
        return click.command(name, kind, epilog=f"\b\nExample:\n  {example}")(diagnostic_options(function))

    return decorate


def diagnostic_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--debug``, which ``main`` looks for itself, and ``--color`` and ``--verbose``, which take effect as soon as they
    are read."""
    function = click.option(
        "--color", metavar="WHEN", type=click.Choice(COLOURS), expose_value=False, is_eager=True, callback=_choose_colours,
        help="When to print colours: auto (on a terminal), always or never.",
    )(function)  # fmt: skip
    function = click.option(
        "--verbose", is_flag=True, expose_value=False, is_eager=True, callback=_print_messages,
        help="Log to stderr what was tried and why it was rejected.",
    )(function)  # fmt: skip
    return click.option("--debug", is_flag=True, expose_value=False, help="Print a traceback on errors.")(function)


def _choose_colours(context: click.Context, parameter: click.Parameter, when: str | None) -> None:
    if when is not None:
        colour_output(when)


def _print_messages(context: click.Context, parameter: click.Parameter, verbose: bool) -> None:
    if verbose:
        print_messages(print_message)


def full_option() -> Decorator:
    """Add ``--full``, which takes effect as soon as it is read."""
    return click.option(
        "--full", is_flag=True, expose_value=False, is_eager=True, callback=_show_in_full,
        help="Do not shorten names and tables to the width of the terminal.",
    )  # fmt: skip


def _show_in_full(context: click.Context, parameter: click.Parameter, is_full: bool) -> None:
    if is_full:
        show_in_full()


def json_option() -> Decorator:
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON (schema 1).")


def toolchain_option(
    meaning: str = "Toolchain to use (kernlens toolchain list shows them).",
    *,
    several: bool = False,
    default: str | None = "system",
    metavar: str = "",
) -> Decorator:
    """Add ``--toolchain``: the command gets ``toolchain``, or ``toolchains``, a text with commas, if several may be named."""
    names = ("--toolchain", "toolchains") if several else ("--toolchain",)
    metavar = metavar or ("TOOLCHAIN,..." if several else "TOOLCHAIN")
    return click.option(
        *names, metavar=metavar, shell_complete=completion.toolchains, default=default, show_default=True, help=meaning
    )


def devices_option(meaning: str, metavar: str = "DEVICE,...", *, required: bool = False) -> Decorator:
    """Add ``--device`` of several: the command gets ``devices``, a text with commas."""
    complete = completion.devices
    return click.option(
        "--device", "devices", metavar=metavar, shell_complete=complete, required=required, help=meaning
    )


def listed(names: str | None) -> list[str]:
    """Return the names in a text with commas."""
    return [name for name in (names or "").split(",") if name]


def file_option(meaning: str, *names: str) -> Decorator:
    """Add an option that names a file to read or to write."""
    return click.option(*names, metavar="FILE", type=click.Path(), help=meaning)


def options_option(meaning: str, *, several: bool = False) -> Decorator:
    """Add ``--build-options``: the command gets ``options``, a text, or all of them if it may be repeated."""
    return click.option(
        "--build-options", "options", cls=RenamedOption, former=("--options",), metavar="OPTIONS", multiple=several,
        default=() if several else "", help=meaning,
    )  # fmt: skip


def build_options_option() -> Decorator:
    """Add ``--build-options``: the command gets them with the option for line tables, unless ``--no-lines`` is set."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @options_option("Build options for sources, added to -gline-tables-only.")
        @click.option("--no-lines", is_flag=True, help="Do not add -gline-tables-only: the binary gets no line table.")
        @functools.wraps(function)
        def with_options(*words: Any, options: str, no_lines: bool, **others: Any) -> Any:
            from kernlens.toolchain.includes import with_lines

            return function(*words, options=options if no_lines else with_lines(options), **others)

        return with_options

    return decorate


def parallel_options() -> Decorator:
    """Add the options of parallel compiles: ``jobs``, their number, and ``timeout`` in seconds."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return click.option(
            "--jobs", metavar="N", type=click.IntRange(1), help="Number of parallel compiles.  [default: number of cores]"
        )(
            click.option(
                "--timeout", metavar="SECONDS", type=click.FloatRange(1), default=600.0, show_default=True,
                help="Time limit of each compile.",
            )(command)
        )  # fmt: skip

    return decorate


def cache_option() -> Decorator:
    """Add ``--no-cache``: the command gets the ``cache`` of compiles, None without one."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--no-cache", is_flag=True, help="Do not use the cache of earlier compiles.")
        @functools.wraps(function)
        def with_cache(*words: Any, no_cache: bool, **others: Any) -> Any:
            from kernlens.toolchain.compile_cache import open_cache

            return function(*words, cache=None if no_cache else open_cache(), **others)

        return with_cache

    return decorate


def own_lines_option() -> Decorator:
    """Add ``--own-lines``, the parameter ``is_own``."""
    return click.option(
        "--own-lines",
        "is_own",
        is_flag=True,
        help="Show inlined library code under the line of your own files that calls it.",
    )


def own_roots(source_roots: Sequence[str]) -> list[str]:
    """Return the folders whose files are own ones, as line tables have them."""
    return [os.path.abspath(root) for root in source_roots]


def unconfined_option() -> Decorator:
    return click.option(
        "--unconfined",
        is_flag=True,
        help="Run the compiler without the sandbox: foreign source code can then read any file.",
    )


def device_option(
    meaning: str = "Show only programs for this device; decode raw machine code for it.",
    name: str = "--device",
    *,
    required: bool = False,
) -> Decorator:
    """Add ``--device`` of one, or another option of that kind: the command gets ``device``."""
    complete = completion.devices
    return click.option(name, "device", metavar="DEVICE", shell_complete=complete, required=required, help=meaning)


def kernel_option(meaning: str = "Only this kernel") -> Decorator:
    return click.option(
        "--kernel",
        "kernel_names",
        metavar="KERNEL",
        shell_complete=completion.kernels,
        multiple=True,
        help=f"{meaning}: a mangled or C++ name, or a pattern (blur_*). May be repeated.",
    )


def sort_option(meaning: str, name: str = "sort", default: str | None = None, former: Sequence[str] = ()) -> Decorator:
    """Add ``--sort``, which takes any name of a figure: the command gets ``name``."""
    return click.option(
        "--sort", name, cls=RenamedOption, former=former, metavar="METRIC", shell_complete=completion.figures,
        default=default, show_default=True, help=f"{meaning}: spill-bytes, code-size, sends, ... (docs/figures.md).",
    )  # fmt: skip


def specialize_option() -> Decorator:
    return click.option(
        "--spec-constant", "specialize", cls=RenamedOption, former=("--specialize",), metavar="ID=VALUE", multiple=True,
        help="Set a specialization constant of SPIR-V modules by its SpecId (kernlens symbols lists them). May be repeated.",
    )  # fmt: skip


def constant_of(text: str) -> tuple[int, str]:
    """Return the number and the value of ``--spec-constant``. Raises UsageError for anything else."""
    number, is_given, value = text.partition("=")
    if not is_given or not value or not (number.isascii() and number.isdigit() and len(number) < 11):
        raise click.UsageError(f"--spec-constant {text!r} is not of the form 5=1: the constant's SpecId and its value")
    return int(number), value


def source_root_option() -> Decorator:
    return click.option(
        "--source-root", "source_roots", metavar="DIR", multiple=True, type=click.Path(file_okay=False),
        help="Also search this folder for source files. May be repeated.",
    )  # fmt: skip


def number_of(text: str, option: str) -> int:
    """Return the value of an option that takes a number, decimal or with 0x. Raises UsageError for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        raise click.UsageError(f"{option} needs a number, not '{text}'") from None


def line_of(text: str) -> LineChoice:
    """Return the value of ``--line``: ``N`` or ``FILE:N``."""
    from kernlens.model.line_choice import LineChoice

    path, _, number = text.rpartition(":")
    return LineChoice(path or None, number_of(number, "--line"))

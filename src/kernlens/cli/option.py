"""Options that several verbs share, and the values of their words."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import completion
from kernlens.cli.option_rules import Implied, Rule, check
from kernlens.cli.output import colour_output, print_message, show_in_full
from kernlens.cli.terminal import COLOURS, choose_pager
from kernlens.errors import likeliest
from kernlens.log import print_messages

if TYPE_CHECKING:  # kernlens --version needs none of them.
    from kernlens.model.line_choice import LineChoice

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class HelpingGroup(click.Group):
    """A group that prints its help if no subcommand follows. Since 8.2 click reports that as an error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else [ctx.help_option_names[-1]])


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


class RenamedOption(click.Option):
    """An option that takes its ``former`` names too, which no help lists."""

    def __init__(self, *words: Any, former: Sequence[str], **others: Any) -> None:
        super().__init__(*words, **others)
        self.former = tuple(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        names = self.opts
        self.opts = [*names, *self.former]
        super().add_to_parser(parser, ctx)
        self.opts = names


class ApplicationCommand(click.Command):
    """A command whose last words are an application and its own options, which begin behind ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        application = parser.parse_args(list(args))[0].get("command_line")
        words = application if isinstance(application, tuple) else ()
        before = args[: len(args) - len(words)]
        options = [word for word in words if word.startswith("-")]
        if words[1:2] == ("--",) and before[-1:] == ["--json"]:  # which took a file once
            raise click.UsageError(
                f"--json takes no file: --json prints the answer, --json-file {words[0]} writes it", ctx
            )
        if options and before[-1:] != ["--"] and not ctx.resilient_parsing:
            import shlex

            line = shlex.join([*ctx.command_path.split(), *before, "--", *words])
            raise click.UsageError(
                f"{options[0]} stands behind {words[0]}; the application and its options follow after --: {line}", ctx
            )
        return super().parse_args(ctx, args)


def verb(
    example: str,
    kind: type[click.Command] = click.Command,
    rules: Sequence[Rule] = (),
    implied: Implied | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command named ``command`` whose help ends with an example, and which takes ``--debug`` and ``--verbose``. Its
    options keep ``rules``; ``implied`` are options that follow from others."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def ruled(*words: Any, **others: Any) -> Any:
            check(rules, click.get_current_context(), implied)
            return function(*words, **others)

        name = function.__module__.rpartition(".")[2]
        return click.command(name, kind, epilog=f"\b\nExample:\n  {example}")(diagnostic(ruled))

    return decorate


def diagnostic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--debug``, for which ``main`` looks itself, and ``--color``, ``--no-pager`` and ``--verbose``, which take effect
    at once."""

    def print_them(context: click.Context, parameter: click.Parameter, verbose: bool) -> None:
        if verbose:
            print_messages(print_message)

    def choose_colours(context: click.Context, parameter: click.Parameter, when: str | None) -> None:
        if when is not None:
            colour_output(when)

    def choose(context: click.Context, parameter: click.Parameter, has_none: bool) -> None:
        if has_none:
            choose_pager(False)

    function = click.option(
        "--no-pager", is_flag=True, expose_value=False, is_eager=True, callback=choose,
        help="Print to the terminal, however long it is.",
    )(function)  # fmt: skip
    function = click.option(
        "--color", metavar="WHEN", type=Choice(COLOURS), expose_value=False, is_eager=True, callback=choose_colours,
        help="When to print colours: auto (on a terminal), always or never.",
    )(function)  # fmt: skip
    function = click.option(
        "--verbose", is_flag=True, expose_value=False, is_eager=True, callback=print_them,
        help="Log to stderr what was tried and why it was rejected.",
    )(function)  # fmt: skip
    return click.option("--debug", is_flag=True, expose_value=False, help="Print a traceback on errors.")(function)


def full() -> Decorator:
    """Add ``--full``, which takes effect as soon as it is read."""

    def show(context: click.Context, parameter: click.Parameter, is_full: bool) -> None:
        if is_full:
            show_in_full()

    return click.option(
        "--full", is_flag=True, expose_value=False, is_eager=True, callback=show,
        help="Do not shorten names and tables to the width of the terminal.",
    )  # fmt: skip


def path() -> Decorator:
    return click.argument("path", type=click.Path())


def paths(name: str = "paths", *, required: bool = True) -> Decorator:
    return click.argument(name, nargs=-1, required=required, type=click.Path())


def json() -> Decorator:
    return flag("Print the result as JSON (schema 1).", "--json", "as_json")


def flag(meaning: str, *names: str) -> Decorator:
    return click.option(*names, is_flag=True, help=meaning)


def value(meaning: str, *names: str, **more: Any) -> Decorator:
    return click.option(*names, help=meaning, **more)


def several(meaning: str, *names: str, **more: Any) -> Decorator:
    """Add an option that may be repeated: the command gets all its values."""
    return click.option(*names, multiple=True, help=meaning, **more)


def joined(meaning: str, *names: str, **more: Any) -> Decorator:
    """Add an option with a list of words: the command gets one list of all, with commas, or None."""
    return several(meaning, *names, callback=lambda context, parameter, lists: ",".join(lists) or None, **more)


def file(meaning: str, *names: str, required: bool = False, **kind: Any) -> Decorator:
    """Add an option that names a file to read or to write, of a ``kind`` that ``click.Path`` knows."""
    return click.option(*names, metavar="FILE", type=click.Path(**kind), required=required, help=meaning)


def folders(meaning: str, *names: str) -> Decorator:
    """Add an option that names a folder, and may be repeated."""
    return several(f"{meaning}. May be repeated.", *names, metavar="DIR", type=click.Path(file_okay=False))


def source_root() -> Decorator:
    return folders("Also search this folder for source files", "--source-root", "source_roots")


def toolchain(
    meaning: str = "Toolchain to use (kernlens toolchain list shows them).",
    *,
    several: bool = False,
    default: str | None = "",
    metavar: str = "",
) -> Decorator:
    """Add ``--toolchain``: the command gets ``toolchain``, or ``toolchains``, a list, if several may be named. The default
    is the empty text, for the default toolchain, or None."""
    names = ("--toolchain", "toolchains") if several else ("--toolchain",)
    return click.option(
        *names, metavar=metavar or ("TOOLCHAIN,..." if several else "TOOLCHAIN"), help=meaning,
        default=() if several else default, multiple=several,
        shell_complete=completion.toolchains, callback=_listed if several else None,
        show_default="KERNLENS_TOOLCHAIN, kernlens.toml, or the first installed one" if default == "" else False,
    )  # fmt: skip


def chosen_device(meaning: str = "decode raw machine code for it") -> Decorator:
    """Add ``--device`` by which programs are chosen: the command gets ``device``, None for all."""

    def chosen(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
        from kernlens.isa.devices import ALL

        return None if name == ALL else name

    return click.option(
        "--device", metavar="DEVICE", shell_complete=completion.devices, callback=chosen,
        help=f"Show only programs for this device (all: every device){f'; {meaning}' if meaning else ''}.",
    )  # fmt: skip


def device(meaning: str, name: str = "--device", *, required: bool = False) -> Decorator:
    """Add ``--device`` of one, or another option of that kind: the command gets ``device``."""
    return click.option(
        name, "device", metavar="DEVICE", shell_complete=completion.devices, required=required, help=meaning
    )


def devices(meaning: str, metavar: str = "DEVICE,...", *, required: bool = False) -> Decorator:
    """Add ``--device`` of several: the command gets ``devices``, a list."""
    return click.option(
        "--device", "devices", metavar=metavar, shell_complete=completion.devices, callback=_listed, required=required,
        multiple=True, help=meaning,
    )  # fmt: skip


def _listed(context: click.Context, parameter: click.Parameter, lists: Sequence[str]) -> list[str]:
    """Return the names of an option's lists: who repeats the option means all of them."""
    return [name for names in lists for name in names.split(",") if name]


def kernel(meaning: str = "Only this kernel") -> Decorator:
    return several(
        f"{meaning}: a mangled or C++ name, or a pattern (blur_*). May be repeated.",
        "--kernel", "kernel_names", metavar="KERNEL", shell_complete=completion.kernels,
    )  # fmt: skip


def sort(meaning: str, name: str = "sort", default: str | None = None, former: Sequence[str] = ()) -> Decorator:
    """Add ``--sort``, which takes any name of a figure: the command gets ``name``."""
    return click.option(
        "--sort", name, cls=RenamedOption, former=former, metavar="METRIC", shell_complete=completion.figures,
        default=default, show_default=True, help=f"{meaning}: spill-bytes, code-size, sends, ... (docs/figures.md).",
    )  # fmt: skip


def build_options(meaning: str, *, several: bool = False) -> Decorator:
    """Add ``--build-options``: the command gets ``options``, a text, or all of them if it may be repeated."""
    return click.option(
        "--build-options", "options", cls=RenamedOption, former=("--options",), metavar="OPTIONS", multiple=several,
        default=() if several else "", help=meaning,
    )  # fmt: skip


def options_with_lines() -> Decorator:
    """Add ``--build-options``: the command gets them with the option for line tables, unless ``--no-lines`` is set."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @build_options("Build options for sources, added to -gline-tables-only.")
        @no_lines()
        @functools.wraps(function)
        def with_options(*words: Any, options: str, no_lines: bool, **others: Any) -> Any:
            from kernlens.toolchain.includes import with_lines

            return function(*words, options=options if no_lines else with_lines(options), **others)

        return with_options

    return decorate


def no_lines() -> Decorator:
    return flag("Do not add -gline-tables-only: the binary gets no line table.", "--no-lines")


def specialize() -> Decorator:
    return several(
        "Set a specialization constant of SPIR-V modules by its SpecId (kernlens symbols lists them). May be repeated.",
        "--spec-constant", "specialize", cls=RenamedOption, former=("--specialize",), metavar="ID=VALUE",
    )  # fmt: skip


def parallel(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of parallel compiles: ``jobs``, their number, and ``timeout`` in seconds."""
    command = click.option(
        "--timeout", metavar="SECONDS", type=click.FloatRange(1), default=600.0, show_default=True,
        help="Time limit of each compile.",
    )(command)  # fmt: skip
    return click.option(
        "--jobs", metavar="N", type=click.IntRange(1), help="Number of parallel compiles.  [default: number of cores]"
    )(command)


def cache(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--no-cache``: the command gets the ``cache`` of compiles, None without one."""

    @flag("Do not use the cache of earlier compiles.", "--no-cache")
    @functools.wraps(function)
    def with_cache(*words: Any, no_cache: bool, **others: Any) -> Any:
        from kernlens.toolchain.compile_cache import open_cache

        return function(*words, cache=None if no_cache else open_cache(), **others)

    return with_cache


def own_lines() -> Decorator:
    """Add ``--own-lines``, the parameter ``is_own``."""
    return flag("Show inlined library code under the line of your own files that calls it.", "--own-lines", "is_own")


SAMPLES_DEVICE = Rule("--samples-device", needs=("--samples",), why="it chooses one device of that file")


def samples(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--samples`` and ``--samples-device``: the command gets ``samples`` and ``samples_device``."""
    by_device = value(
        "Use only the samples of this device, by the profiler's number.  [default: all]",
        "--samples-device",
        metavar="N",
        type=click.IntRange(min=0),
    )
    return file("Show the samples of this profiler's file (CSV of unitrace --stall-sampling).", "--samples")(
        by_device(function)
    )


def unconfined() -> Decorator:
    return flag("Run the compiler without the sandbox: foreign source code can then read any file.", "--unconfined")


def own_roots(source_roots: Sequence[str]) -> list[str]:
    """Return the folders whose files are own ones, as line tables have them."""
    return [os.path.abspath(root) for root in source_roots]


def constant_of(text: str) -> tuple[int, str]:
    """Return the number and the value of ``--spec-constant``. Raises UsageError for anything else."""
    number, is_given, value = text.partition("=")
    if not is_given or not value or not (number.isascii() and number.isdigit() and len(number) < 11):
        raise click.UsageError(f"--spec-constant {text!r} is not of the form 5=1: the constant's SpecId and its value")
    return int(number), value


def number_of(text: str, option: str) -> int:
    """Return the value of an option that takes a number, decimal or with 0x. Raises UsageError for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        advice = ""
        if re.fullmatch(r"[0-9A-Fa-f]+", text):
            advice = f"; a hexadecimal number begins with 0x: {option} 0x{text}"
        elif re.fullmatch(r"\d+-\d+", text):
            advice = f"; it takes no range: {option} {text.partition('-')[0]}"
        raise click.UsageError(f"{option} needs a number, not '{text}'{advice}") from None


def line_of(text: str, option: str = "--line") -> LineChoice:
    """Return the line that an option's value names: ``N`` or ``FILE:N``. Raises UsageError for anything else."""
    from kernlens.model.line_choice import LineChoice

    path, _, number = text.rpartition(":")
    return LineChoice(path or None, number_of(number, option), _text_of(path) if path else "")


def _text_of(path: str) -> str:
    """Return the text of the user's file of this name, "" if there is none: it may be a source that came to the compiler
    without its name."""
    from kernlens.toolchain.source_reading import SourceFolders

    source = SourceFolders(()).named(path)
    return source.text if source is not None else ""

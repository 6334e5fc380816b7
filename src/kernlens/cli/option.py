"""Options that several verbs share, as fields of their words, and the values of their words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli.declared import Choice, Declared, diagnostic, flag_at_once, help_end, together, verb
from kernlens.cli.output import show_in_full
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError

if TYPE_CHECKING:  # kernlens --version needs none of them.
    from kernlens.model.line_choice import LineChoice
    from kernlens.model.trips import Trips
    from kernlens.toolchain.compile_cache import CompileCache
    from kernlens.verbs.replay.elements import Tolerance

__all__ = ["Choice", "diagnostic", "help_end", "together", "verb"]


class HelpingGroup(click.Group):
    """A group that prints its help if no subcommand follows. Since 8.2 click reports that as an error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else [ctx.help_option_names[-1]])


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


def argument(**settings: Any) -> Any:
    return Declared(click.Argument, **settings)


def path() -> Any:
    return argument(type=click.Path())


def paths(*, required: bool = True) -> Any:
    return argument(nargs=-1, required=required, type=click.Path())


def application(*, required: bool = False) -> Any:
    """Declare an application with its arguments, which follow behind ``--``."""
    return argument(metavar="-- APP [ARG]...", nargs=-1, required=required, type=click.UNPROCESSED)


def value(meaning: str, *names: str, **settings: Any) -> Any:
    return Declared(click.Option, *names, help=meaning, **settings)


def flag(meaning: str, *names: str) -> Any:
    return value(meaning, *names, is_flag=True)


def several(meaning: str, *names: str, **settings: Any) -> Any:
    """Declare an option that may be repeated: the field has all its values."""
    return value(meaning, *names, multiple=True, **settings)


def items_per_launch(meaning: str, form: str) -> Any:
    """Declare ``--items-per-launch``: the field has its words, or None."""
    return value(meaning, "--items-per-launch", metavar=form)


def trips() -> Any:
    """Declare ``--trips``: the field has ``Trips``, or None."""
    return several(
        "Weigh counts by the rounds that a loop runs: FILE:LINE=N, or depth=N for all other loops. May be repeated.",
        "--trips",
        metavar="TRIPS",
        callback=_stated_trips,
    )


def _stated_trips(context: click.Context, parameter: click.Parameter, words: Sequence[str]) -> Trips | None:
    if not words:
        return None
    from kernlens.model.trips import Trips

    try:
        return Trips.of(words)
    except KernlensError as error:
        raise click.UsageError(str(error)) from None


def joined(meaning: str, *names: str, **settings: Any) -> Any:
    """Declare an option with a list of words: the field has one list of all, with commas, or None."""
    return several(meaning, *names, callback=lambda context, parameter, lists: ",".join(lists) or None, **settings)


def json() -> Any:
    return flag("Print the result as JSON (schema 1).", "--json")


@dataclass(frozen=True)
class Answer:
    """The words of a command that takes no others."""

    as_json: bool = json()


def full() -> Any:
    """Declare ``--full``, which takes effect as soon as it is read; the field has no value."""
    return Unexposed(
        "--full", **flag_at_once(show_in_full, "Do not shorten names and tables to the width of the terminal.")
    )


class Unexposed(Declared):
    """A field without a value."""

    def __init__(self, *names: str, **settings: Any) -> None:
        super().__init__(click.Option, *names, **settings)

    def value(self, field: str, values: Any) -> None:
        return None


def file(meaning: str, *names: str, required: bool = False, **kind: Any) -> Any:
    """Declare an option that names a file to read or to write, of a ``kind`` that ``click.Path`` knows."""
    return value(meaning, *names, metavar="FILE", type=click.Path(**kind), required=required)


def folders(meaning: str, *names: str) -> Any:
    """Declare an option that names a folder, and may be repeated."""
    return several(f"{meaning}. May be repeated.", *names, metavar="DIR", type=click.Path(file_okay=False))


def source_root() -> Any:
    return folders("Also search this folder for source files", "--source-root")


def own_source() -> Any:
    return file("Source file to use if the line table does not name it.", "--source")


def number(meaning: str, *names: str, least: float = 0, most: float | None = None, **settings: Any) -> Any:
    """Declare an option with a whole number, or of seconds any number, in a range."""
    kind = click.FloatRange if settings.get("metavar") == "SECONDS" else click.IntRange
    return value(meaning, *names, type=kind(least, most), **{"metavar": "N", **settings})  # type: ignore[arg-type]


def toolchain(
    meaning: str = "Toolchain to use (kernlens toolchain list shows them).", *, default: str | None = ""
) -> Any:
    """Declare ``--toolchain`` of one. The default is the empty text, for the default toolchain, or None."""
    return value(meaning, "--toolchain", metavar="TOOLCHAIN", default=default, **_of_toolchain(default))


def toolchains(meaning: str, *, default: str | None = "", metavar: str = "TOOLCHAIN,...") -> Any:
    """Declare ``--toolchain`` of several: the field has a list. ``default`` None: there is no default toolchain here."""
    return several(meaning, "--toolchain", metavar=metavar, default=(), callback=_listed, **_of_toolchain(default))


def _of_toolchain(default: str | None) -> dict[str, Any]:
    words = "KERNLENS_TOOLCHAIN, kernlens.toml, or the first installed one"
    return {"show_default": words if default == "" else False}


def device(meaning: str, name: str = "--device", **settings: Any) -> Any:
    """Declare ``--device`` of one, or another option of that kind."""
    return value(meaning, name, metavar="DEVICE", **settings)


def devices(meaning: str, metavar: str = "DEVICE,...") -> Any:
    """Declare ``--device`` of several: the field has a list."""
    return several(meaning, "--device", metavar=metavar, callback=_listed)


def _listed(context: click.Context, parameter: click.Parameter, lists: Sequence[str]) -> list[str]:
    """Return the names of an option's lists: who repeats the option means all of them."""
    return [name for names in lists for name in names.split(",") if name]


def kernels(meaning: str = "Only this kernel") -> Any:
    return several(
        f"{meaning}: a mangled or C++ name, or a pattern (blur_*). May be repeated.",
        "--kernel", metavar="KERNEL",
    )  # fmt: skip


def program() -> Any:
    return value("Only this program: a name, or a pattern.", "--program", metavar="PROGRAM")


def sort(meaning: str, default: str | None = None) -> Any:
    """Declare ``--sort``, which takes any name of a figure."""
    return value(
        f"{meaning}: spill-bytes, code-size, sends, ... (docs/figures.md).", "--sort", metavar="METRIC",
        default=default, show_default=True,
    )  # fmt: skip


def build_options(meaning: str = "Build options for sources, added to -gline-tables-only.", **settings: Any) -> Any:
    """Declare ``--build-options``: the field has a text, or all of them if it may be repeated (``multiple``)."""
    return value(meaning, "--build-options", metavar="OPTIONS", **{"default": "", **settings})


class _SpecConstant(click.ParamType):  # type: ignore[type-arg]
    """The number of a specialization constant and its value."""

    name = "constant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, str]:
        number, is_given, stated = value.partition("=")
        if not is_given or not stated or not (number.isascii() and number.isdigit() and len(number) < 11):
            sentence = f"--spec-constant {value!r} is not of the form 5=1: the constant's SpecId and its value"
            raise click.UsageError(sentence, ctx)
        return int(number), stated


def spec_constants() -> Any:
    return several(
        "Set a specialization constant of SPIR-V modules by its SpecId (kernlens symbols lists them). May be repeated.",
        "--spec-constant", metavar="ID=VALUE", type=_SpecConstant(),
    )  # fmt: skip


def no_lines() -> Any:
    return flag("Do not add -gline-tables-only: the binary gets no line table.", "--no-lines")


@dataclass(frozen=True)
class BuildOptions:
    """The build options of sources, with the one for line tables unless ``no_lines``."""

    stated: str = build_options()
    no_lines: bool = no_lines()

    @property
    def words(self) -> str:
        """The options of a compile."""
        from kernlens.toolchain.sources.includes import with_lines

        return self.stated if self.no_lines else with_lines(self.stated)


@dataclass(frozen=True)
class Parallel:
    """The options of parallel compiles: their number, and the limit of each in seconds."""

    jobs: int | None = number("Number of parallel compiles.  [default: number of cores]", "--jobs", least=1)
    timeout: float = number(
        "Time limit of each compile.", "--timeout", least=1, metavar="SECONDS", default=600.0, show_default=True
    )


@dataclass(frozen=True)
class Cached:
    """The option that leaves the cache of compiles alone."""

    no_cache: bool = flag("Do not use the cache of earlier compiles.", "--no-cache")

    def opened(self) -> CompileCache | None:
        """Return the cache, None without one."""
        from kernlens.toolchain.compile_cache import open_cache

        return None if self.no_cache else open_cache()


class _Tolerance(click.ParamType):  # type: ignore[type-arg]
    """A distance that floating-point results may have: units in the last place, or a share."""

    name = "tolerance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Tolerance:
        from kernlens.verbs.replay.elements import Tolerance

        if isinstance(value, Tolerance):
            return value
        if units := re.fullmatch(r"([0-9]{1,9}) ?ulps?", value):
            return Tolerance(ulp=int(units[1]))
        if re.fullmatch(r"[0-9]*\.?[0-9]+(?:e-?[0-9]{1,3})?", value) and float(value) < 1:
            return Tolerance(relative=float(value))
        raise click.UsageError(
            f"--tolerance {value!r} is neither units in the last place (4ulp) nor a share (1e-6)", ctx
        )


@dataclass(frozen=True)
class Launch:
    """The options that choose a launch of a recording, and how it is run again."""

    kernel: str | None = value(
        "Kernel to run (default: the only one whose launches were kept).", "--kernel", metavar="KERNEL"
    )
    program: str | None = program()
    launch: int | None = number("Number of the kernel's launch.  [default: the first that was kept]", "--launch")
    runs: int = number("Runs to time.", "--runs", most=100_000, default=20, show_default=True)
    tolerance: Tolerance | None = value(
        "Accept floating-point results that are apart by so many units in the last place, or by this share."
        "  [default: bit-equal]",
        "--tolerance", metavar="Nulp|SHARE", type=_Tolerance(),
    )  # fmt: skip


def own_lines() -> Any:
    return flag("Show inlined library code under the line of your own files that calls it.", "--own-lines")


def samples() -> Any:
    """Declare a profiler's file of samples."""
    return file(
        "Show the samples of this profiler's file (CSV of unitrace --stall-sampling, rocprofv3 --att or Nsight Compute's source"
        " page).",
        "--samples",
    )


def unconfined() -> Any:
    return flag("Run the compiler without the sandbox: foreign source code can then read any file.", "--unconfined")


def own_roots(source_roots: Sequence[str]) -> list[str]:
    """Return the folders whose files are own ones, as line tables have them."""
    return [os.path.abspath(root) for root in source_roots]


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
    from kernlens.toolchain.sources.source_reading import SourceFolders

    source = SourceFolders(()).named(path)
    return source.text if source is not None else ""

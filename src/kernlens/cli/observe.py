"""``kernlens observe``: what a kernel does on its data, line by line, without a GPU."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, print_json, print_lines, print_message, print_pieces
from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour


class _Sizes(click.ParamType):  # type: ignore[type-arg]
    """A number of work-items in up to three dimensions."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        parts = re.split(r"[x,]", value)
        if not all(re.fullmatch(r"[0-9]{1,10}", part) for part in parts):
            names = param.opts[0] if param is not None else "a size"
            raise click.UsageError(f"{names} {value!r} is not of the form 4096, 256x256 or 64x64x64", ctx)
        return [int(part) for part in parts]


class _Groups(click.ParamType):  # type: ignore[type-arg]
    """A number of work-groups, or a word."""

    name = "groups"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value in ("sample", "first") or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        if not re.fullmatch(r"[1-9][0-9]{0,9}", value):
            raise click.UsageError(f"--groups {value!r} is neither a number, 'sample' nor 'first'", ctx)
        return int(value)


@dataclass(frozen=True)
class Counting:
    """The options of what is counted, shared with ``replay --observe``."""

    sub_group: int | None = option.number(
        "Work-items of a sub-group, in place of the device's.  [default: 32 without --device]",
        "--sub-group",
        least=1,
        most=64,
    )
    seconds: float = option.number(
        "Stop after so much time by the clock. The work-groups that ended are the answer.",
        "--seconds", least=1, metavar="SECONDS", default=20.0, show_default=True,
    )  # fmt: skip
    groups: int | str | None = option.value(
        "Run only N work-groups, sampled at corners, edges and inside; with 'sample' as many as have the time, with 'first'"
        " the first ones.  [default: all; a sample if time is short]",
        "--groups", metavar="N|sample|first", type=_Groups(),
    )  # fmt: skip
    uninitialized: bool = option.flag(
        "Also look for uses of values that were never set. It takes twice the time.", "--uninitialized"
    )


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    source: str = option.path()
    kernel: str | None = option.value(
        "Kernel to run (default: the only one of the source).", "--kernel", metavar="KERNEL"
    )
    size: list[int] = option.value(
        "Number of work-items: N, NxN or NxNxN.", "--size", metavar="N[xN[xN]]", required=True, type=_Sizes()
    )
    group: list[int] = option.value(
        "Work-items of a work-group.", "--group", metavar="N[xN[xN]]", required=True, type=_Sizes()
    )
    arguments: tuple[str, ...] = option.several(
        "The next argument: random:TYPE:N, ramp:TYPE:N, zeros:TYPE:N, FILE (.npy, or raw bytes), local:BYTES, or a value.",
        "--arg",
        metavar="ARG",
    )
    device: str | None = option.device("Count for this device: its sub-groups, units of memory and banks.")
    of: Counting = option.together(Counting)
    output: str | None = option.file(
        "Also save the program that is compiled for the device, with what the kernel did, in this recording.",
        "-o", "--output",
    )  # fmt: skip
    toolchain: str | None = option.toolchain("Toolchain with Oclgrind.  [default: the first that has it]", default=None)
    options: str = option.build_options("Build options for the source.")
    fail_on_faults: bool = option.flag(
        "Exit with status 1 if there is a fault, with 2 if not all work-groups ran.", "--fail-on-faults"
    )
    as_csv: bool = option.flag("Print the lines as CSV.", "--csv")
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(
    Asked,
    "kernlens observe blur.cl --kernel blur --size 4096 --group 256 --arg random:float:4096 --arg zeros:float:4096 --arg 4096",
    rules=[Rule("--output", needs=("--device",), why="a recording holds the program of a device")],
)
def command(asked: Asked) -> None:
    """Run a kernel in an interpreter on data that you describe, and print what it did, line by line: how often each line ran,
    with how many active lanes, which memory its sub-groups moved, bank conflicts, rounds of loops, and faults.

    No GPU is needed. Faults are accesses out of bounds, data races, barriers that not all work-items reach. kernlens
    counts, and measures no time.
    """
    from kernlens.verbs.observe.observe import observe

    with Progress("work-groups", quiet=asked.as_json or asked.as_csv) as progress:
        observed = observe(
            asked.source,
            kernel=asked.kernel,
            size=asked.size,
            group=asked.group,
            arguments=asked.arguments,
            device=asked.device,
            sub_group=asked.of.sub_group,
            toolchain=asked.toolchain or "",
            options=asked.options,
            seconds=asked.of.seconds,
            groups=asked.of.groups,
            uninitialized=asked.of.uninitialized,
            recording=asked.output,
            on_progress=progress.show,
        )
    _print(observed, asked)
    tell_next(asked.output)
    if asked.fail_on_faults and observed.faults:
        sys.exit(1)
    if asked.fail_on_faults and (why := _unknown(observed)):
        print_message(f"whether there is a fault is not known, as {why}")
        sys.exit(2)


def _unknown(observed: Behaviour) -> str:
    """Return why a fault may not have been seen; empty if all was looked at."""
    from kernlens.model.fault import NO_RACES

    if observed.groups_done < observed.groups:
        return f"not all work-groups ran{': allow more with --seconds' if observed.is_out_of_time else ''}"
    return next((note for note in observed.notes if note.startswith(NO_RACES)), "")


def tell_next(output: str | None) -> None:
    """Tell how the recording is read that was saved, if one was."""
    if output is not None:
        print_message(f"Next: kernlens annotate {shlex.quote(output)} --top 10 --sort excess")


def _print(observed: Behaviour, asked: Asked) -> None:
    from kernlens.cli.answers.behaviour_document import behaviour_document
    from kernlens.cli.answers.behaviour_text import behaviour_csv, behaviour_lines
    from kernlens.toolchain.sources.source_reading import SourceFolders

    if asked.as_csv:
        print_pieces(f"{line}\n" for line in behaviour_csv(observed))
        for note in filter(None, (*observed.notes, observed.reason)):
            print_message(note)
        return
    texts = {}
    for path in {line.place.path for line in observed.lines}:
        named = SourceFolders(()).named(path)
        texts[path] = named.text.splitlines() if named is not None else []
    if asked.as_json:
        print_json(behaviour_document(observed, texts))
    else:
        print_lines(behaviour_lines(observed, texts, uninitialized=asked.of.uninitialized))

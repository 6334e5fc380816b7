"""``kernlens observe``: what a kernel does on its data, line by line, without a GPU."""

from __future__ import annotations

import re
import sys

import click

from kernlens.cli import option
from kernlens.cli.output import Progress, print_json, print_lines, print_message, print_pieces


@option.verb(
    "kernlens observe blur.cl --kernel blur --size 4096 --group 256 --arg random:float:4096 --arg zeros:float:4096 --arg 4096"
)
@click.argument("source", type=click.Path())
@option.value("Kernel to run (default: the only one of the source).", "--kernel", metavar="KERNEL")
@option.value("Number of work-items: N, NxN or NxNxN.", "--size", metavar="N[xN[xN]]", required=True)
@option.value("Work-items of a work-group.", "--group", metavar="N[xN[xN]]", required=True)
@option.several(
    "The next argument: random:TYPE:N, ramp:TYPE:N, zeros:TYPE:N, FILE (.npy, or raw bytes), local:BYTES, or a value.",
    "--arg",
    "arguments",
    metavar="ARG",
)
@option.device("Count for this device: its sub-groups, units of memory and banks.")
@option.value(
    "Work-items of a sub-group, in place of the device's.  [default: 32 without --device]",
    "--sub-group",
    metavar="N",
    type=click.IntRange(1, 64),
)
@option.toolchain("Toolchain with Oclgrind.  [default: the first that has it]", default="")
@option.build_options("Build options for the source.")
@option.value(
    "Stop after so much time. The work-groups that ended are the answer.",
    "--seconds",
    metavar="SECONDS",
    type=click.FloatRange(1),
    default=20.0,
    show_default=True,
)
@option.flag("Also look for uses of values that were never set. It takes twice the time.", "--uninitialized")
@option.flag("Exit with status 1 if there is a fault.", "--fail-on-faults")
@option.flag("Print the lines as CSV.", "--csv", "as_csv")
@option.full()
@option.json()
def command(
    source: str,
    kernel: str | None,
    size: str,
    group: str,
    arguments: tuple[str, ...],
    device: str | None,
    sub_group: int | None,
    toolchain: str,
    options: str,
    seconds: float,
    uninitialized: bool,
    fail_on_faults: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Run a kernel in an interpreter on data that you describe, and print what it did, line by line: how often each line ran,
    with how many active lanes, which memory its sub-groups moved, bank conflicts, rounds of loops, and faults.

    No GPU is needed. Faults are accesses out of bounds, data races, barriers that not all work-items reach. The counts are
    no times.
    """
    from kernlens.verbs.observe import observe

    with Progress("work-groups", quiet=as_json or as_csv) as progress:
        observed = observe(
            source,
            kernel=kernel,
            size=_sizes(size, "--size"),
            group=_sizes(group, "--group"),
            arguments=arguments,
            device=device,
            sub_group=sub_group,
            toolchain=toolchain,
            options=options,
            seconds=seconds,
            uninitialized=uninitialized,
            on_progress=progress.show,
        )
    if as_json:
        from kernlens.cli.answers.behaviour_text import behaviour_document

        print_json(behaviour_document(observed))
    elif as_csv:
        from kernlens.cli.answers.behaviour_text import behaviour_csv

        print_pieces(f"{line}\n" for line in behaviour_csv(observed))
        for note in observed.notes:
            print_message(note)
    else:
        from kernlens.cli.answers.behaviour_text import behaviour_lines
        from kernlens.toolchain.sources.source_reading import SourceFolders

        texts = {}
        for path in {line.place.path for line in observed.lines}:
            named = SourceFolders(()).named(path)
            texts[path] = named.text.splitlines() if named is not None else []
        print_lines(behaviour_lines(observed, texts))
    if fail_on_faults and observed.faults:
        sys.exit(1)


def _sizes(text: str, name: str) -> list[int]:
    parts = re.split(r"[x,]", text)
    if not all(re.fullmatch(r"\d{1,10}", part) for part in parts):
        raise click.UsageError(f"{name} {text!r} is not of the form 4096, 256x256 or 64x64x64")
    return [int(part) for part in parts]

"""The ``kernlens`` command: finds the verb, runs it, turns errors into one sentence and an exit status."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from kernlens import __version__
from kernlens.cli.options import diagnostic_options
from kernlens.errors import KernlensError, nearest
from kernlens.log import VARIABLE, print_messages

#: Verb -> what it answers. Each verb lives in the module ``kernlens.cli.VERB`` as the function ``command``; only the
#: one that is asked for gets imported, so that a short question gets a quick answer.
VERBS = {
    "annotate": "Source lines with the instructions they became, and back.",
    "compile": "Compile sources for devices: a table kernel by device, and a recording.",
    "devices": "Every known device, and how it can be had here.",
    "disasm": "Machine instructions.",
    "doctor": "What is installed, what works, and what fixes each gap.",
    "extract": "Every part of a file, as files.",
    "inspect": "What a file is: containers, kernels, resources, symbols.",
    "layer": "How to turn on the layer that gives C programs snapshots of compile stages.",
    "link": "Whether modules link, who provides what to whom, and why not; the linked module.",
    "run": "An application on a simulated device.",
    "stages": "A program at every stage of its compile, and one source line followed through all of them.",
    "symbols": "What modules export and import, and their relocations.",
    "toolchain": "Compilers and drivers side by side: list, add, remove.",
}


class VerbGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = import_module(f"kernlens.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            near = nearest(name, VERBS)
            meant = f"did you mean {' or '.join(near)}?" if near else "see kernlens --help"
            raise click.UsageError(f"there is no verb '{name}'; {meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@diagnostic_options
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel: from the source line to the machine instruction.

    \b
    Example:
      kernlens compile blur.cl --device dg2 --options -gline-tables-only -o blur.klens
      kernlens annotate blur.klens --kernel blur
    """


def main() -> None:
    """Entry point. Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 a tool or driver failed."""
    # A process that answers one question keeps nearly all it makes: looking for cycles takes a third of the time that a
    # library of 5,000 images needs, and finds none.
    gc.set_threshold(100_000, 20, 100)
    debug = "--debug" in sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
    try:
        _obey_variable()
        sys.exit(kernlens.main(prog_name="kernlens", standalone_mode=False))
    except KernlensError as error:
        if debug:
            raise
        click.echo(f"kernlens: {error}", err=True)
        sys.exit(error.exit_status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("kernlens: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is wrong. Closing standard error keeps the
        # interpreter from complaining while it flushes.
        sys.stderr.close()
        sys.exit(0)


def _obey_variable() -> None:
    """Turn messages on if KERNLENS_LOG asks for them."""
    level = os.environ.get(VARIABLE, "")
    if level.lower() == "debug":
        print_messages()
    elif level:
        raise click.UsageError(f"{VARIABLE} is '{level}'; the only level there is is debug")

"""The verbs, and the group that imports the chosen one."""

from __future__ import annotations

from importlib import import_module

import click

from kernlens import __version__
from kernlens.cli.options import HelpingGroup, diagnostic_options
from kernlens.errors import nearest

#: Verb -> what it answers. Each verb lives in the module ``kernlens.cli.VERB`` as the function ``command``; only the
#: one that is asked for gets imported, so that a short question gets a quick answer.
VERBS = {
    "annotate": "Source lines with the instructions they became, and back.",
    "capture": "What an unmodified application builds and launches, in one recording.",
    "check": "Kernels against budgets and a baseline, for CI.",
    "compile": "Compile sources for devices: a table kernel by device, and a recording.",
    "devices": "Every known device, and how it can be had here.",
    "diff": "What changed between two compilers, options, devices or sources, line by line.",
    "disasm": "Machine instructions.",
    "doctor": "What is installed, what works, and what fixes each gap.",
    "extract": "Every part of a file, as files.",
    "inspect": "What a file is: containers, kernels, resources, symbols.",
    "layer": "How to turn on the layer that gives C programs snapshots of compile stages.",
    "link": "Whether modules link, who provides what to whom, and why not; the linked module.",
    "recording": "What recordings hold; merge, prune and redact them.",
    "report": "One HTML file that shows source, stages and machine code side by side.",
    "run": "An application on a simulated device.",
    "serve": "The explorer in the browser: programs, their stages and machine code, and compiles in place.",
    "stages": "A program at every stage of its compile, and one source line followed through all of them.",
    "sweep": "Sources for devices with toolchains and options: every kernel measured, in parallel.",
    "symbols": "What modules export and import, and their relocations.",
    "toolchain": "Compilers and drivers side by side: list, add, remove.",
}


class VerbGroup(HelpingGroup):
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
            from kernlens.cli.usage_advice import instead_of_verb

            near = nearest(name, VERBS)
            meant = f"did you mean {' or '.join(near)}?" if near else instead_of_verb(name)
            raise click.UsageError(f"there is no verb '{name}'; {meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@diagnostic_options
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel: from the source line to the machine instruction.

    \b
    Example:
      kernlens compile blur.cl --device dg2 -o blur.klens
      kernlens annotate blur.klens --kernel blur
    """

"""The verbs, and the group that imports the chosen one."""

from __future__ import annotations

from importlib import import_module

import click

from kernlens import __version__
from kernlens.cli import option
from kernlens.errors import likeliest

#: What one wants -> verb -> what it answers. Each verb lives in the module ``kernlens.cli.VERB`` as the function
#: ``command``; only the one that is asked for gets imported, so that a short question gets a quick answer.
GROUPS = {
    "Look": {
        "inspect": "What a file is: containers, kernels, resources, symbols.",
        "disasm": "Machine instructions.",
        "symbols": "What modules export and import, and their relocations.",
        "extract": "Every part of a file, as files.",
    },
    "Explain": {
        "annotate": "Source lines with the instructions they became, and back.",
        "stages": "A program at every stage of its compile, and one source line followed through all of them.",
        "report": "One HTML file that shows source, stages and machine code side by side.",
        "serve": "The explorer in the browser: programs, their stages and machine code, and compiles in place.",
    },
    "Compare": {
        "diff": "What changed between two compilers, options, devices or sources, line by line.",
        "check": "Kernels against budgets and a baseline, for CI.",
    },
    "Compile": {
        "compile": "Compile sources for devices: a table kernel by device, and a recording.",
        "sweep": "Sources for devices with toolchains and options: every kernel measured, in parallel.",
        "link": "Whether modules link, who provides what to whom, and why not; the linked module.",
    },
    "Applications": {
        "capture": "What an unmodified application builds and launches, in one recording.",
        "recording": "What recordings hold; merge, prune and redact them.",
        "run": "An application on a simulated device.",
        "layer": "How to turn on the layer that gives C programs snapshots of compile stages.",
    },
    "This machine": {
        "doctor": "What is installed, what works, and what fixes each gap.",
        "devices": "Every known device, and how it can be had here.",
        "toolchain": "Compilers and drivers side by side: list, add, remove.",
    },
}
VERBS = {verb: sentence for verbs in GROUPS.values() for verb, sentence in verbs.items()}


class VerbGroup(option.HelpingGroup):
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
        # One width of the first column for all groups.
        longest = max(map(len, VERBS))
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(longest), sentence) for verb, sentence in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            from kernlens.cli.usage_advice import instead_of_verb

            near = likeliest(name, VERBS)
            meant = f"did you mean {' or '.join(near)}?" if near else instead_of_verb(name)
            raise click.UsageError(f"there is no verb '{name}'; {meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@option.diagnostic
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel: from the source line to the machine instruction.

    \b
    Example:
      kernlens compile blur.cl --device dg2 -o blur.klens
      kernlens annotate blur.klens --kernel blur
    """

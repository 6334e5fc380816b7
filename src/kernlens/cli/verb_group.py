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
        "inspect": "Show what a file contains: containers, kernels, resources, symbols.",
        "disasm": "Print machine instructions.",
        "symbols": "Show what modules export and import, and their relocations.",
        "extract": "Write every part of a file into a folder.",
    },
    "Explain": {
        "annotate": "Print each source line with the instructions compiled from it.",
        "advise": "Print what could make kernels cheaper, line by line, and why.",
        "stages": "Show a program at every compile stage, or follow one source line through all of them.",
        "report": "Write one HTML file with source, stages and machine code side by side.",
        "serve": "Open the explorer in the browser: source, stages and machine code side by side.",
        "mcp": "Answer the questions of agents: the tools of a server of the Model Context Protocol.",
    },
    "Compare": {
        "diff": "Show what changed between two compilers, options, devices or sources, line by line.",
        "check": "Check kernels against limits and a baseline, for CI.",
    },
    "Compile": {
        "compile": "Compile sources, print metrics per kernel and device, and save a recording.",
        "sweep": "Measure kernels over devices, toolchains and build options, in parallel.",
        "link": "Predict whether modules link, and why not; or link them.",
        "assemble": "Put edited machine code back into its file.",
    },
    "Applications": {
        "capture": "Run an application and record every program that it builds.",
        "recording": "List, merge, prune and redact recordings.",
        "replay": "Run a launch that a recording keeps again, alone: compare its results, and time it.",
        "observe": "Run a kernel in an interpreter and count what it does on its data, line by line.",
        "run": "Run an application on a simulated device.",
        "layer": "Print the shell lines that enable the OpenCL layer for compile stages.",
    },
    "This machine": {
        "doctor": "Check what is installed, what works, and how to fix the rest.",
        "devices": "List the supported devices.",
        "toolchain": "List, add and remove compilers and drivers.",
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
            raise click.UsageError(f"there is no command '{name}'; {meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@option.diagnostic
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel, from the source line to the machine instruction.

    \b
    Example:
      kernlens compile blur.cl --device dg2 -o blur.klens
      kernlens annotate blur.klens --kernel blur
    """

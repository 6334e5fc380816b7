"""The verbs, and the group that imports the chosen one."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from shlex import join

import click

from kernlens import __version__
from kernlens.cli import option
from kernlens.errors import likeliest

#: Where a context keeps that the command line has no word.
_IS_SHORT = "kernlens.short"

#: What one wants -> verb -> what it answers; what people use most stands first. Each verb lives in the module
#: ``kernlens.cli.VERB`` as the function ``command``; only the one that is asked for gets imported, so that a short question
#: gets a quick answer.
GROUPS = {
    "Every day": {
        "annotate": "Print each source line with the instructions compiled from it.",
        "advise": "Print what could make kernels cheaper, line by line, and why.",
        "diff": "Show line by line what an edit, an option or a compiler changed.",
        "check": "Check kernels against limits and a baseline, for CI.",
        "sweep": "Measure kernels over devices, toolchains and build options.",
        "serve": "Open source, stages and machine code side by side in the browser.",
        "capture": "Run an application and record every program that it builds.",
        "doctor": "Check what is installed, what works, and how to fix the rest.",
    },
    "Look": {
        "inspect": "Show what a file contains: containers, kernels, resources, symbols.",
        "disasm": "Print machine instructions.",
        "symbols": "Show what modules export and import, and their relocations.",
        "extract": "Write every part of a file into a folder.",
    },
    "Explain": {
        "stages": "Show a program at every compile stage, or follow one source line through all of them.",
        "report": "Write one HTML file with source, stages and machine code side by side.",
        "mcp": "Answer the questions of agents: the tools of a server of the Model Context Protocol.",
    },
    "Compile": {
        "compile": "Compile sources, print metrics per kernel and device, and save a recording.",
        "link": "Predict whether modules link, and why not; or link them.",
        "assemble": "Put edited machine code back into its file.",
    },
    "Applications": {
        "recording": "List, merge, prune and redact recordings.",
        "replay": "Run a launch that a recording keeps again, alone: compare its results, and time it.",
        "observe": "Run a kernel in an interpreter and count what it does on its data, line by line.",
        "run": "Run an application on a simulated device.",
        "layer": "Print the shell lines that enable the OpenCL layer for compile stages.",
    },
    "This machine": {
        "devices": "List the supported devices.",
        "toolchain": "List, add and remove compilers and drivers.",
    },
}
VERBS = {verb: sentence for verbs in GROUPS.values() for verb, sentence in verbs.items()}


class VerbGroup(option.HelpingGroup):
    """A group whose commands are imported on first use. Without a word it shows the daily ones; a file in place of a command
    gets the one that shows most of it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = import_module(f"kernlens.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_IS_SHORT] = not args
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not ctx.meta.get(_IS_SHORT):
            return super().format_options(ctx, formatter)
        (title, daily), *others = GROUPS.items()
        with formatter.section(title):
            formatter.write_dl(list(daily.items()))
        with formatter.section("More"):
            formatter.write_dl([(title, ", ".join(verbs)) for title, verbs in others])
        formatter.write_paragraph()
        formatter.write_text(
            "kernlens FILE chooses the command for the file. kernlens COMMAND --help explains a command, and kernlens --help"
            " has a sentence on each, and the options of all."
        )
        return None

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
            args = [_instead(name, args), *args]
        return super().resolve_command(ctx, args)


def _instead(name: str, words: list[str]) -> str:
    """Return the command for a file that stands in place of one. Raises UsageError for what is neither."""
    if os.path.exists(name):
        from kernlens.cli.output import print_message
        from kernlens.verbs.first_look import first_look

        verb, what = first_look(name)
        print_message(f"kernlens: {name} ({what}): {join(['kernlens', verb, *words])}")
        return verb
    if os.path.basename(name) != name or os.path.splitext(name)[1]:
        raise click.UsageError(f"there is no file {name}, and no command of that name; see kernlens --help")
    near = likeliest(name, VERBS)
    meant = "write kernlens --help, or kernlens COMMAND --help" if name == "help" else "see kernlens --help"
    raise click.UsageError(
        f"there is no command '{name}'; " + (f"did you mean {' or '.join(near)}?" if near else meant)
    )


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="kernlens", message="%(prog)s %(version)s")
@partial(option.diagnostic, hidden=False)
def kernlens() -> None:
    """Show what a GPU compiler made of your kernel, from the source line to the machine instruction.

    \b
    Example:
      kernlens annotate blur.cl --device dg2
    """

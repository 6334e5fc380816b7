"""``kernlens assemble``: an edited text of machine code, put back into its file."""

from __future__ import annotations

import click

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines, print_message, refuse_input
from kernlens.dataclass import dataclass


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    text: str = option.argument(metavar="TEXT", type=click.Path())
    into: str = option.file(
        "File to put the code into: a zebin, a NEO ELF, or a recording of one build. It stays as it is.",
        "--into",
        required=True,
    )
    output: str = option.file(
        "File to write: the same with the new code, and without SPIR-V.", "-o", "--output", required=True
    )
    kernel: str | None = option.value(
        "Kernel to put the code into (default: the one that TEXT names).", "--kernel", metavar="KERNEL"
    )
    scoreboard: str = option.value(
        "auto: set all tokens and distances of the scoreboard anew. keep: take them as they are written.",
        "--scoreboard",
        type=click.Choice(["keep", "auto"]),
        default="keep",
        show_default=True,
    )
    device: str | None = option.device("Take the program for this device, where there are several.")
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens assemble blur.asm --into blur.bin -o edited.bin")
def command(asked: Asked) -> None:
    """Assemble a kernel's machine code that `disasm --editable` printed and that was edited, and put it into a copy of its
    file.

    Branches, symbols, relocations and debug data move with the instructions, and unchanged instructions keep their bytes.
    kernlens warns where the edit lets an instruction read or write a register too early, and prints what differs. Run the
    result with `capture --replace KERNEL=FILE`.
    """
    refuse_input(asked.output)
    from kernlens.verbs.assemble import assemble

    output, into = asked.output, asked.into
    result = assemble(
        asked.text, into, kernel=asked.kernel, output=output, scoreboard=asked.scoreboard, device=asked.device
    )
    if asked.as_json:
        print_json({
            "schema": 1, "kernel": result.kernel, "file": output, "code_size": len(result.code), "changed": result.changed,
            "added": result.added, "removed": result.removed, "warnings": list(result.warnings),
        })  # fmt: skip
        return
    for warning in result.warnings:
        print_message(f"warning: {warning}")
    print_lines([
        f"{output}: {result.kernel} has {len(result.code):,} bytes of code; {result.changed} instructions changed,"
        f" {result.added} added, {result.removed} removed"
    ])  # fmt: skip
    _print_difference(into, output, result.kernel)


def _print_difference(old: str, new: str, kernel: str) -> None:
    from kernlens.cli.diff import print_difference
    from kernlens.verbs.diff import diff

    print_difference(diff(old, new, kernels=(kernel,)), has_instructions=True)

"""``kernlens assemble``: an edited text of machine code, put back into its file."""

from __future__ import annotations

import click

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines, print_message, refuse_input


@option.verb("kernlens assemble blur.asm --into blur.bin -o edited.bin")
@click.argument("text", metavar="TEXT", type=click.Path())
@option.file(
    "File to put the code into: a zebin, a NEO ELF, or a recording of one build. It stays as it is.",
    "--into",
    required=True,
)
@option.file("File to write: the same with the new code, and without SPIR-V.", "-o", "--output", required=True)
@option.value("Kernel to put the code into (default: the one that TEXT names).", "--kernel", metavar="KERNEL")
@option.value(
    "auto: set all tokens and distances of the scoreboard anew. keep: take them as they are written.",
    "--scoreboard",
    type=click.Choice(["keep", "auto"]),
    default="keep",
    show_default=True,
)
@option.device("Take the program for this device, where there are several.")
@option.full()
@option.json()
def command(
    text: str, into: str, output: str, kernel: str | None, scoreboard: str, device: str | None, as_json: bool
) -> None:
    """Assemble a kernel's machine code that `disasm --editable` printed and that was edited, and put it into a copy of its
    file.

    Branches, symbols, relocations and debug data move with the instructions, and unchanged instructions keep their bytes.
    kernlens warns where the edit lets an instruction read or write a register too early, and prints what differs. Run the
    result with `capture --replace KERNEL=FILE`.
    """
    refuse_input(output)
    from kernlens.verbs.assemble import assemble

    result = assemble(text, into, kernel=kernel, output=output, scoreboard=scoreboard, device=device)
    if as_json:
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

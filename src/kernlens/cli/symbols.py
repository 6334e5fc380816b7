"""``kernlens symbols``: what modules give to others and want from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernlens.cli import completion
from kernlens.cli.options import json_option, verb

if TYPE_CHECKING:
    from kernlens.model.module import Module
    from kernlens.model.program import Program


@verb("kernlens symbols library.bin --json")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--device", metavar="D", shell_complete=completion.devices, help="Only programs for this device.")
@click.option("--options", metavar="O", default="", help="The build options that SPIR-V will be compiled with.")
@click.option(
    "--driver", metavar="RELEASE", default="26.27", show_default=True, help="The driver that compiles SPIR-V."
)
@click.option("--all", "everything", is_flag=True, help="Show the relocations of debug sections too.")
@json_option()
def command(
    paths: tuple[str, ...], device: str | None, options: str, driver: str, everything: bool, as_json: bool
) -> None:
    """Show exports, imports, kernels and relocations of SPIR-V, zebin and patch-token programs, and of recordings.

    Which symbols a module exports depends on the flags that it was compiled with: -library-compilation for functions,
    -ze-take-global-address for variables. What a missing flag hides is shown where the binary keeps its SPIR-V.
    """
    from kernlens.analysis.linking.driver_rules import rules_of
    from kernlens.loading import open_file
    from kernlens.loading.linkable import readable_modules

    rules = rules_of(driver)
    opened = [open_file(path) for path in paths]
    modules = [
        one for contents in opened for one in readable_modules(contents, device=device, options=options, rules=rules)
    ]
    if as_json:
        from kernlens.cli.output import print_json
        from kernlens.report.symbol_tables import symbols_document

        print_json({"schema": 1, "modules": [symbols_document(program, module) for program, module in modules]})
    else:
        _print(modules, everything)
    for contents in opened:
        contents.check()


def _print(found: list[tuple[Program, Module]], everything: bool) -> None:
    from kernlens.cli.output import print_lines
    from kernlens.report.symbol_tables import symbols_text

    for number, (program, module) in enumerate(found):
        if number:
            print_lines([""])
        print_lines(symbols_text(program, module, all_relocations=everything))

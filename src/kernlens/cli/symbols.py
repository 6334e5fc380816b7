"""``kernlens symbols``: the exports, imports and relocations of modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.output import print_lines, print_pieces, printable
from kernlens.cli.sources import Compiling
from kernlens.dataclass import dataclass, replace

if TYPE_CHECKING:
    from kernlens.analysis.linking.driver_rules import DriverRules
    from kernlens.model.device import Device
    from kernlens.model.module import Module
    from kernlens.model.program import Program


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths()
    compiling: Compiling = option.together(Compiling)
    options: str = option.build_options(
        "Build options for sources, and those that SPIR-V modules will be compiled with."
    )
    driver: str = option.value(
        "Driver release that will compile SPIR-V.", "--driver", metavar="RELEASE", default="26.27", show_default=True
    )
    everything: bool = option.flag("Also show relocations of debug sections.", "--all")
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens symbols library.bin --json")
def command(asked: Asked) -> None:
    """Show exports, imports, kernels and relocations of SPIR-V, zebin, patch-token programs, AMD code objects, and recordings.

    A module exports functions if it was compiled with -library-compilation, and variables if compiled with
    -ze-take-global-address. If the binary contains its SPIR-V, kernlens also shows the symbols that a missing flag
    hides.
    """
    from kernlens.analysis.linking.driver_rules import rules_of
    from kernlens.loading.linkable import SYMBOLIC, linkable_in
    from kernlens.model.failed_builds import by_path
    from kernlens.report.failure_lines import failed_documents, failed_lines
    from kernlens.report.json_text import encoded
    from kernlens.verbs.absent import whole_of
    from kernlens.verbs.programs import for_device

    rules, options, device = rules_of(asked.driver), asked.options, asked.compiling.chosen
    opened = asked.compiling.opened(asked.paths, options, with_spirv=False)
    linkable = []
    for contents in opened:
        chosen = for_device(contents.programs, device, whole=whole_of(contents))
        linkable += linkable_in(contents, chosen, SYMBOLIC)
    failed = by_path(contents.failed_builds(device) for contents in opened)
    if asked.as_json:
        documents = _answers(linkable, options, rules, _document)
        head = f'{{"schema":1,"failed_builds":{encoded(failed_documents(failed))},"modules":['
        print_pieces(chain([head], _joined(documents, ","), ["]}\n"]))
    else:
        print_pieces(_joined(_answers(linkable, options, rules, partial(_text, asked.everything)), "\n"))
        if failed:
            print_lines(["", *failed_lines(failed)])
    for contents in opened:
        contents.check()


def _answers(
    linkable: list[tuple[str, Program]], options: str, rules: DriverRules, shown: Callable[[Program, Module], str]
) -> Iterator[str]:
    """Yield the text of each program's module."""
    from kernlens.cli.shares import in_shares
    from kernlens.loading.linkable import module_of

    def answer(share: Sequence[tuple[str, Program]], threads: int | None) -> Iterator[str]:
        of_spirv: dict[tuple[Device | None, memoryview], Module] = {}
        for name, program in share:
            # Most images of a SYCL library repeat another.
            key = (program.device, program.spirv)
            module = of_spirv.get(key) if program.format == "spirv" else None
            if module is None:
                module = module_of(program, name=name, options=options, rules=rules)
            if program.format == "spirv":
                of_spirv[key] = module
            yield shown(program, replace(module, name=name))

    return in_shares(linkable, [len(program.spirv) + len(program.binary) for _, program in linkable], answer)


def _joined(texts: Iterator[str], separator: str) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield separator + text if number else text


def _document(program: Program, module: Module) -> str:
    from kernlens.report.json_text import encoded
    from kernlens.report.link.symbol_tables import symbols_document

    return encoded(symbols_document(program, module))


def _text(everything: bool, program: Program, module: Module) -> str:
    from kernlens.report.link.symbol_tables import symbols_text

    return printable(symbols_text(program, module, all_relocations=everything))

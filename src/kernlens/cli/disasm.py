"""``kernlens disasm``: a file's machine instructions."""

from __future__ import annotations

from kernlens.cli import option
from kernlens.cli.option_rules import one_of
from kernlens.cli.output import print_lines, print_pieces
from kernlens.cli.sources import Sources
from kernlens.dataclass import dataclass


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    kernels: tuple[str, ...] = option.kernels()
    editable: bool = option.flag("Print one kernel as text to edit, which `kernlens assemble` puts back.", "--editable")
    sources: Sources = option.together(Sources)
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens disasm blur.bin --kernel blur", rules=one_of("--editable", "--json"))
def command(asked: Asked) -> None:
    """Print the machine instructions of a file's kernels."""
    from kernlens.cli.listings import Form, Lines, instructions_json, listing

    contents, device = asked.sources.opened(asked.path), asked.sources.chosen
    if asked.editable:
        from kernlens.verbs.editable import editable_kernel, editable_text

        print_lines(editable_text(asked.path, *editable_kernel(contents, asked.kernels, device)))
        return
    form: Form
    if asked.as_json:
        form = instructions_json(is_placed=False)
    else:
        from kernlens.report.listing import disassembly

        form = Lines(disassembly, is_printed=True)
    print_pieces(listing(contents, asked.kernels, device, form))
    contents.check()

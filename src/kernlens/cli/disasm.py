"""``kernlens disasm``: a file's machine instructions."""

from __future__ import annotations

from kernlens.cli import option
from kernlens.cli.option_rules import one_of
from kernlens.cli.output import is_terminal, print_lines, print_pieces


@option.verb("kernlens disasm blur.bin --kernel blur", rules=one_of("--editable", "--json"))
@option.path()
@option.kernel()
@option.flag("Print one kernel as text to edit, which `kernlens assemble` puts back.", "--editable")
@option.chosen_device()
@option.full()
@option.json()
def command(path: str, kernel_names: tuple[str, ...], editable: bool, device: str | None, as_json: bool) -> None:
    """Print the machine instructions of a file's kernels."""
    from kernlens.cli.listings import Form, Lines, instructions_json, listing
    from kernlens.loading import open_file

    contents = open_file(path, device=device)
    if editable:
        from kernlens.verbs.editable import editable_kernel, editable_text

        print_lines(editable_text(path, *editable_kernel(contents, kernel_names, device)))
        return
    form: Form
    if as_json:
        form = instructions_json(is_placed=False, is_indented=is_terminal())
    else:
        from kernlens.report.listing import disassembly

        form = Lines(disassembly, is_printed=True)
    print_pieces(listing(contents, kernel_names, device, form))
    contents.check()

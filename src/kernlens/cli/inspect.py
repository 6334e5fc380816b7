"""``kernlens inspect``: what a file is."""

from __future__ import annotations

from kernlens.cli.options import device_option, for_device, json_option, path_argument, verb


@verb("kernlens inspect blur.bin")
@path_argument()
@device_option()
@json_option()
def command(path: str, device: str | None, as_json: bool) -> None:
    """Show what a file is: nested containers, kernels, resources, symbols."""
    from kernlens.loading import Folder, open_file

    contents = open_file(path, device=device)
    if isinstance(contents, Folder):
        from kernlens.cli.folder_overview import folder_overview, json_form, lines_form
        from kernlens.cli.output import is_terminal, print_pieces

        form = json_form(is_indented=is_terminal()) if as_json else lines_form(path)
        print_pieces(folder_overview(contents, device, form))
    elif as_json:
        from kernlens.cli.output import print_json
        from kernlens.report.document import inspect_document

        print_json(inspect_document(contents.containers, for_device(contents.programs, device)))
    else:
        from kernlens.cli.output import print_lines
        from kernlens.report.overview import overview

        print_lines(overview(path, contents.containers, for_device(contents.programs, device)))
    contents.check()

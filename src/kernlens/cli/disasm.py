"""``kernlens disasm``: a file's machine instructions."""

from __future__ import annotations

from kernlens.cli.options import device_option, json_option, kernel_option, path_argument, select, verb


@verb("kernlens disasm blur.bin --kernel blur")
@path_argument()
@kernel_option()
@device_option()
@json_option()
def command(path: str, kernel_names: tuple[str, ...], device: str | None, as_json: bool) -> None:
    """Print the machine instructions of a file's kernels."""
    from kernlens.cli.output import print_json, print_lines
    from kernlens.loading import open_file
    from kernlens.loading.decoding import decode_kernels

    contents = open_file(path, device=device)
    selection = select(contents.machine_code(), kernel_names, device)
    decode_kernels(selection, texts=True)
    if as_json:
        from kernlens.report.document import disasm_document

        print_json(disasm_document(selection))
    else:
        from kernlens.report.listing import disassembly

        for program, kernels in selection:
            for kernel in kernels:
                print_lines(disassembly(program, kernel), cutting=True)
    contents.check()

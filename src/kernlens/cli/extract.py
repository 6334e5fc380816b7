"""``kernlens extract``: every part of a file, as files."""

from __future__ import annotations

from pathlib import Path

import click

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines
from kernlens.report.table import table


@option.verb("kernlens extract blur.bin -o blur.parts")
@option.path()
@option.value("Output folder.", "-o", "--output", metavar="DIR", type=click.Path(), required=True)
@option.kernel("Write only this kernel's code, with the sources and SPIR-V of its program")
@option.source_root()
@option.chosen_device()
@option.json()
def command(
    path: str,
    output: str,
    kernel_names: tuple[str, ...],
    source_roots: tuple[str, ...],
    device: str | None,
    as_json: bool,
) -> None:
    """Write every container, section, kernel and source of a file into a folder, and list them."""
    from kernlens.loading import open_file
    from kernlens.report.failure_lines import failed_documents, failed_lines
    from kernlens.verbs.extract import extract

    contents = open_file(path, device=device, source_roots=source_roots)
    failed = [contents.failed_builds(device)]
    written = extract(contents, Path(output), device, kernel_names)
    if as_json:
        listed = [{"path": name, "size": size} for name, size in written]
        print_json({"schema": 1, "folder": output, "parts": listed, "failed_builds": failed_documents(failed)})
    else:
        print_lines([*table(("file", "bytes"), written), *failed_lines(failed)])
    contents.check()

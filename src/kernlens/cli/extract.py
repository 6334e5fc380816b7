"""``kernlens extract``: every part of a file, as files."""

from __future__ import annotations

from pathlib import Path

import click

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines
from kernlens.cli.sources import Sources
from kernlens.dataclass import dataclass
from kernlens.report.table import table


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    output: str = option.value("Output folder.", "-o", "--output", metavar="DIR", type=click.Path(), required=True)
    kernels: tuple[str, ...] = option.kernels(
        "Write only this kernel's code, with the sources and SPIR-V of its program"
    )
    source_roots: tuple[str, ...] = option.source_root()
    sources: Sources = option.together(Sources)
    as_json: bool = option.json()


@option.verb(Asked, "kernlens extract blur.bin -o blur.parts")
def command(asked: Asked) -> None:
    """Write every container, section, kernel and source of a file into a folder, and list them."""
    from kernlens.report.failure_lines import failed_documents, failed_lines
    from kernlens.verbs.extract import extract

    contents = asked.sources.opened(asked.path, source_roots=asked.source_roots, with_spirv=False)
    device, output = asked.sources.chosen, asked.output
    failed = [contents.failed_builds(device)]
    written = extract(contents, Path(output), device, asked.kernels)
    if asked.as_json:
        listed = [{"path": name, "size": size} for name, size in written]
        print_json({"schema": 1, "folder": output, "parts": listed, "failed_builds": failed_documents(failed)})
    else:
        print_lines([*table(("file", "bytes"), written), *failed_lines(failed)])
    contents.check()

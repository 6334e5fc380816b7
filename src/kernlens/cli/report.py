"""``kernlens report``: what ``serve`` shows, in one HTML file."""

from __future__ import annotations

import click

from kernlens.cli.options import (
    device_option,
    file_option,
    kernel_option,
    own_lines_option,
    own_roots,
    path_argument,
    source_root_option,
    unconfined_option,
    verb,
)
from kernlens.cli.output import print_message, print_pieces


@verb("kernlens report blur.klens -o blur.html")
@path_argument()
@click.option(
    "-o", "--output", metavar="FILE", required=True, type=click.Path(dir_okay=False), help="HTML file to write."
)
@kernel_option()
@click.option("--redact", type=click.Choice(["source"]), help="Remove all source text from the page.")
@click.option(
    "--stages/--no-stages",
    default=None,
    help="Recompile programs without saved stages to show their stages; or show no stages.  [default: show saved stages]",
)
@file_option("Source file to use if the line table does not name it.", "--source")
@source_root_option()
@own_lines_option()
@device_option()
@unconfined_option()
def command(
    path: str,
    output: str,
    kernel_names: tuple[str, ...],
    redact: str | None,
    stages: bool | None,
    source: str | None,
    source_roots: tuple[str, ...],
    is_own: bool,
    device: str | None,
    unconfined: bool,
) -> None:
    """Write one HTML file with source, stages and machine code side by side. It needs no network and no server."""
    from kernlens.loading import open_file
    from kernlens.verbs.report import report_page

    contents = open_file(path, device=device, source_roots=source_roots, source=source)
    pieces = report_page(
        contents,
        kernel_names,
        device,
        stages=stages,
        is_redacted=redact is not None,
        own_roots=own_roots(source_roots),
        is_own=is_own,
        unconfined=unconfined,
        tell=lambda sentence: print_message(f"kernlens: {sentence}"),
    )
    print_pieces(pieces, output)
    contents.check()

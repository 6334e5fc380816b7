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
@click.option("-o", "--output", metavar="FILE", required=True, type=click.Path(dir_okay=False), help="The page.")
@kernel_option()
@click.option("--redact", type=click.Choice(["source"]), help="Leave source text out, wherever it stands.")
@click.option(
    "--stages/--no-stages",
    default=None,
    help="Compile programs again whose stages were not kept, to show them; or show no stages. Else those that were kept.",
)
@file_option("The source, where the line table does not name it.", "--source")
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
    """Write one HTML file that shows source, stages and machine code side by side; it needs no network and no server."""
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

"""``kernlens report``: what ``serve`` shows, in one HTML file."""

from __future__ import annotations

import os

from kernlens.cli import option
from kernlens.cli.output import Progress, print_json, print_message, print_pieces


@option.verb("kernlens report blur.klens -o blur.html")
@option.path()
@option.file("HTML file to write.", "-o", "--output", required=True, dir_okay=False)
@option.kernel()
@option.value("Remove all source text from the page.", "--redact", type=option.Choice(["source"]))
@option.flag(
    "Keep absolute paths on the page: your home folder and those of sources and options.", "--paths", "has_paths"
)
@option.value(
    "Recompile programs without saved stages to show their stages; or show no stages.  [default: show saved stages]",
    "--stages/--no-stages",
    default=None,
)
@option.file("Source file to use if the line table does not name it.", "--source")
@option.source_root()
@option.own_lines()
@option.samples
@option.chosen_device()
@option.unconfined()
@option.json()
def command(
    path: str,
    output: str,
    kernel_names: tuple[str, ...],
    redact: str | None,
    has_paths: bool,
    stages: bool | None,
    source: str | None,
    source_roots: tuple[str, ...],
    is_own: bool,
    samples: str | None,
    samples_device: int | None,
    device: str | None,
    unconfined: bool,
    as_json: bool,
) -> None:
    """Write one HTML file with source, stages and machine code side by side. It needs no network and no server."""
    from kernlens.cli.samples import read_samples, tell_unmatched
    from kernlens.loading import open_file
    from kernlens.verbs.report import report_page

    contents = open_file(path, device=device, source_roots=source_roots, source=source)
    sampled = read_samples(samples, samples_device)
    if sampled is not None:
        tell_unmatched(samples, sampled, contents.programs)
    with Progress("decoding", quiet=as_json, later=True) as progress:
        pieces = report_page(
            contents,
            kernel_names,
            device,
            stages=stages,
            is_redacted=redact is not None,
            own_roots=option.own_roots(source_roots),
            is_own=is_own,
            sampled=sampled,
            unconfined=unconfined,
            has_paths=has_paths,
            tell=lambda sentence: print_message(f"kernlens: {sentence}"),
            on_progress=progress.show,
        )
        print_pieces(pieces, output)
    if as_json:
        print_json({"schema": 1, "page": output, "size": os.stat(output).st_size})
    contents.check()

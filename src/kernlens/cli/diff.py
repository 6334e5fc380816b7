"""``kernlens diff``: what changed between two sets of programs, kernel by kernel and line by line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.output import is_styled, print_json, print_lines, written
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernlens.verbs.diff import Difference


@option.verb("kernlens diff blur.cl --device dg2 --toolchain system,newest")
@option.paths()
@option.devices(
    "Compile sources for this device, or only programs for it; with two, the one on each side.", metavar="D[,D]"
)
@option.toolchain(
    "Compile sources with this one (the default one if not given), or only its programs; with two, the one on each side.",
    several=True,
    default=None,
    metavar="T[,T]",
)
@option.build_options("Build options, beside -gline-tables-only; twice: of each side.", several=True)
@option.kernel()
@option.flag("The old and the new instructions of each changed line; as with --kernel.", "--lines")
@option.figure("The worst of this figure first", "--sort")
@option.flag("The first stage of the compile at which each changed kernel parts.", "--stages")
@option.flag("With --stages, the compiler's first pass too.", "--all-passes")
@option.source_root()
@option.unconfined()
@option.file("Write one HTML page too.", "--html")
@option.full()
@option.json()
def command(
    paths: tuple[str, ...],
    devices: list[str],
    toolchains: list[str],
    options: tuple[str, ...],
    kernel_names: tuple[str, ...],
    lines: bool,
    sort: str | None,
    stages: bool,
    all_passes: bool,
    source_roots: tuple[str, ...],
    unconfined: bool,
    html: str | None,
    as_json: bool,
) -> None:
    """Show what changed between A and B: kernels, figures, and the source lines with their old and new instructions.

    A and B are binaries, recordings or folders, or sources that are compiled for --device. One PATH alone is compared with
    itself: with two devices, two toolchains or two --options. The exit status is 0 if all is equal and 1 if not.
    """
    if all_passes and not stages:
        raise click.UsageError("--all-passes is about stages; give --stages too")
    if len(paths) > 2:
        raise KernlensError(f"A and B are two, not {len(paths)}; put several files of a side into a folder")
    from kernlens.cli.compile import told_failures
    from kernlens.verbs.diff import diff

    with told_failures():
        difference = diff(
            *paths,
            device=devices,
            toolchain=toolchains,
            options=options,
            kernels=kernel_names,
            sort=sort,
            stages=stages,
            all_passes=all_passes,
            source_roots=source_roots,
            unconfined=unconfined,
        )
    has_instructions = lines or bool(kernel_names)
    with written([(html, lambda: _page(difference, has_instructions))]):
        _print(difference, has_instructions, as_json)
    sys.exit(0 if difference.equal else 1)


def _print(difference: Difference, has_instructions: bool, as_json: bool) -> None:
    from kernlens.report.comparison import figure_table, kernel_lines, summary

    if as_json:
        print_json(difference.document(lines=has_instructions))
        return
    print_lines(summary(*_titles(difference), difference.pairing, difference.changes))
    print_lines(figure_table(difference.changes))
    for change, parting in zip(difference.changes, difference.partings, strict=True):
        print_lines(kernel_lines(change, parting=parting, has_instructions=has_instructions))


def _titles(difference: Difference) -> tuple[str, str]:
    from kernlens.report.comparison import side_title

    return side_title(difference.old, difference.old_title), side_title(difference.new, difference.new_title)


def _page(difference: Difference, has_instructions: bool) -> Iterator[bytes]:
    from kernlens.report.comparison_page import comparison_page

    with is_styled():
        pieces = comparison_page(
            *_titles(difference),
            difference.pairing,
            difference.changes,
            difference.partings,
            has_instructions=has_instructions,
        )
        yield from (piece.encode() for piece in pieces)

"""``kernlens diff``: what changed between two sets of programs, kernel by kernel and line by line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kernlens.cli.options import (
    devices_option,
    file_option,
    full_option,
    json_option,
    kernel_option,
    listed,
    options_option,
    sort_option,
    source_root_option,
    toolchain_option,
    unconfined_option,
    verb,
)
from kernlens.cli.output import is_styled, print_json, print_lines, written
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernlens.verbs.diff import Difference


@verb("kernlens diff blur.cl --device dg2 --toolchain system,newest")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@devices_option(
    "Compile sources for this device; compare only its programs. Two devices: one per side.", metavar="DEVICE[,DEVICE]"
)
@toolchain_option(
    "Compile sources with this toolchain (default: system); compare only its programs. Two toolchains: one per side.",
    several=True,
    default=None,
    metavar="TOOLCHAIN[,...]",
)
@options_option("Build options for sources, added to -gline-tables-only. Given twice: one set per side.", several=True)
@kernel_option()
@click.option(
    "--lines", is_flag=True, help="Print the old and new instructions of each changed line. --kernel implies it."
)
@sort_option("Sort by growth of this metric, largest first")
@click.option("--stages", is_flag=True, help="Print the first compile stage that differs, for each changed kernel.")
@click.option("--all-passes", is_flag=True, help="With --stages, also print the first compiler pass that differs.")
@source_root_option()
@unconfined_option()
@file_option("Also write an HTML page.", "--html")
@full_option()
@json_option()
def command(
    paths: tuple[str, ...],
    devices: str | None,
    toolchains: str | None,
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
    """Show what changed between A and B: kernels, metrics, and source lines with their old and new instructions.

    A and B are binaries, recordings, folders, or sources to compile for --device. With one PATH, kernlens compares two
    devices, two toolchains or two sets of --build-options. The exit status is 0 if both sides are equal and 1 if not.
    """
    if all_passes and not stages:
        raise click.UsageError("--all-passes needs --stages")
    if len(paths) > 2:
        raise KernlensError(f"diff compares two paths, not {len(paths)}; put the files of one side into a folder")
    from kernlens.cli.compile import told_failures
    from kernlens.verbs.diff import diff

    with told_failures():
        difference = diff(
            *paths,
            device=listed(devices),
            toolchain=listed(toolchains),
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

"""``kernlens diff``: what changed between two sets of programs, kernel by kernel and line by line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import Progress, is_full, is_styled, print_json, print_lines, written
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernlens.analysis.comparison.sample_changes import SampleChange
    from kernlens.report.diff.comparison_summary import Summary
    from kernlens.verbs.difference import Difference

#: Tables of samples are at most so wide, unless --full is given.
_TABLE_WIDTH = 100


_RULES = (Rule("--all-passes", needs=("--stages",)), *one_of("--markdown", "--json"))


@option.verb("kernlens diff blur.cl --device dg2 --toolchain system,newest", rules=_RULES)
@option.paths(required=False)
@option.value(
    "Compare revisions: OLD..NEW, OLD...NEW (since they parted) or OLD (with the working tree); PATHS choose sources.",
    "--git",
    metavar="REV[..REV]",
)
@option.devices(
    "Compile sources for this device; compare only its programs. Two devices: one per side.", metavar="DEVICE[,DEVICE]"
)
@option.toolchain(
    "Compile sources with this toolchain (default: the default one); compare only its programs. Two: one per side.",
    several=True,
    default=None,
    metavar="TOOLCHAIN[,...]",
)
@option.build_options(
    "Build options for sources, added to -gline-tables-only. Given twice: one set per side.", several=True
)
@option.kernel()
@option.several(
    "Compare only this kernel of A with this one of B, or two of one PATH. May be repeated.",
    "--pair",
    "pairs",
    metavar="OLD=NEW",
)
@option.flag("Print the old and new instructions of each changed line. --kernel implies it.", "--lines")
@option.value(
    "Print the N kernels that got worst.", "--top", metavar="N", type=click.IntRange(0), default=10, show_default=True
)
@option.flag("Print all kernels that differ.", "--all", "has_all")
@option.sort("Sort by growth of this metric, largest first")
@option.flag("Print the first compile stage that differs, for each changed kernel.", "--stages")
@option.flag("With --stages, also print the first compiler pass that differs.", "--all-passes")
@option.several(
    "Compare the samples of these profiler's files, one per side (CSV of unitrace --stall-sampling).",
    "--samples",
    metavar="FILE",
    type=click.Path(),
)
@option.flag("Print the result as Markdown, for a comment on a pull request.", "--markdown", "as_markdown")
@option.source_root()
@option.unconfined()
@option.file("Also write an HTML page.", "--html")
@option.full()
@option.json()
def command(
    paths: tuple[str, ...],
    git: str | None,
    devices: list[str],
    toolchains: list[str],
    options: tuple[str, ...],
    kernel_names: tuple[str, ...],
    pairs: tuple[str, ...],
    lines: bool,
    top: int,
    has_all: bool,
    sort: str | None,
    stages: bool,
    all_passes: bool,
    samples: tuple[str, ...],
    as_markdown: bool,
    source_roots: tuple[str, ...],
    unconfined: bool,
    html: str | None,
    as_json: bool,
) -> None:
    """Show what changed between A and B: kernels, metrics, and source lines with their old and new instructions.

    A and B are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. With one
    PATH, kernlens compares two devices, two toolchains or two sets of --build-options. With --git, it compiles the
    sources that differ between two revisions, or that include what does. The exit status is 0 if both sides are equal, 1
    if not, and 3 if a source does not compile.
    """
    _check_sides(paths, samples, is_git=git is not None)
    from kernlens.cli.build_logs import print_compiled_warnings
    from kernlens.cli.compile import told_failures
    from kernlens.verbs.diff import diff

    with told_failures(), Progress("compiling", quiet=as_json, later=True) as progress:
        difference = diff(
            *(paths if git is None else ()),
            git=git,
            paths=paths if git is not None else (),
            device=devices,
            toolchain=toolchains,
            options=options,
            kernels=kernel_names,
            pairs=_names_of(pairs),
            sort=sort,
            stages=stages,
            all_passes=all_passes,
            source_roots=source_roots,
            unconfined=unconfined,
            on_progress=progress.show,
        )
    print_compiled_warnings((*difference.old, *difference.new))
    shown = None if has_all else top
    has_instructions = lines or bool(kernel_names)
    with written([(html, lambda: _page(difference, has_instructions))]):
        if as_markdown:
            _print_markdown(difference, shown)
        else:
            sample_changes = _sample_changes(difference, samples)
            print_difference(difference, has_instructions, sample_changes, shown, as_json=as_json)
    sys.exit(3 if difference.failed else 0 if difference.equal else 1)


def _check_sides(paths: Sequence[str], samples: Sequence[str], *, is_git: bool) -> None:
    """Raise UsageError or KernlensError unless two sides are named."""
    if samples and len(samples) != 2:
        raise click.UsageError("--samples is given twice: the old side's file, then the new side's")
    if not paths and not is_git:
        raise click.UsageError("Missing argument 'PATHS...': name two sides, or revisions with --git")
    if len(paths) > 2 and not is_git:
        raise KernlensError(f"diff compares two paths, not {len(paths)}; put the files of one side into a folder")


def _names_of(pairs: Sequence[str]) -> list[tuple[str, str]]:
    """Return the old and the new name of each pair. Raises UsageError for words that are none."""
    names = []
    for words in pairs:
        old, _, new = words.partition("=")
        if not (old and new):
            raise click.UsageError(f"--pair takes OLD=NEW, the names of two kernels, not {words!r}")
        names.append((old, new))
    return names


def _sample_changes(difference: Difference, files: Sequence[str]) -> list[SampleChange]:
    """Return the samples of each pair of kernels that has some."""
    if not files:
        return []
    from kernlens.analysis.comparison.sample_changes import sample_change
    from kernlens.cli.sample_file import open_samples
    from kernlens.cli.samples import tell_unmatched

    old, new = (open_samples(path) for path in files)
    tell_unmatched(files[0], old, difference.old)
    tell_unmatched(files[1], new, difference.new)
    return [change for pair in difference.pairing.kernels if (change := sample_change(pair, old, new))]


def print_difference(
    difference: Difference,
    has_instructions: bool,
    sample_changes: Sequence[SampleChange] = (),
    shown: int | None = None,
    *,
    as_json: bool = False,
) -> None:
    """Print what ``kernlens diff`` does."""
    from kernlens.report.diff.comparison import figure_table, kernel_lines
    from kernlens.report.diff.comparison_summary import closing_lines, summary_lines

    if as_json:
        document = difference.document(lines=has_instructions)
        if sample_changes:
            from kernlens.cli.answers.sample_comparison import sample_change_document

            document["samples"] = [sample_change_document(change) for change in sample_changes]
        print_json(document)
        return
    print_lines(summary_lines(_summary(difference), shown))
    print_lines(figure_table(difference.changes[:shown]))
    for change, parting in zip(difference.changes[:shown], difference.partings[:shown], strict=True):
        print_lines(kernel_lines(change, parting=parting, has_instructions=has_instructions))
    if sample_changes:
        from kernlens.cli.answers.sample_comparison import sample_change_lines

        for each in sample_changes:
            print_lines(sample_change_lines(each, None if is_full() else _TABLE_WIDTH))
    print_lines(closing_lines(_summary(difference), shown))


def _summary(difference: Difference) -> Summary:
    from kernlens.report.diff.comparison_summary import Summary

    return Summary(
        *_titles(difference),
        difference.pairing,
        difference.changes,
        difference.totals,
        difference.equal_code,
        difference.sources,
        difference.failed_builds,
    )


def _print_markdown(difference: Difference, shown: int | None) -> None:
    from kernlens.cli.answers.comparison_markdown import comparison_markdown

    print_lines(comparison_markdown(_summary(difference), difference.partings, shown))


def _titles(difference: Difference) -> tuple[str, str]:
    from kernlens.report.diff.comparison import side_title

    return side_title(difference.old, difference.old_title), side_title(difference.new, difference.new_title)


def _page(difference: Difference, has_instructions: bool) -> Iterator[bytes]:
    from kernlens.report.diff.comparison_page import comparison_page
    from kernlens.verbs.report import folders_of_user

    with is_styled():
        pieces = comparison_page(
            _summary(difference),
            difference.partings,
            has_instructions=has_instructions,
        )
        yield from (piece.encode() for piece in folders_of_user().pieces(pieces))

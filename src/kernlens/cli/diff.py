"""``kernlens diff``: what changed between two sets of programs, kernel by kernel and line by line."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import Progress, is_full, print_json, print_lines, print_message
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.analysis.comparison.sample_changes import SampleChange
    from kernlens.model.trips import Trips
    from kernlens.report.diff.comparison_summary import Summary
    from kernlens.verbs.difference import Difference

#: Tables of samples are at most so wide, unless --full is given.
_TABLE_WIDTH = 100


_NOTHING = "Missing argument 'PATHS...': name two sides, or revisions with --git"
_RULES = (
    Rule("--all-passes", needs=("--stages",)),
    *one_of("--markdown", "--json"),
    Rule("", needs=("PATHS", "--git"), why=_NOTHING),
)


class _Pair(click.ParamType):  # type: ignore[type-arg]
    """The names of an old and a new kernel."""

    name = "pair"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        old, _, new = value.partition("=")
        if not (old and new):
            raise click.UsageError(f"--pair takes OLD=NEW, the names of two kernels, not {value!r}", ctx)
        return old, new


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths(required=False)
    git: str | None = option.value(
        "Compare revisions: OLD..NEW, OLD...NEW (since they parted) or OLD (with the working tree); PATHS choose sources.",
        "--git",
        metavar="REV[..REV]",
    )
    devices: list[str] = option.devices(
        "Compile sources for this device; compare only its programs. Two devices: one per side.", "DEVICE[,DEVICE]"
    )
    toolchains: list[str] = option.toolchains(
        "Compile sources with this toolchain (default: the default one); compare only its programs. Two: one per side.",
        default=None,
        metavar="TOOLCHAIN[,...]",
    )
    options: tuple[str, ...] = option.build_options(
        "Build options for sources, added to -gline-tables-only. Given twice: one set per side.",
        multiple=True,
        default=(),
    )
    kernels: tuple[str, ...] = option.kernels()
    program: str | None = option.program()
    pairs: tuple[tuple[str, str], ...] = option.several(
        "Compare only this kernel of A with this one of B, or two of one PATH. May be repeated.",
        "--pair",
        metavar="OLD=NEW",
        type=_Pair(),
    )
    lines: bool = option.flag(
        "Print the old and new instructions of each changed line. --kernel implies it.", "--lines"
    )
    top: int = option.number("Print the N kernels that got worst.", "--top", default=10, show_default=True)
    has_all: bool = option.flag("Print all kernels that differ.", "--all")
    sort: str | None = option.sort("Sort by growth of this metric, largest first")
    trips: Trips | None = option.trips()
    items: str | None = option.items_per_launch(
        "Work-items of a launch of the old and of the new side that make the same results: compare these launches.",
        "OLD,NEW",
    )
    stages: bool = option.flag("Print the first compile stage that differs, for each changed kernel.", "--stages")
    all_passes: bool = option.flag("With --stages, also print the first compiler pass that differs.", "--all-passes")
    samples: tuple[str, ...] = option.several(
        "Compare the samples of these profiler's files, one per side (CSV of unitrace --stall-sampling, rocprofv3 --att or"
        " Nsight Compute's source page).",
        "--samples",
        metavar="FILE",
        type=click.Path(),
    )
    as_markdown: bool = option.flag("Print the result as Markdown, for a comment on a pull request.", "--markdown")
    source_roots: tuple[str, ...] = option.source_root()
    unconfined: bool = option.unconfined()
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens diff blur.cl --device dg2 --toolchain system,newest", rules=_RULES)
def command(asked: Asked) -> None:
    """Show what changed between A and B: kernels, metrics, and source lines with their old and new instructions.

    A and B are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. With one
    PATH, kernlens compares two devices, two toolchains or two sets of --build-options. With --git, it compiles the
    sources that differ between two revisions, or that include what does. The exit status is 0 if both sides are equal, 1
    if not, and 3 if a source does not compile.
    """
    _check_sides(asked)
    from kernlens.verbs.build_messages import compiled_warnings
    from kernlens.verbs.diff import diff

    with Progress("compiling", quiet=asked.as_json, later=True) as progress:
        difference = diff(
            *(asked.paths if asked.git is None else ()),
            git=asked.git,
            paths=asked.paths if asked.git is not None else (),
            device=asked.devices,
            toolchain=asked.toolchains,
            options=asked.options,
            kernels=asked.kernels,
            program=asked.program,
            pairs=asked.pairs,
            sort=asked.sort,
            trips=asked.trips.words if asked.trips is not None else (),
            items_per_launch=_items(asked.items),
            stages=asked.stages,
            all_passes=asked.all_passes,
            source_roots=asked.source_roots,
            unconfined=asked.unconfined,
            on_progress=progress.show,
        )
    print_message(*compiled_warnings((*difference.old, *difference.new)))
    shown = None if asked.has_all else asked.top
    has_instructions = asked.lines or bool(asked.kernels)
    if asked.as_markdown:
        _print_markdown(difference, shown)
    else:
        sample_changes = _sample_changes(difference, asked.samples)
        print_difference(difference, has_instructions, sample_changes, shown, as_json=asked.as_json)
    sys.exit(3 if difference.failed else 0 if difference.equal else 1)


def _items(text: str | None) -> list[int]:
    """Return the work-items of both sides' launches. Raises UsageError for anything else."""
    words = text.split(",") if text is not None else []
    if any(re.fullmatch(r"[1-9]\d{0,17}", word) is None for word in words) or len(words) > 2:
        raise click.UsageError(f"--items-per-launch {text!r} is not of the form 4096,512: the old and the new side's")
    return list(map(int, words))


def _check_sides(asked: Asked) -> None:
    """Raise UsageError or KernlensError unless two sides are named."""
    if asked.samples and len(asked.samples) != 2:
        raise click.UsageError("--samples is given twice: the old side's file, then the new side's")
    if asked.git is None and len(asked.paths) > 2:
        raise KernlensError(f"diff compares two paths, not {len(asked.paths)}; put the files of one side into a folder")


def _sample_changes(difference: Difference, files: Sequence[str]) -> list[SampleChange]:
    """Return the samples of each pair of kernels that has some."""
    if not files:
        return []
    from kernlens.analysis.comparison.sample_changes import sample_change
    from kernlens.cli.samples import tell_unmatched
    from kernlens.verbs.sample_file import open_samples

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
    from kernlens.report.diff.comparison import side_title

    return difference.summary(
        (side_title(difference.old, difference.old_title), side_title(difference.new, difference.new_title))
    )


def _print_markdown(difference: Difference, shown: int | None) -> None:
    from kernlens.cli.answers.comparison_markdown import comparison_markdown

    print_lines(comparison_markdown(_summary(difference), difference.partings, shown))

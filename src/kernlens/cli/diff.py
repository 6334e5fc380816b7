"""``kernlens diff``: what changed between two sets of programs, kernel by kernel and line by line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kernlens.cli import completion
from kernlens.cli.options import json_option, kernel_option, source_root_option, verb
from kernlens.errors import NotFoundError
from kernlens.model.figures import FIGURES

if TYPE_CHECKING:
    from kernlens.analysis.comparison.kernel_changes import KernelChange
    from kernlens.analysis.comparison.pairs import KernelPair, Pairing
    from kernlens.analysis.comparison.stage_partings import Parting
    from kernlens.model.build import Build
    from kernlens.model.program import Program
    from kernlens.model.stage import Snapshot


@dataclass(frozen=True, slots=True)
class _Side:
    """One side: a path, and what of it, or how it is to be compiled. ``title`` tells it from the other side."""

    path: str
    device: str | None
    toolchain: str | None
    options: str
    title: str


@verb("kernlens diff blur.cl --device dg2 --toolchain system,newest")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option(
    "--device",
    "device_names",
    metavar="D[,D]",
    shell_complete=completion.devices,
    help="Compile sources for this device, or only programs for it; with two, the one on each side.",
)
@click.option(
    "--toolchain",
    "toolchain_names",
    metavar="T[,T]",
    shell_complete=completion.toolchains,
    help="Compile sources with this one (system if not given), or only its programs; with two, the one on each side.",
)
@click.option(
    "--options",
    "options",
    metavar="O",
    multiple=True,
    help="Build options, beside -gline-tables-only; twice: of each side.",
)
@kernel_option()
@click.option("--lines", is_flag=True, help="The old and the new instructions of each changed line; as with --kernel.")
@click.option(
    "--sort",
    metavar="FIGURE",
    type=click.Choice([figure.key for figure in FIGURES]),
    help="The worst of this figure first: spill_bytes, code_size, ... (docs/figures.md).",
)
@click.option("--stages", is_flag=True, help="The first stage of the compile at which each changed kernel parts.")
@click.option("--all-passes", is_flag=True, help="With --stages, the compiler's first pass too.")
@source_root_option()
@json_option()
def command(
    paths: tuple[str, ...],
    device_names: str | None,
    toolchain_names: str | None,
    options: tuple[str, ...],
    kernel_names: tuple[str, ...],
    lines: bool,
    sort: str | None,
    stages: bool,
    all_passes: bool,
    source_roots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what changed between A and B: kernels, figures, and the source lines with their old and new instructions.

    A and B are binaries, recordings or folders, or sources that are compiled for --device. One PATH alone is compared with
    itself: with two devices, two toolchains or two --options. The exit status is 0 if all is equal and 1 if not.
    """
    if all_passes and not stages:
        raise click.UsageError("--all-passes is about stages; give --stages too")
    sides = _sides(paths, _listed(device_names), _listed(toolchain_names), options)
    old, new = _programs(sides, source_roots, stages=stages, all_passes=all_passes)
    has_instructions = lines or bool(kernel_names)
    pairing, changes = _compared(old, new, kernel_names, sort)
    partings = _partings(changes, all_passes) if stages else [None] * len(changes)
    if as_json:
        from kernlens.cli.output import print_json
        from kernlens.report.comparison_document import comparison_document, kernel_document

        documents = [
            kernel_document(change, parting, has_instructions=has_instructions)
            for change, parting in zip(changes, partings, strict=True)
        ]
        print_json(comparison_document(sides[0].title, sides[1].title, pairing, documents))
    else:
        from kernlens.cli.output import print_lines
        from kernlens.report.comparison import figure_table, kernel_lines, side_title, summary

        print_lines(summary(side_title(old, sides[0].title), side_title(new, sides[1].title), pairing, changes))
        print_lines(figure_table(changes))
        for change, parting in zip(changes, partings, strict=True):
            print_lines(kernel_lines(change, parting=parting, has_instructions=has_instructions))
    sys.exit(1 if changes or pairing.only_old or pairing.only_new else 0)


def _listed(names: str | None) -> list[str]:
    return [name for name in (names or "").split(",") if name]


def _sides(
    paths: Sequence[str], devices: Sequence[str], toolchains: Sequence[str], options: Sequence[str]
) -> tuple[_Side, _Side]:
    if len(paths) > 2:
        raise click.UsageError(f"A and B are two, not {len(paths)}; put several files of a side into a folder")
    for given, name in ((devices, "--device"), (toolchains, "--toolchain"), (options, "--options")):
        if len(given) > 2:
            raise click.UsageError(f"{name} takes one for both sides or one for each, not {len(given)}")
    if max(map(len, (paths, devices, toolchains, options))) < 2:
        raise click.UsageError(
            "what is it to be compared with? name a second file, or two of --device a,b, --toolchain a,b or --options"
        )

    def side(number: int) -> _Side:
        def of_side(given: Sequence[str]) -> str | None:
            return given[number if len(given) > 1 else 0] if given else None

        path, device, toolchain, words = map(of_side, (paths, devices, toolchains, options))
        told = [("--device", device, devices), ("--toolchain", toolchain, toolchains), ("--options", words, options)]
        differing = [f"{name} {value or repr('')}" for name, value, given in told if len(given) > 1]
        return _Side(path or "", device, toolchain, words or "", " ".join([path or "", *differing]))

    return side(0), side(1)


def _programs(
    sides: tuple[_Side, _Side], source_roots: Sequence[str], *, stages: bool, all_passes: bool
) -> tuple[Sequence[Program], Sequence[Program]]:
    """The programs of both sides. What is to be compiled is compiled side by side."""
    from kernlens.compiling import is_source
    from kernlens.loading import open_build

    to_compile = [side for side in sides if is_source(side.path)]
    for side in to_compile:
        if side.device is None:
            raise click.UsageError(f"which device is {side.path} to be compiled for? --device D (kernlens devices)")
    opened = {side: _opened(side, source_roots) for side in sides if side not in to_compile}
    compiled = dict(zip(to_compile, _compiled(to_compile, stages, all_passes), strict=True))
    failed = [build for build in compiled.values() if not build.ok]
    if failed:
        from kernlens.cli.compile import print_failures

        print_failures(failed)
        sys.exit(3)
    old, new = (opened[side] if side in opened else open_build(compiled[side]) for side in sides)
    return old, new


def _opened(side: _Side, source_roots: Sequence[str]) -> Sequence[Program]:
    from kernlens.cli.options import for_device
    from kernlens.loading import open_file

    if side.options:
        raise click.UsageError(f"--options are those of a compile, and {side.path} is compiled already")
    contents = open_file(side.path, device=side.device, source_roots=source_roots)
    programs = for_device(contents.machine_code(), side.device)
    contents.check()  # A file that cannot be read is no program that is missing.
    if side.toolchain is None:
        return programs
    made_by = {program.build.toolchain for program in programs if program.build.toolchain}
    chosen = [
        program
        for program in programs
        if program.build.toolchain and side.toolchain in (program.build.toolchain.name, program.build.toolchain.title)
    ]
    if not chosen:
        there = ", ".join(sorted({toolchain.name for toolchain in made_by})) or "no named toolchain"
        raise NotFoundError(f"{side.path} holds nothing by the toolchain {side.toolchain}, but by {there}")
    return chosen


def _compiled(sides: Sequence[_Side], stages: bool, all_passes: bool) -> list[Build]:
    from kernlens.compiling import build, compiler_name, plan
    from kernlens.toolchain.includes import with_lines
    from kernlens.toolchain.toolchains import SYSTEM, toolchain

    if stages:
        from kernlens.pipeline.compile_stages import compile_stages

        return [
            compile_stages(
                side.path,
                compiler_name(side.device or "", toolchain(side.toolchain or SYSTEM)),
                options=with_lines(side.options),
                toolchain=side.toolchain or SYSTEM,
                all_passes=all_passes,
            ).build
            for side in sides
        ]
    jobs = [
        job
        for side in sides
        for job in plan(
            [side.path], [side.device or ""], [side.toolchain or SYSTEM], options=with_lines(side.options)
        ).jobs
    ]
    done: dict[tuple[str, str, str | None, str | None], Build] = {}
    for result in build(jobs):
        name = result.toolchain.name if result.toolchain else None
        done[result.path, result.device, name, result.options] = result
    return [done[str(job.source), job.device, job.toolchain.name, job.options] for job in jobs]


def _compared(
    old: Sequence[Program], new: Sequence[Program], kernel_names: Sequence[str], sort: str | None
) -> tuple[Pairing, list[KernelChange]]:
    """What belongs together, of the kernels that were asked for, and those that differ, the worst first."""
    from kernlens.analysis.comparison.pairs import pair
    from kernlens.comparing import changes_of

    pairing = _chosen(pair(old, new), kernel_names)
    return pairing, changes_of(pairing, sort)


def _chosen(pairing: Pairing, kernel_names: Sequence[str]) -> Pairing:
    """The part of a pairing that is about these kernels. Raises UnknownKernelError if neither side has one of them."""
    if not kernel_names:
        return pairing
    from kernlens.analysis.comparison.pairs import Pairing as Part
    from kernlens.cli.options import kernels_named

    alone = [each.kernel.name for each in (*pairing.only_old, *pairing.only_new) if each.kernel]
    known = dict.fromkeys([*(both.new.name for both in pairing.kernels), *alone])
    wanted = {name for asked in kernel_names for name in kernels_named(asked, known)}
    return Part(
        tuple(both for both in pairing.kernels if both.new.name in wanted),
        tuple(each for each in pairing.only_old if each.kernel and each.kernel.name in wanted),
        tuple(each for each in pairing.only_new if each.kernel and each.kernel.name in wanted),
    )


def _partings(changes: Sequence[KernelChange], all_passes: bool) -> list[Parting | None]:
    """Where the compiles of each changed kernel part."""
    from kernlens.analysis.comparison.stage_partings import parting

    kept: dict[int, tuple[Snapshot, ...]] = {}
    return [
        None
        if change.is_same_code
        else parting(*(_snapshots(change.pair, side, kept, all_passes) for side in ("old", "new")))
        for change in changes
    ]


def _snapshots(pair: KernelPair, side: str, kept: dict[int, tuple[Snapshot, ...]], all_passes: bool) -> list[Snapshot]:
    """A kernel's own part of each stage; of what kept no stages, as it is compiled again."""
    from kernlens.loading.kernel_texts import of_one_kernel
    from kernlens.model.stage import of_kernel

    program, kernel = (pair.old_program, pair.old) if side == "old" else (pair.new_program, pair.new)
    if id(program) not in kept:
        snapshots = program.build.snapshots
        if not snapshots or (all_passes and not any(snapshot.is_pass for snapshot in snapshots)):
            from kernlens.pipeline.compile_again import compile_again

            snapshots = compile_again(program.build, all_passes=all_passes).snapshots
        kept[id(program)] = snapshots
    parts = []
    for snapshot in of_kernel(kept[id(program)], kernel.name):
        try:
            parts.append(of_one_kernel(snapshot, kernel.name))
        except (
            NotFoundError
        ):  # After passes over functions only another function is dumped, which is none of this kernel's.
            continue
    return parts

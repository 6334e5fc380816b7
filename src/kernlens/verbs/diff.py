"""The comparison of two sets of programs: ``kernlens.diff`` and the verb of that name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from kernlens.analysis.comparison.kernel_changes import KernelChange, by_badness
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.analysis.comparison.stage_partings import Parting, parting
from kernlens.analysis.trial_code import code_of_trial
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError, NotFoundError
from kernlens.model.figure import Figure
from kernlens.model.figures import figure_named
from kernlens.model.program import Program
from kernlens.model.source_change import SourceChanges
from kernlens.model.stage import Snapshot, of_kernel
from kernlens.model.trial import Change, Trial
from kernlens.model.trips import Trips
from kernlens.verbs.absent import Whole, all_of, resolved
from kernlens.verbs.difference import Difference
from kernlens.verbs.kernel_pairs import changed, kernel_pairs
from kernlens.verbs.programs import Opened, Opening, compiled_whole, for_device, of_program, open_variants, silent
from kernlens.verbs.weighed import weighed_answers

_NEW_SIDE = Change("new", "the new side")
#: Called with the number of finished compiles, that of all, and the newest source's name.
Progress = Callable[[int, int, str], None]
#: One side of a comparison: a path, or what ``load`` and ``compile`` return.
Side = str | os.PathLike[str] | Program | Sequence[Program]


def diff(
    old: Side | None = None,
    new: Side | None = None,
    *,
    git: str | None = None,
    paths: Sequence[str] = (),
    repository: str = ".",
    device: str | Sequence[str] | None = None,
    toolchain: str | Sequence[str] | None = None,
    options: str | Sequence[str] = "",
    kernels: Sequence[str] = (),
    program: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    sort: str | None = None,
    trips: Sequence[str] = (),
    items_per_launch: Sequence[int] = (),
    stages: bool = False,
    all_passes: bool = False,
    source_roots: Sequence[str] = (),
    unconfined: bool = False,
    on_progress: Progress | None = None,
) -> Difference:
    """Compare two sides, each a path or Programs: binaries, recordings, folders, or sources, which are compiled for ``device``.

    Of two folders of sources those are compiled that differ, or include what does. ``git`` names two revisions in place of
    the sides: ``OLD..NEW``, ``OLD...NEW`` (what NEW has changed since it left OLD), or ``OLD``, which is compared with the
    working tree; ``repository`` is a folder of the repository, and ``paths`` are the sources to compare, and folders of them,
    relative to it (default: all). ``on_progress`` is called with the number of finished compiles, that of all, and the newest
    source.

    ``device``, ``toolchain`` and ``options`` are one for both sides, or two; with two of one of them ``new`` may be left out.
    ``kernels`` are names or patterns of those to compare, ``program`` is one of programs on both sides. ``pairs`` are names of
    an old and a new kernel, of one side too: only these are compared then. ``sort`` is a name of the figure by which they are
    ordered. ``trips`` are the rounds of loops on both sides, ``FILE:LINE=N`` or ``depth=N``, which add weighed figures.
    ``items_per_launch`` are the work-items of a launch of the old and of the new side, assumed to make the same results.
    ``stages`` finds the first stage of the compile at which each kernel parts, ``all_passes`` the compiler's first pass too;
    for that recordings are compiled again, by a compiler that can read nothing else of this machine unless it is
    ``unconfined``.

    Raises KernlensError: NotFoundError for what is not there, ToolError for a source that does not compile.
    """
    order = figure_named(sort) if sort else None
    choices = [[each] if isinstance(each, str) else list(each or ()) for each in (device, toolchain, options)]
    named_sides = [side for side in (old, new) if side is not None]
    folders = [os.fspath(side) for side in named_sides if isinstance(side, str | os.PathLike)]
    if git is not None or any(map(_is_source_folder, folders)):
        _refuse_for_trees(stages, pairs, program, trips)
        if named_sides and (git is not None or len(folders) < len(named_sides)):
            raise KernlensError("revisions, and folders of sources, are compared with their like: name no other side")
        trees = _TreeChoices(git, folders, paths, repository, choices, unconfined, on_progress)
        return with_launches(_between_trees(trees, kernels, order), items_per_launch)
    if old is None:
        raise KernlensError("there is nothing to compare: name two sides, or revisions of a repository")
    rounds = Trips.of(trips) if trips else None
    both = _SideChoices(named_sides, choices, program, pairs, stages, all_passes, source_roots, unconfined, rounds)
    return with_launches(_between_sides(both, kernels, order), items_per_launch)


def with_launches(difference: Difference, items: Sequence[int]) -> Difference:
    """Return a difference with its launches compared, of which these are the old and the new side's work-items, if any."""
    if not items:
        return difference
    changes = []
    for change in difference.changes:
        if change.has_code and not change.pair.has_two_isas:
            codes = (code_of_trial(kernel) for kernel in (change.pair.old, change.pair.new))
            old, new = (replace(code, items=count) for code, count in zip(codes, (items[0], items[-1]), strict=True))
            change = replace(change, launches=Trial(_NEW_SIDE, old, new))
        changes.append(change)
    return replace(difference, changes=tuple(changes))


def _refuse_for_trees(
    stages: bool, pairs: Sequence[tuple[str, str]], program: str | None, trips: Sequence[str]
) -> None:
    if trips:
        raise KernlensError(
            "loops have no stated rounds in folders of sources and revisions; name one source or recording on each side"
        )
    if program is not None:
        raise KernlensError(
            "programs cannot be chosen in folders of sources and revisions; name the sources, one on each side or with --git"
        )
    if stages:
        raise KernlensError(
            "stages are not compared of folders of sources and revisions; name one source or recording on each side"
        )
    if pairs:
        raise KernlensError(
            "pairs of kernels cannot be chosen in folders of sources and revisions; name one source or recording on each"
            " side (renamed kernels are found without that)"
        )


@dataclass(frozen=True, slots=True)
class _SideChoices:
    """The arguments of ``diff`` for one side or two that are no folders of sources."""

    sides: Sequence[Side]
    choices: Sequence[Sequence[str]]
    program: str | None
    pairs: Sequence[tuple[str, str]]
    stages: bool
    all_passes: bool
    source_roots: Sequence[str]
    unconfined: bool
    trips: Trips | None


def _between_sides(how: _SideChoices, kernels: Sequence[str], order: Figure | None) -> Difference:
    """Compare the two sides, of which one may be named for both; ``kernels`` and ``order`` are those of ``diff``."""
    sides = _two_sides(list(map(_title, how.sides)), *how.choices, has_pairs=bool(how.pairs))
    both = [(opening, _programs(side)) for (opening, _), side in zip(sides, (how.sides[0], how.sides[-1]), strict=True)]
    paths = [opening for opening, programs in both if programs is None]
    files = compiled_whole(open_variants(paths, how.source_roots, stages=how.stages, all_passes=how.all_passes))
    opened = [files.pop(0) if programs is None else _chosen_programs(programs, opening) for opening, programs in both]
    old, new = weighed_answers([of_program([side], how.program)[0] for side in opened], how.trips)
    difference = between(
        old.programs,
        new.programs,
        [title for _, title in sides],
        kernels,
        order,
        pairs=how.pairs,
        stages=how.stages,
        all_passes=how.all_passes,
        unconfined=how.unconfined,
        whole=all_of([old.whole, new.whole]),
    )
    return replace(difference, failed_builds=(old.failed, new.failed))


def _is_source_folder(path: str) -> bool:
    if not os.path.isdir(path):
        return False
    from kernlens.verbs.sources.spread import is_source_folder

    return is_source_folder(path)


@dataclass(frozen=True, slots=True)
class _TreeChoices:
    """The arguments of ``diff`` for folders of sources, or revisions."""

    git: str | None
    folders: Sequence[str]
    paths: Sequence[str]
    repository: str
    choices: Sequence[Sequence[str]]
    unconfined: bool
    on_progress: Progress | None


def _between_trees(how: _TreeChoices, kernels: Sequence[str], order: Figure | None) -> Difference:
    """Compare the sources of two folders or revisions; ``kernels`` and ``order`` are those of ``diff``."""
    from kernlens.toolchain.process import temporary_folder
    from kernlens.verbs.sources.comparing import SourceSide, compared
    from kernlens.verbs.sources.sides import opened_trees
    from kernlens.verbs.targets import target_of

    with opened_trees(how.git, how.folders, how.paths, how.repository) as opened, temporary_folder() as folder:
        titles = [tree.title for tree in opened.trees]
        sides = _two_sides(titles if how.git is not None else titles[: len(how.folders)], *how.choices)
        old, new = (
            SourceSide(tree, settings, device, opening.toolchain or "", opening.options, opened.base)
            for tree, settings, (opening, title) in zip(opened.trees, opened.settings, sides, strict=True)
            for device in [target_of(title, opening.device, silent)]
        )
        done = compared(old, new, folder, paths=opened.paths, unconfined=how.unconfined, on_progress=how.on_progress)
    named = [title for _, title in sides]
    difference = between(done.old, done.new, named, kernels, order, pairing=done.pairing, sources=done.sources)
    return replace(difference, hunks=done.hunks)


def _programs(side: Side) -> list[Program] | None:
    """Return the Programs that a side consists of; None for a path."""
    if isinstance(side, str | os.PathLike):
        return None
    return [side] if isinstance(side, Program) else list(side)


def _title(side: Side) -> str:
    programs = _programs(side)
    if programs is None:
        return os.fspath(side)  # type: ignore[arg-type]  # a path
    return ", ".join(dict.fromkeys(program.name for program in programs)) or "no program"


def _chosen_programs(programs: Sequence[Program], opening: Opening) -> Opened:
    """Return the Programs of a side, those for the device that is asked for. Raises KernlensError if a compile is asked for."""
    if not programs:
        raise NotFoundError("a side of the comparison holds no Program")
    if opening.toolchain or opening.options:
        raise KernlensError("toolchain and options are those of a compile, and a Program is compiled already")
    return Opened("", for_device(programs, opening.device), whole=Whole(programs))


def _two_sides(
    paths: Sequence[str],
    devices: Sequence[str],
    toolchains: Sequence[str],
    options: Sequence[str],
    *,
    has_pairs: bool = False,
) -> tuple[tuple[Opening, str], tuple[Opening, str]]:
    """Return the opening and the title of each side. Raises KernlensError if these words do not name two sides, unless there
    are pairs of kernels, which may be of one side."""
    named = [("--device", devices), ("--toolchain", toolchains), ("--build-options", options)]
    for name, values in named:
        if len(values) > 2:
            raise KernlensError(f"{name} takes one value for both sides or one per side, not {len(values)}")
    if max(map(len, (paths, devices, toolchains, options))) < 2 and not has_pairs:
        raise KernlensError(
            "there is nothing to compare with: name a second file, or two values for --device, --toolchain or --build-options,"
            " or two kernels with --pair"
        )

    def side(number: int) -> tuple[Opening, str]:
        def of_side(values: Sequence[str]) -> str | None:
            return values[number if len(values) > 1 else 0] if values else None

        path, device, toolchain, words = map(of_side, (paths, devices, toolchains, options))
        differing = [f"{name} {of_side(values) or repr('')}" for name, values in named if len(values) > 1]
        return Opening(path or "", device, toolchain, words or "", with_counts=True), " ".join([path or "", *differing])

    return side(0), side(1)


def between(
    old: Sequence[Program],
    new: Sequence[Program],
    titles: Sequence[str],
    kernel_names: Sequence[str] = (),
    order: Figure | None = None,
    *,
    pairs: Sequence[tuple[str, str]] = (),
    stages: bool = False,
    all_passes: bool = False,
    unconfined: bool = False,
    pairing: Pairing | None = None,
    sources: SourceChanges | None = None,
    whole: Whole | None = None,
) -> Difference:
    """Compare the programs of two sides, which have these titles, ordered by a figure; ``pairing`` is what belongs together, if
    that is known, ``whole`` all that the sides are of, and the rest is that of ``diff``."""
    pairing = _chosen(pairing or kernel_pairs(old, new, pairs, whole), kernel_names, whole or Whole([*old, *new]))
    changes = by_badness(changed(pairing.kernels), order)
    partings = _partings(changes, all_passes, unconfined) if stages else [None] * len(changes)
    return Difference(titles[0], titles[1], old, new, pairing, tuple(changes), tuple(partings), sources)


def _chosen(pairing: Pairing, kernel_names: Sequence[str], whole: Whole) -> Pairing:
    """Return the part of a pairing that is about these kernels. Raises what ``resolved`` does if neither side has one."""
    if not kernel_names:
        return pairing
    alone = [each.kernel.name for each in (*pairing.only_old, *pairing.only_new) if each.kernel]
    known = dict.fromkeys([*(name for both in pairing.kernels for name in (both.new.name, both.old.name)), *alone])
    names = set(resolved(kernel_names, known, whole))
    return Pairing(
        tuple(both for both in pairing.kernels if both.new.name in names or both.old.name in names),
        tuple(each for each in pairing.only_old if each.kernel and each.kernel.name in names),
        tuple(each for each in pairing.only_new if each.kernel and each.kernel.name in names),
        pairing.programs,
    )


def _partings(changes: Sequence[KernelChange], all_passes: bool, unconfined: bool) -> list[Parting | None]:
    """Return where the compiles of each changed kernel part, of programs without saved stages those of another compile."""
    known: dict[int, tuple[Snapshot, ...]] = {}

    def snapshots(program: Program) -> tuple[Snapshot, ...]:
        if id(program) not in known:
            saved = program.build.snapshots
            if not saved or (all_passes and not any(snapshot.is_pass for snapshot in saved)):
                from kernlens.pipeline.second_build_of_recording import second_build_of_recording

                saved = second_build_of_recording(program.build, all_passes=all_passes, unconfined=unconfined).snapshots
            known[id(program)] = saved
        return known[id(program)]

    return [
        None
        if change.is_same_code
        else parting(
            _of_kernel(snapshots(change.pair.old_program), change.pair.old.name),
            _of_kernel(snapshots(change.pair.new_program), change.pair.new.name),
        )
        for change in changes
    ]


def _of_kernel(snapshots: tuple[Snapshot, ...], kernel: str) -> list[Snapshot]:
    """Return a kernel's own part of each stage."""
    from kernlens.loading.stage_texts import of_one_kernel

    parts = []
    for snapshot in of_kernel(snapshots, kernel):
        # After passes over functions only another function is dumped, which is none of this kernel's.
        with suppress(NotFoundError):
            parts.append(of_one_kernel(snapshot, kernel))
    return parts

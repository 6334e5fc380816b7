"""The comparison of two trees of sources: what differs is compiled on both sides, and its kernels are paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from types import MappingProxyType

from kernlens.analysis.comparison.edit_hunks import HunkChange
from kernlens.analysis.comparison.pairs import Pairing, Unpaired, pair
from kernlens.analysis.comparison.renamed_kernels import with_renamed
from kernlens.analysis.comparison.source_lines import SourceLines
from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError
from kernlens.loading import open_build
from kernlens.model.build import SOURCE_SUFFIX, Build, Source
from kernlens.model.program import Program
from kernlens.model.source_change import SourceChange, SourceChanges
from kernlens.toolchain.compile_cache import open_cache
from kernlens.toolchain.sources.includes import with_lines
from kernlens.verbs.compile import targets_of
from kernlens.verbs.programs import narrowed
from kernlens.verbs.sources.closures import Closures
from kernlens.verbs.sources.compiling import Progress, SourceCompile, check_confinement, compiled
from kernlens.verbs.sources.hunk_effects import EditedSource, hunk_changes
from kernlens.verbs.sources.scope import SourcePair, SourceText, check_paths, paired, sources_of, with_options
from kernlens.verbs.sources.settings import SettingsOf
from kernlens.verbs.sources.trees import Tree

#: The builds of a source on each side.
_Builds = tuple[list[Build], list[Build]]


@dataclass(frozen=True)
class SourceSide:
    """One side: its tree, the settings of its sources, and the device, the toolchain ("": the default one) and the build
    options to compile them with. Relative folders of ``-I`` in these start from the folder ``base`` of the tree."""

    tree: Tree
    settings: SettingsOf
    device: str
    toolchain: str = ""
    options: str = ""
    base: str = ""

    def sources(
        self, paths: Sequence[str], closures: Closures, other: Mapping[str, SourceText] = MappingProxyType({})
    ) -> dict[str, SourceText]:
        """Return its sources by name; ``other`` are those of the other side, if they are known."""
        stated = with_lines(self.options)
        return sources_of(
            self.tree, paths, lambda name: self.settings(name).options(stated), self.base, closures, other
        )

    def variants(self, text: SourceText | None, closures: Closures) -> list[SourceText]:
        """Return a source of this side with each choice of the values that its macros have in ``kernlens.toml``."""
        if text is None:
            return []
        stated = with_lines(self.options)
        choices = [each.options(stated) for each in self.settings(text.name).variants(stated)]
        return [text, *(with_options(text, words, self.base, closures) for words in choices[1:])]


@dataclass(frozen=True, slots=True)
class ComparedSources:
    """The programs of both sides, what of them belongs together, what came of each source, and of each hunk of those with
    several."""

    old: Sequence[Program]
    new: Sequence[Program]
    pairing: Pairing
    sources: SourceChanges
    hunks: tuple[HunkChange, ...] = ()


def compared(
    old: SourceSide,
    new: SourceSide,
    folder: str,
    *,
    paths: Sequence[str] = (),
    cache: bool = True,
    workers: int | None = None,
    unconfined: bool = False,
    on_progress: Progress | None = None,
) -> ComparedSources:
    """Compile the sources of both sides that differ, or include what does, and pair their kernels; ``folder`` is an empty
    temporary one. Of sides that are compiled for other devices, or by other compilers, every source is.

    Raises NotFoundError for a path without sources, and a device or toolchain that is not there, UnsupportedError if this
    machine cannot keep compilers from other files and they are not ``unconfined``.
    """
    check_paths(paths, (old.tree, new.tree))
    targets = [targets_of([side.device], [side.toolchain] if side.toolchain else [])[0] for side in (old, new)]
    closures = Closures()
    new_sources = new.sources(paths, closures)
    pairs = paired(old.sources(paths, closures, new_sources), new_sources)
    if not pairs:
        raise NotFoundError(
            f"neither side has a source (*{SOURCE_SUFFIX}) to compile: name one, or a folder of sources, or compare"
            " recordings"
        )
    is_same_compile = targets[0] == targets[1]
    groups = [_paired_variants(old.variants(each.old, closures), new.variants(each.new, closures)) for each in pairs]
    differing = [group for group in groups if not (is_same_compile and all(each.is_equal for each in group))]
    if differing:
        check_confinement(unconfined=unconfined)
    compiles = [
        (each, is_new, SourceCompile(text, *target))
        for group in differing
        for each in group
        for is_new, text in enumerate((each.old, each.new))
        if text is not None
        for target in targets[is_new]
    ]
    compile_all = partial(
        compiled,
        folder=folder,
        cache=open_cache() if cache else None,
        workers=workers,
        unconfined=unconfined,
        on_progress=on_progress,
    )
    builds = compile_all([each for _, _, each in compiles])
    built: dict[int, _Builds] = {id(each): ([], []) for group in differing for each in group}
    for (each, is_new, _), build in zip(compiles, builds, strict=True):
        built[id(each)][is_new].append(build)
    edited = [[EditedSource(each, *map(_programs, built[id(each)])) for each in group] for group in differing]
    results = [_compared_source(own, [built[id(each.pair)] for each in own]) for own in edited]

    def compile_texts(texts: Sequence[tuple[SourceText, bool]]) -> Sequence[Build]:
        return compile_all([SourceCompile(text, *targets[is_new][0]) for text, is_new in texts])

    hunks = hunk_changes([each for own in edited for each in own], compile_texts) if is_same_compile else ()
    return _of_all(results, len(pairs) - len(differing), hunks)


def _of_all(results: Sequence[ComparedSources], unchanged: int, hunks: tuple[HunkChange, ...]) -> ComparedSources:
    return ComparedSources(
        [program for result in results for program in result.old],
        [program for result in results for program in result.new],
        _joined([result.pairing for result in results]),
        SourceChanges(tuple(each for result in results for each in result.sources.compiled), unchanged),
        hunks,
    )


def _paired_variants(old: Sequence[SourceText], new: Sequence[SourceText]) -> list[SourcePair]:
    """Return the variants of a source that belong together: those of equal options, and the others in their order."""
    known = {text.options: text for text in new}
    equal = [SourcePair(text, known.pop(text.options)) for text in old if text.options in known]
    taken = {id(text) for each in equal for text in (each.old, each.new)}
    left = [[text for text in side if id(text) not in taken] for side in (old, new)]
    return [*equal, *(SourcePair(*both) for both in zip_longest(*left))]


def _programs(builds: Sequence[Build]) -> list[Program]:
    return [program for build in builds if build.ok for program in open_build(build)]


def _compared_source(variants: Sequence[EditedSource], builds: Sequence[_Builds]) -> ComparedSources:
    """Compare a source in all its variants, of each of which these are the ``builds``."""
    sources = variants[0].pair
    old = [program for each in variants for program in each.old]
    new = [program for each in variants for program in each.new]
    change = SourceChange(
        sources.old.name if sources.old else None,
        sources.new.name if sources.new else None,
        _lines(sources),
        *(tuple(build for own in builds for build in own[side] if not build.ok) for side in (False, True)),
    )
    pairing = pair(old, new)
    if change.failed:  # The other side's kernels are not the only ones, but those that can be seen.
        pairing = Pairing(pairing.kernels, (), (), pairing.programs)
    return ComparedSources(old, new, pairing, SourceChanges((change,)))


def _joined(pairings: Sequence[Pairing]) -> Pairing:
    """Return one pairing; kernels that went from one source to another, or have another name now, are paired in it."""
    kernels = [both for each in pairings for both in each.kernels]
    only_old = [entry for each in pairings for entry in each.only_old]
    only_new = [entry for each in pairings for entry in each.only_new]
    programs = [both for each in pairings for both in each.programs]
    if only_old and only_new:
        moved = pair(_unpaired(only_old), _unpaired(only_new))
        pairing = Pairing((*kernels, *moved.kernels), moved.only_old, moved.only_new, (*programs, *moved.programs))
        return with_renamed(pairing)
    return Pairing(tuple(kernels), tuple(only_old), tuple(only_new), tuple(programs))


def _unpaired(entries: Sequence[Unpaired]) -> list[Program]:
    """Return the programs of these entries with the kernels of these entries alone."""
    names: dict[int, tuple[Program, set[str]]] = {}
    for entry in entries:
        _, own = names.setdefault(id(entry.program), (entry.program, set()))
        if entry.kernel is not None:
            own.add(entry.kernel.name)
    return [narrowed(program, own) for program, own in names.values()]


def _lines(sources: SourcePair) -> int:
    """Return the number of lines that differ in a source of both sides, and in what it includes on both."""
    if sources.old is None or sources.new is None:
        return 0
    return len(SourceLines(_differing(sources.old, sources.new), _differing(sources.new, sources.old)).edited)


def _differing(text: SourceText, other: SourceText) -> list[Source]:
    """Return the files of a source that differ from the other side's of the same name; the source itself may have two names."""
    known = {**other.closure.files, text.name: other.closure.files[other.name]}
    differing = (name for name, number in text.closure.files.items() if known.get(name) != number)
    return [Source(name, text.tree.read(text.closure.files[name]).decode("utf-8", "replace")) for name in differing]

"""The page of ``serve`` as one HTML file: the verb ``report``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernlens import __version__
from kernlens.errors import KernlensError
from kernlens.report.shared_paths import SharedPaths
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import Selection, select

if TYPE_CHECKING:
    from kernlens.analysis.sampled_kernels import SampledKernels
    from kernlens.loading import Contents
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program
    from kernlens.report.explore import ExploreDocument

#: Programs that a sentence on what is left out names.
_NAMED = 8
#: Kernels that are decoded between two words on the progress.
_STEP = 20
#: The formats that are not compiled for a device yet, and what to call them.
_UNCOMPILED = {
    "spirv": "SPIR-V, which kernlens compile makes machine code of",
    "llvm-bitcode": "LLVM bitcode, which drivers link into programs",
}


def report_page(
    contents: Contents,
    kernel_names: Sequence[str] = (),
    device: str | None = None,
    *,
    stages: bool | None = None,
    is_redacted: bool = False,
    own_roots: Sequence[str] = (),
    is_own: bool = False,
    sampled: SampledKernels | None = None,
    unconfined: bool = False,
    has_paths: bool = False,
    tell: Callable[[str], None] = lambda sentence: None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[str]:
    """Yield the page of these contents in pieces. ``stages``: compile programs again that have none (True), show none (False),
    or show what was saved; with ``is_redacted`` there are neither stages nor source text. ``own_roots``, ``is_own`` and
    ``sampled`` are ``explore_document``'s, ``unconfined`` that of ``second_build_of_recording``. ``tell`` gets a sentence
    on each program whose stages cannot be shown. Raises what ``select`` raises, and the pieces what the page's chunks
    raise. ``on_progress`` gets the numbers of kernels that were decoded, and of all.
    Unless ``has_paths``, the page has paths of sources within their common folder, and no home folder."""
    from kernlens.report.explore import explore_document
    from kernlens.report.explore.single_file import page, viewer_script

    selection: Selection = []
    failed = contents.failed_builds(device).builds
    if contents.programs or not failed:
        selection = select(contents.counted_code(), kernel_names, device, whole_of(contents))
    if stages:
        selection = [_with_stages(program, kernels, unconfined, tell) for program, kernels in selection]
    programs = [program for program, _ in selection]
    left_out = list(_left_out(contents))
    for name, reason in left_out:
        if name not in contents.damaged:  # Of which ``contents.check`` tells.
            tell(f"{name} is left out of the page: {reason}")
    whole = explore_document(
        programs,
        title=os.path.basename(os.path.normpath(contents.path)),
        version=__version__,
        kernels=[[kernel.name for kernel in kernels] for _, kernels in selection],
        failed=failed,
        redaction=_Redaction(programs, failed) if is_redacted else None,
        has_stages=stages is not False,
        own_roots=own_roots,
        is_own=is_own,
        sampled=sampled,
        left_out=left_out,
        is_whole=True,
    )
    builds = [*(program.build for program in programs), *failed]
    pieces = page(whole, viewer_script(), paths=None if has_paths else own_paths(whole.index, builds))
    return _told(pieces, whole, tell, on_progress)


def own_paths(index: Mapping[str, Any], builds: Sequence[Build] = ()) -> SharedPaths:
    """Return the paths of this user that a page of these programs, and their builds, does without."""
    files = [file["path"] for program in index["programs"] for file in program["files"]]
    return folders_of_user([*files, *(path for build in builds for path in (build.path, *build.parts.source_paths))])


def folders_of_user(sources: Iterable[str] = ()) -> SharedPaths:
    """Return the folders of these sources, the working folder and the home folder, which a page does without."""
    return SharedPaths(sources, os.getcwd(), os.path.expanduser("~"))


def _left_out(contents: Contents) -> Iterator[tuple[str, str]]:
    """Yield what has no place on the page, with the reason: files that cannot be read, and programs without machine code."""
    by_format: dict[str, list[str]] = {}
    for program in contents.programs:
        if not program.kernels and not program.build.behaviours:
            by_format.setdefault(program.format, []).append(program.name)
    for path, error in contents.damaged.items():
        yield path, f"it cannot be read: {error}"
    for kind, names in by_format.items():
        named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
        what = _UNCOMPILED.get(kind, f"{kind} without kernels")
        yield named, f"{'it is' if len(names) == 1 else 'they are'} {what}"


def _told(
    pieces: Iterable[str],
    whole: ExploreDocument,
    tell: Callable[[str], None],
    on_progress: Callable[[int, int], None],
) -> Iterator[str]:
    """Yield the pieces of a page. ``on_progress`` gets the number of kernels that were decoded for them, and of all; ``tell``
    then gets a sentence on each reason why kernels have no machine code on the page."""
    chunks, told = whole.chunks, 0
    count = sum(chunks.kind(chunk) == "kernel" for chunk in chunks)
    for piece in pieces:
        if len(chunks.figures) >= told + _STEP:
            told = len(chunks.figures)
            on_progress(told, count)
        yield piece
    for program in whole.index["programs"]:
        reasons: dict[str, list[str]] = {}
        kernels = program["kernels"]
        for name, chunk, size in zip(kernels["name"], kernels["chunk"], kernels["code_size"], strict=True):
            if size and (reason := chunks.without_code.get(chunk)):
                reasons.setdefault(reason.removeprefix(f"{name}: "), []).append(name)
        for reason, names in list(reasons.items())[:_NAMED]:
            has = f"{names[0]} of {program['name']} has" if len(names) == 1 else None
            who = has or f"{len(names):,} kernels of {program['name']} have"
            tell(f"{who} no machine code on the page: {reason}")


def _with_stages(
    program: Program, kernels: list[Kernel], unconfined: bool, tell: Callable[[str], None]
) -> tuple[Program, list[Kernel]]:
    """Return the program compiled again with its stages; as it is if it has some, or cannot be."""
    from kernlens.pipeline.second_build_of_recording import second_build_of_recording

    if program.build.snapshots:
        return program, kernels
    try:
        again = second_build_of_recording(program.build, unconfined=unconfined)
        built = next(each for each in again.programs if each.kernels)
    except (KernlensError, StopIteration) as error:
        reason = str(error) or "the compiler gave no program"
        tell(f"the stages of {program.name} are not shown: {reason}")
        return program, kernels
    built = replace(built, name=program.name)
    return built, [built.kernels[kernel.name] for kernel in kernels if kernel.name in built.kernels]


class _Redaction:
    """An overwriter of source lines in what compilers say."""

    def __init__(self, programs: Sequence[Program], failed: Sequence[Build]) -> None:
        from kernlens.recording.redaction import Redaction

        self._lines = Redaction(source.text for program in programs for source in program.sources)
        for build in (*(program.build for program in programs), *failed):
            self._lines.learn_of(build)

    def log(self, log: str) -> str:
        return self._lines.apply_to_log(log.encode("utf-8", "replace")).decode("utf-8", "replace")

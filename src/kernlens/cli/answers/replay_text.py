"""Replays in words: whether results are equal, how long the kernel took, and what was not compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernlens.cli.answers.behaviour_document import behaviour_document
from kernlens.cli.answers.behaviour_text import behaviour_lines
from kernlens.model.device_time import duration
from kernlens.report.describe import plural, sizes_of_launch, sizes_text
from kernlens.report.table import table
from kernlens.verbs.replay.replay_document import answer_words, replay_document

if TYPE_CHECKING:
    from kernlens.analysis.built_in_errors import Accuracy
    from kernlens.report.table import Cell
    from kernlens.verbs.replay.export import Exported
    from kernlens.verbs.replay.kept import RecordedLaunch
    from kernlens.verbs.replay.observed import ObservedReplay
    from kernlens.verbs.replay.replayed import Compared, Profile, Replayed, ReplayedBuild
    from kernlens.verbs.replay.timing import Times

OF_A_CPU = "the times are those of this CPU, and say nothing about a GPU"


def replay_lines(replayed: Replayed, *, is_one: bool = True) -> Iterator[str]:
    """Yield the lines on a launch that ran again. Of several, those that are equal have one line each."""
    if not is_one and replayed.is_equal and not replayed.is_simulated:
        where = ", on this CPU" if replayed.is_cpu and replayed.ratio is not None else ""
        yield f"launch {replayed.number:,} of {replayed.kernel}: {answer_words(replayed)}{where}"
        return
    yield from launch_lines(replayed)
    if replayed.is_simulated:
        yield from _simulated(replayed)
        return
    for build in replayed.builds:
        yield f"  {build.title}: {result_words(build)}" + (f"; {times_words(build.times)}" if build.times else "")
        yield from (f"    {difference_words(each)}" for each in build.differing)
        if build.accuracy is not None:
            yield f"    {accuracy_words(build.accuracy)}"
    yield answer_words(replayed)
    yield from replayed.notes
    if replayed.is_cpu and any(build.times for build in replayed.builds):
        yield OF_A_CPU
    yield not_compared_words(replayed)
    if replayed.profile is not None:
        yield from _profile_lines(replayed.profile, replayed.builds[-1].title)


def _profile_lines(profile: Profile, title: str) -> Iterator[str]:
    yield f"the {title} build under {profile.command}: {result_words(profile)}"
    yield from (f"    {difference_words(each)}" for each in profile.differing)
    yield from profile.notes
    yield from profile.output.splitlines()
    pages = {path.rpartition(".")[2]: shlex.quote(path) for path in profile.files}
    if pages:
        yield f"written: {', '.join(profile.files)}"
        yield f"kernlens annotate {pages['klens']} --samples {pages['csv']}"


def launch_lines(replayed: Replayed) -> Iterator[str]:
    """Yield which launch ran, and where."""
    sizes = sizes_of_launch(replayed.global_size, replayed.local_size)
    title = f"launch {replayed.number:,} of {replayed.kernel}"
    yield f"{title}: {sizes}, {replayed.program} on {replayed.device} ({replayed.platform})"
    if replayed.recorded_on:
        yield f"  recorded on {replayed.recorded_on}"


def observed_lines(observed: ObservedReplay, *, uninitialized: bool = False) -> Iterator[str]:
    """Yield what a launch did in the interpreter, and whether its results are those of the application's launch."""
    yield f"{observed.title} of {observed.program}"
    yield from behaviour_lines(observed.behaviour, observed.texts, uninitialized=uninitialized)
    yield ""
    if observed.replayed is None:
        yield "not all work-groups ran, so no results were compared"
        return
    (build,) = observed.replayed.builds
    yield f"results: {result_words(build)}"
    yield from (f"  {difference_words(each)}" for each in build.differing)
    yield not_compared_words(observed.replayed)


def observed_document(observed: ObservedReplay) -> dict[str, Any]:
    """Return the same as a document."""
    replayed = [] if observed.replayed is None else [observed.replayed]
    behaviour = behaviour_document(observed.behaviour, observed.texts)
    return {**replay_document(replayed), "equal": replayed[0].is_equal if replayed else None, "observed": behaviour}


def times_words(times: Times) -> str:
    """Return the median and the quartiles of runs."""
    middle, lower, upper = (duration(round(each)) for each in (times.median, times.lower, times.upper))
    return f"median {middle} ({lower} to {upper}), {plural(times.runs, 'run')}"


def difference_words(compared: Compared) -> str:
    """Return how memory differs."""
    differing = compared.difference
    assert differing is not None
    kind = f"{compared.type_name}s" if compared.type_name else "words of 32 bits"
    verb = "differs" if differing.count == 1 else "differ"
    words = (
        f"{compared.title}: {differing.count:,} of {compared.elements:,} {kind} {verb}, the first at {differing.first:,}:"
        f" {differing.result}, recorded was {differing.recorded}"
    )
    if differing.ulp is not None:
        words += f"; at most {differing.ulp:,} ulp"
        words += f", {differing.relative:.3g} relative" if differing.relative is not None else ""
    return words


def accuracy_words(accuracy: Accuracy) -> str:
    """Return what OpenCL C allows results to differ by."""
    bounds = ", ".join(each.told for each in accuracy.bounds)
    return f"{accuracy.answer}; OpenCL C's bounds of a call: {bounds}" if bounds else accuracy.answer


def not_compared_words(replayed: Replayed) -> str:
    """Return what was not compared, as the last line says it."""
    if not replayed.not_compared:
        return "all memory that was kept was compared"
    return f"not compared: {', '.join(replayed.not_compared)}"


def kept_lines(launches: Sequence[RecordedLaunch]) -> Iterator[str]:
    """Yield the table of the launches that a recording keeps."""
    rows: list[list[Cell]] = []
    for each in launches:
        launch = each.launch
        local = None if launch.local_size is None else sizes_text(launch.local_size)
        time = None if launch.nanoseconds is None else duration(launch.nanoseconds)
        sizes = [sizes_text(launch.global_size), local]
        rows.append([launch.kernel, launch.number, launch.process, *sizes, len(launch.memory), launch.size, time])
    yield from table(["kernel", "launch", "process", "global", "local", "memory objects", "bytes", "time"], rows)
    yield f"{len(rows):,} launch{'' if len(rows) == 1 else 'es'} kept"


def exported_lines(exported: Exported) -> Iterator[str]:
    """Yield what was exported, and how it is run."""
    yield f"{exported.title} is in {exported.folder}: {', '.join(exported.files)}"
    yield f"make -C {exported.folder} check"


def _simulated(replayed: Replayed) -> Iterator[str]:
    for build in replayed.builds:
        yield f"  {build.title}: builds, and is launched"
    yield from replayed.notes
    yield "the device is simulated: nothing was computed, so nothing was compared or timed"


def result_words(build: ReplayedBuild | Profile) -> str:
    """Return whether the results of a build, or of a profiled run, are equal, or how many differ."""
    if not build.compared:
        return "nothing to compare"
    verb = "differs" if len(build.differing) == 1 else "differ"
    return f"{len(build.differing)} of {plural(len(build.compared), 'result')} {verb}" if build.differing else "equal"

"""Sets of build options, each timed on a kept launch in turn with the recorded build, and the fastest right one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.verbs.replay.elements import Tolerance
from kernlens.verbs.replay.kept import chosen, open_recording, recorded_launches
from kernlens.verbs.replay.program_of_launch import OtherBuild
from kernlens.verbs.replay.replay import RUNS, TIME_LIMIT, Settings, replaying
from kernlens.verbs.replay.replayed import Compared, Replayed, ReplayedBuild
from kernlens.verbs.replay.timing import Ratio, Times
from kernlens.verbs.sweep.option_sets import option_sets


@dataclass(frozen=True, slots=True)
class TimedSet:
    """A set of build options on the launch. ``build`` is what came of it, None if it could not be run, and ``reason`` says why;
    ``ratio`` is how many times as fast as the recorded build it is, in pairs of runs."""

    options: str
    build: ReplayedBuild | None = None
    ratio: Ratio | None = None
    reason: str = ""

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The memory that differs from what the application's launch left."""
        return () if self.build is None else self.build.differing

    @property
    def is_right(self) -> bool:
        """True if results were compared, and are equal."""
        return self.build is not None and bool(self.build.compared) and not self.build.differing

    @property
    def times(self) -> Times | None:
        """The times of its runs; None if there are none."""
        return None if self.build is None else self.build.times


@dataclass(frozen=True, slots=True)
class TimedSets:
    """The answer. ``recorded`` is the replay of the recorded build alone, ``sets`` are in the order of the caller. ``again`` is
    the fastest right set, timed once more, if that was asked for: what was the fastest of many is so by luck in part."""

    recorded: Replayed
    recorded_options: str
    runs: int
    sets: tuple[TimedSet, ...]
    again: TimedSet | None = None

    @property
    def ranked(self) -> list[TimedSet]:
        """The sets, the fastest first: those that are right, then those that were not compared or differ, then what failed."""
        return sorted(self.sets, key=_rank)

    @property
    def fastest(self) -> TimedSet | None:
        """The fastest set whose results are equal; None if there is none, or the device measures no time."""
        first = self.ranked[0]
        return first if first.is_right and first.ratio is not None else None

    @property
    def best(self) -> TimedSet | None:
        """The fastest set, if it was faster than the recorded build each time that it was measured."""
        first, again = self.fastest, self.again
        if first is None or not _is_faster(first) or (again is not None and not _is_faster(again)):
            return None
        return first

    @property
    def beside_best(self) -> list[TimedSet]:
        """The right sets that may be as fast as the best one: their intervals overlap."""
        best = self.best
        if best is None or best.ratio is None or best.ratio.low is None:
            return []
        return [
            each
            for each in self.ranked
            if each is not best and each.is_right and each.ratio and (each.ratio.high or 0.0) >= best.ratio.low
        ]


def timed_sets(
    recording: str | os.PathLike[str],
    options: Sequence[str] = (),
    macros: Sequence[str] = (),
    *,
    kernel: str | None = None,
    program: str | None = None,
    launch: int | None = None,
    device: str | None = None,
    runs: int = RUNS,
    tolerance: Tolerance | None = None,
    timeout: float = TIME_LIMIT,
    unconfined: bool = False,
    is_confirmed: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> TimedSets:
    """Time sets of build options on a launch that a recording keeps, each in turn with the recorded build.

    ``options`` and ``macros`` are those of ``option_sets``; without ``options`` the macros are added to the recorded ones. A
    set takes the place of the recorded options. ``is_confirmed``: the fastest is timed once more. What a set fails with is
    its ``reason``. Raises what ``replay`` raises for the recorded build, KernlensError if there is no set, and
    UnsupportedError for a device that is simulated.
    """
    if not options and not macros:
        raise KernlensError("there is nothing to sweep: name sets with --build-options or -D")
    with open_recording(recording) as opened:
        each = chosen(list(recorded_launches(opened, program)), os.fspath(recording), kernel, launch)[0]
        own = each.build.options or ""
        others = [OtherBuild(options=words) for words in option_sets(options or [own], macros)]
        alone = Settings(device, runs=0, tolerance=tolerance or Tolerance(), timeout=timeout, unconfined=unconfined)
        with replaying(alone, others) as run:
            recorded = run(each, alone)
            if recorded.is_simulated:
                raise UnsupportedError(
                    f"{recorded.device} is simulated: nothing is computed there, so nothing can be timed"
                )

            def timed(other: OtherBuild) -> TimedSet:
                words = other.options or ""
                try:
                    answer = run(each, replace(alone, runs=runs, other=other))
                except (OpenCLError, ToolError, UnsupportedError) as error:
                    return TimedSet(words, reason=str(error))
                return TimedSet(words, answer.builds[1], answer.ratio)

            sets = []
            for count, other in enumerate(others, start=1):
                sets.append(timed(other))
                if on_progress is not None:
                    on_progress(count, len(others))
            answer = TimedSets(recorded, own, runs, tuple(sets))
            if is_confirmed and answer.best is not None:
                answer = replace(answer, again=timed(OtherBuild(options=answer.best.options)))
            return answer


def _is_faster(each: TimedSet) -> bool:
    ratio = each.ratio
    return each.is_right and ratio is not None and ratio.is_different and ratio.median > 1


def _rank(each: TimedSet) -> tuple[bool, bool, bool, float]:
    return each.build is None, not each.is_right, each.ratio is None, -(each.ratio.median if each.ratio else 0.0)

"""The answer of a replay: what was compared, what differs, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.built_in_errors import TYPES, Accuracy, accuracy
from kernlens.dataclass import dataclass, replace
from kernlens.verbs.replay.elements import Difference
from kernlens.verbs.replay.timing import Ratio, Times


@dataclass(frozen=True, slots=True)
class Compared:
    """Memory that was compared: what it is called, how many elements of which type it has, and how it differs."""

    title: str
    elements: int
    type_name: str
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class ReplayedBuild:
    """A build of the program and its run: ``title`` says which one it is. ``accuracy`` is what OpenCL C allows its results to
    differ by: None if no floating-point numbers differ, or only those that the same build left on the same device."""

    title: str
    options: str
    compared: tuple[Compared, ...]
    times: Times | None
    log: str = ""
    accuracy: Accuracy | None = None

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The memory that differs."""
        return tuple(each for each in self.compared if each.difference is not None)

    def with_accuracy(self, texts: Sequence[str], kernel: str) -> ReplayedBuild:
        """Return the build with what OpenCL C allows its floating-point results to differ by. ``texts`` are its sources."""
        real = [
            (each.type_name, each.difference.ulp)
            for each in self.differing
            if each.difference and each.type_name in ("", *TYPES)
        ]
        if not real:
            return self
        type_name, ulp = max(real, key=lambda each: (each[1] is None, each[1] or 0))
        return replace(self, accuracy=accuracy(texts, kernel, self.options, type_name, ulp))


@dataclass(frozen=True, slots=True)
class Profile:
    """The run under a profiler: its ``command``, what it printed, what was compared then, as of any run, sentences on what was
    other than in the launch, and the files that were written of it."""

    command: str
    output: str
    compared: tuple[Compared, ...]
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The memory that differs."""
        return tuple(each for each in self.compared if each.difference is not None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A launch that ran again: the recorded build, or the build in its place, and with two builds the ``ratio`` of their times.
    ``recorded_on`` is the device that it was recorded on, "" if it is this one.
    ``not_compared`` says of memory why it was not compared. ``is_simulated``: nothing was computed. ``profile`` is the
    run of the last build under a profiler, None if there was none."""

    kernel: str
    number: int
    process: int
    program: str
    platform: str
    device: str
    recorded_on: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    builds: tuple[ReplayedBuild, ...]
    ratio: Ratio | None
    not_compared: tuple[str, ...]
    notes: tuple[str, ...]
    is_simulated: bool = False
    is_cpu: bool = False
    profile: Profile | None = None

    @property
    def is_equal(self) -> bool:
        """True if no result of any build differs, nor of the profiled run."""
        return not any(build.differing for build in self.builds) and not (self.profile and self.profile.differing)

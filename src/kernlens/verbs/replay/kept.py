"""The launches that a recording keeps, and the choice of one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kernlens.analysis.kernel_names import is_named
from kernlens.dataclass import dataclass, field
from kernlens.errors import NotFoundError, likeliest
from kernlens.model.build import Build
from kernlens.model.kept_launch import KeptLaunch
from kernlens.recording.reader import Recording
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.absent import programs_meant


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """A launch and the build of its program."""

    build: Build = field(repr=False)
    launch: KeptLaunch = field(repr=False)

    @property
    def title(self) -> str:
        """The launch for a person."""
        return f"launch {self.launch.number:,} of {self.launch.kernel}"


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording that the user has named, without waiting for a pipe. Raises what ``open_regular`` and ``Recording``
    raise."""
    with open_regular(path, "recording"):
        return Recording(os.fspath(path))


def recorded_launches(recording: Recording, program: str | None = None) -> Iterator[RecordedLaunch]:
    """Yield the launches that were kept, program by program in the order of the recording; with ``program`` those of programs
    of this name, or pattern. Raises NotFoundError if there is none."""
    builds = recording.builds()
    if program is not None:
        meant = programs_meant(program, {build.name for build in builds}, str(recording.path))
        builds = [build for build in builds if build.name in meant]
    for build in builds:
        for launch in build.kept_launches:
            yield RecordedLaunch(build, launch)


def none_kept(path: str) -> str:
    """Return the sentence on a recording without launches."""
    return f"{path} keeps no launches; kernlens capture --launch KERNEL -- APP keeps them"


def chosen(
    launches: Sequence[RecordedLaunch], path: str, kernel: str | None, number: int | None
) -> list[RecordedLaunch]:
    """Return the launches of a kernel, with ``number`` those of that number. Raises NotFoundError, which says what there is."""
    if not launches:
        raise NotFoundError(none_kept(path))
    names = list(dict.fromkeys(each.launch.kernel for each in launches))
    if kernel is None and len(names) > 1:
        raise NotFoundError(
            f"{path} keeps launches of {len(names)} kernels: {', '.join(names[:20])}; choose with --kernel"
        )
    of_kernel = [each for each in launches if kernel is None or is_named(kernel, each.launch.kernel)]
    if not of_kernel:
        near = likeliest(kernel or "", names)
        meant = f"; did you mean {' or '.join(near)}?" if near else f"; there are: {', '.join(names[:20])}"
        raise NotFoundError(f"{path} keeps no launch of {kernel}{meant}")
    numbered = [each for each in of_kernel if number is None or each.launch.number == number]
    if not numbered:
        numbers = ", ".join(f"{each.launch.number}" for each in of_kernel[:20])
        raise NotFoundError(f"{path} keeps no launch {number} of {of_kernel[0].launch.kernel}; kept are: {numbers}")
    return numbered

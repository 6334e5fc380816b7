"""The builds of a path that gave no binary, among all that were done there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass
from kernlens.errors import telling_line

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program

#: Characters of a compiler's message that a line shows.
_LONGEST = 240
#: Stands in the reasons that a compile gives, between source and device.
_NO_COMPILE = " does not compile for "


@dataclass(frozen=True, slots=True)
class FailedBuilds:
    """The failed ``builds`` among ``count`` builds. ``path`` is the recording or folder that holds them; "" for sources that
    were compiled for this answer."""

    builds: tuple[Build, ...] = ()
    count: int = 0
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.builds)

    @property
    def share(self) -> str:
        """The words on how many failed: ``1 of 12 builds failed``."""
        if len(self.builds) == self.count:
            return "the only build failed" if self.count == 1 else f"all {self.count:,} builds failed"
        return f"{len(self.builds):,} of {self.count:,} builds failed"

    @property
    def sentence(self) -> str:
        """The words on how many failed, which was the first, and what shows the others' logs; "" if none failed."""
        if not self.builds:
            return ""
        first = "the first " if len(self.builds) > 1 else ""
        where = f" (kernlens inspect {self.path} --log shows the {'logs' if first else 'log'})" if self.path else ""
        return f"{self.share}: {first}{failure_words(self.builds[0])}{where}"


def no_kernels(path: str, failed: FailedBuilds) -> str:
    """Return the sentence on a path without kernels, since its builds failed."""
    return f"{path} contains no kernels: {failed.sentence}"


def by_path(groups: Iterable[FailedBuilds]) -> tuple[FailedBuilds, ...]:
    """Return the failed builds of several parts of paths as one for each path, without paths of which none failed."""
    merged: dict[str, FailedBuilds] = {}
    for group in groups:
        before = merged.get(group.path, FailedBuilds())
        merged[group.path] = FailedBuilds((*before.builds, *group.builds), before.count + group.count, group.path)
    return tuple(group for group in merged.values() if group)


def failure_words(build: Build) -> str:
    """Return what failed, on which device, with which toolchain, and why."""
    toolchain = f" by {build.toolchain.name}" if build.toolchain else ""
    told = f"{build.title} for {build.device or 'an unknown device'}{toolchain}: {failure_reason(build)}"
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 3]}..."


def read_builds(
    places: Iterable[tuple[Program, Kernel]], failed: Iterable[FailedBuilds]
) -> list[tuple[Program, Kernel]]:
    """Return the kernels of a baseline whose programs did not fail to build now: a kernel of those is unread, not missing."""
    lost = {_identity(build) for group in failed for build in group.builds}
    return [place for place in places if _identity(place[0].build) not in lost]


def _identity(build: Build) -> tuple[str, str | None, str | None]:
    return build.name, build.device, build.stated_options


def failure_reason(build: Build) -> str:
    """Return why a build failed: what the compiler says first, or the reason that was recorded."""
    reason = build.reason or ""
    if is_of_compiler(build):
        return reason.partition(f"{_NO_COMPILE}{build.device}: ")[2]
    return ": ".join(filter(None, (reason, telling_line(build.log)))) or "the compiler says no more"


def is_of_compiler(build: Build) -> bool:
    """Return whether the recorded reason of a failed build repeats what the compiler's log says."""
    return f"{_NO_COMPILE}{build.device}: " in (build.reason or "")

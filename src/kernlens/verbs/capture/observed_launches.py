"""The launches that an interpreter's plugin counted while an application ran, and why it counted nothing of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernlens.analysis.merged_behaviour import merged
from kernlens.dataclass import replace
from kernlens.errors import KernlensError
from kernlens.formats.observation import ObservedLaunch, read_observations, split_observations
from kernlens.formats.oclgrind_message import FATAL
from kernlens.model.behaviour import Behaviour
from kernlens.model.fault import merged_faults
from kernlens.toolchain.oclgrind import SOURCE_NAMES
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.verbs.capture.observing import Observing
from kernlens.verbs.capture.spool import BuildEvent, Spool
from kernlens.verbs.capture.spooled import Counter, Identity, Shape, read_fields
from kernlens.verbs.observe.observe import without_lockstep

_LONGEST_REASON = 200
_Sizes = tuple[tuple[int, int, int], tuple[int, int, int]]


class ObservedLaunches:
    """The launches that the plugin counted, by the builds of programs. ``missing`` says what of it cannot be read."""

    def __init__(self, spool: Spool, observing: Observing) -> None:
        self._observing, self._machine = observing, observing.machine()
        self._of_builds: dict[str, dict[str, list[ObservedLaunch]]] = defaultdict(lambda: defaultdict(list))
        #: Of programs that were linked, which have no number: by process and kernel.
        self._of_links: dict[tuple[int, str], list[ObservedLaunch]] = defaultdict(list)
        #: The links that have a kernel of this name, by process.
        self._links: dict[tuple[int, str], int] = defaultdict(int)
        self.missing: list[str] = []
        self._refused = set(self._refusals(spool))
        self.missing += self._untranslated(spool)
        for path in spool.files("observation"):
            try:
                launches = split_observations(read_beside(path, path.parent))
            except (KernlensError, OSError) as error:
                self.missing.append(f"what kernels did: {error}")
                continue
            process = int(path.stem.rpartition("-")[2])
            for launch in launches:
                if launch.build:
                    self._of_builds[launch.build][launch.kernel].append(launch)
                else:
                    self._of_links[process, launch.kernel].append(launch)

    @staticmethod
    def _untranslated(spool: Spool) -> Iterator[str]:
        """Yield a sentence on each reason why a program was not made from SPIR-V."""
        reasons = set()
        for path in spool.files("untranslated"):
            try:
                fields = dict(read_fields(read_beside(path, path.parent), path.name))
                reasons.add(fields["reason"].rstrip(b"\0").decode("utf-8", "replace")[:_LONGEST_REASON])
            except (KernlensError, OSError, KeyError) as error:
                reasons.add(str(error))
        for reason in sorted(reasons):
            yield f"llvm-spirv made no program of SPIR-V for Oclgrind, so the application got none: {reason}"

    def _refusals(self, spool: Spool) -> Iterator[tuple[Identity, str]]:
        """Yield the kernels that the interpreter did not make."""
        for path in spool.files("refused"):
            try:
                fields = dict(read_fields(read_beside(path, path.parent), path.name))
                program = fields["program"]
                name = fields["kernel"].rstrip(b"\0").decode("utf-8", "replace")
            except (KernlensError, OSError, KeyError) as error:
                self.missing.append(f"a kernel that was refused: {error}")
                continue
            yield (int.from_bytes(program[:8], "little"), int.from_bytes(program[8:], "little")), name

    def note_link(self, event: BuildEvent, kernels: Iterable[str]) -> None:
        """Note that a link of the application has these kernels."""
        for kernel in kernels:
            self._links[event.process, kernel] += 1

    def behaviours(
        self, event: BuildEvent, kernels: Iterable[str], counters: Mapping[str, Counter], path: str
    ) -> dict[str, list[Behaviour]]:
        """Return what the launches of a build's kernels did, and why that is not known, by kernel; ``counters`` are those of
        its program's kernels, ``path`` is what its source is called."""
        own = self._of_builds.get(event.observed, {}) if event.observed else {}
        kernels = dict.fromkeys([*kernels, *(name for program, name in self._refused if program == event.program)])
        behaviours = {}
        for kernel in kernels:
            launches = own.get(kernel, [])
            counter = counters.get(kernel, Counter(kernel))
            reason = ""
            if not launches and not event.observed:
                launches = self._of_links.get((event.process, kernel), [])
                if launches and self._links[event.process, kernel] > 1:
                    launches, reason = [], "several programs that were linked have a kernel of this name"
            if event.program is not None and (event.program, kernel) in self._refused:
                reason = (
                    "Oclgrind cannot run this kernel: as it made it, it missed something that the kernel calls, which its"
                    " message names"
                )
            if launches or counter.launches or reason:
                behaviours[kernel] = self._of_kernel(kernel, launches, counter, reason, path)
        return behaviours

    def _of_kernel(
        self, kernel: str, launches: Sequence[ObservedLaunch], counter: Counter, reason: str, path: str
    ) -> list[Behaviour]:
        by_sizes: dict[_Sizes, list[Behaviour]] = {}
        for launch in launches:
            if not launch.section:
                reason = "the application's process ended while the interpreter ran it"
                continue
            try:
                (observed,) = read_observations(launch.section, dict.fromkeys(SOURCE_NAMES, path))
            except (KernlensError, ValueError) as error:
                self.missing.append(f"what {kernel} did: {error}")
                continue
            checked = self._checked(replace(observed, source=path))
            by_sizes.setdefault((observed.global_size, observed.local_size), []).append(checked)
        told = [self._of_sizes(each, counter) for each in by_sizes.values()]
        return [*told, *self._uncounted(kernel, list(by_sizes), counter, reason)]

    def _checked(self, observed: Behaviour) -> Behaviour:
        """Return a launch for the device; with the reason in place of its counts if these mean nothing."""
        machine = replace(self._machine, width=observed.machine.width)
        fatal = next((each.sentence for each in observed.faults if each.kind == FATAL), None)
        observed = replace(
            observed,
            machine=machine,
            device=self._observing.device,
            faults=tuple(each for each in observed.faults if each.kind != FATAL),
        )
        if fatal is not None:
            return observed.without_counts(f"Oclgrind cannot run this kernel: {fatal.rstrip('.')}; nothing was counted")
        if observed.groups_done < observed.groups and not observed.is_out_of_time:
            return observed.without_counts(
                f"Oclgrind stopped after {observed.groups_done:,} of {observed.groups:,} work-groups; nothing was counted"
            )
        return observed

    def _of_sizes(self, launches: Sequence[Behaviour], counter: Counter) -> Behaviour:
        first = launches[0]
        total = sum(each.launches for each in counter.shapes if _is_of(each, (first.global_size, first.local_size)))
        if (refused := next((each for each in launches if each.reason), None)) is not None:
            faults = merged_faults(fault for each in launches for fault in each.faults)
            return replace(refused, faults=faults, launches=max(total, len(launches)))
        counted = [each for each in launches if each.groups_done]
        whole = without_lockstep(merged(launches))
        if not counted:
            seconds = self._observing.seconds
            return replace(
                whole.without_counts(f"no work-group ended within the {seconds:g} s that are counted of each kernel"),
                launches=max(total, 1),
            )
        if whole.reason:
            return replace(whole, launches=max(total, len(launches)))
        notes = whole.notes
        if total > len(counted):
            notes = (*notes, f"{len(counted):,} of {total:,} launches with these sizes were counted")
        return replace(whole, notes=notes, launches=max(total, len(counted)))

    def _uncounted(self, kernel: str, known: Sequence[_Sizes], counter: Counter, reason: str) -> list[Behaviour]:
        """Return the launches of sizes of which nothing was counted, with the reason."""
        behaviours = []
        for shape in counter.shapes:
            if any(_is_of(shape, sizes) for sizes in known):
                continue
            told = reason or (
                f"{self._observing.seconds:g} s of this kernel were counted before" if known else
                "it had not run when the application ended, which did not wait for it or was stopped"
            )  # fmt: skip
            sizes = _whole(shape.global_size), _whole(shape.local_size or ())
            behaviours.append(Behaviour.not_counted(kernel, told, *sizes, self._observing.device, shape.launches))
        if not counter.shapes and not known and reason:
            behaviours.append(Behaviour.not_counted(kernel, reason, (0, 0, 0), (0, 0, 0), self._observing.device))
        return behaviours


def _whole(size: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*size, *(1,) * (3 - len(size)))
    return x, y, z


def _is_of(shape: Shape, sizes: _Sizes) -> bool:
    """Return whether launches of this shape have these sizes; the driver may have chosen the local one."""
    return _whole(shape.global_size) == sizes[0] and (shape.local_size is None or _whole(shape.local_size) == sizes[1])

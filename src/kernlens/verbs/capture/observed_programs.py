"""The programs of an application that was observed, each with what its kernels did: for the device that was asked for too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kernlens.dataclass import replace
from kernlens.model.behaviour import Behaviour
from kernlens.model.build import Build
from kernlens.model.fault import NO_RACES, Fault
from kernlens.toolchain.oclgrind import SOURCE_NAMES
from kernlens.verbs.capture.observed_launches import ObservedLaunches
from kernlens.verbs.capture.observing import DeviceCode, Observing
from kernlens.verbs.capture.replacing import listed
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice, Spool
from kernlens.verbs.capture.spooled import Counter, Identity

#: Returns kernlens's name of a device, and the kernels of a program.
ReadKernels = Callable[[str, BuildEvent, BuiltDevice], tuple[str, Sequence[str]]]


class ObservedPrograms:
    """The builds of what was observed. ``faults`` are those of all launches, each with its kernel; ``is_counted`` is
    whether a launch was counted."""

    def __init__(self, spool: Spool, observing: Observing, code: DeviceCode) -> None:
        self._observing, self._code = observing, code
        self._launches = ObservedLaunches(spool, observing)
        self._counters: dict[Identity, dict[str, Counter]] = defaultdict(dict)
        #: The builds that were not compiled for the device, by the reason, and kernels of which nothing is counted.
        self._not_compiled: dict[str, list[str]] = defaultdict(list)
        self._not_counted: dict[str, list[str]] = defaultdict(list)
        #: Of each kernel whose work-groups were not all counted: how many were, and how many there were.
        self._in_part: dict[str, tuple[int, int]] = {}
        self._notes: dict[str, set[str]] = defaultdict(set)
        self._is_uncompiled = False
        self.faults: list[tuple[str, Fault]] = []
        self.is_counted = False

    def note(self, events: Iterable[BuildEvent], counters: Iterable[Counter], read: ReadKernels) -> None:
        """Note what has to be known of all builds before the first is added."""
        for counter in counters:
            known = self._counters[counter.program].setdefault(counter.kernel, Counter(counter.kernel, counter.program))
            known.launches += counter.launches
            known.shapes += counter.shapes
        for event in events:
            if event.operation == "link":
                self._launches.note_link(event, {name for each in event.devices for name in read("", event, each)[1]})

    def add(self, event: BuildEvent, build: Build, kernels: Sequence[str]) -> tuple[Build, Build | None]:
        """Return a build, and that of the same program for the device, if there is one; the launches are the latter's then."""
        if event.program is None or not build.ok or event.operation == "compile":
            return build, None
        compiled = self._code.build_of(event)
        if self._code.device is not None and (compiled is None or not compiled.ok):
            reason = "it has no source" if compiled is None else compiled.reason or "the compiler does not say why"
            self._not_compiled[reason].append(build.name)
            compiled = None
        path = SOURCE_NAMES[0] if compiled is None else Path(compiled.path).name
        counters = self._counters.get(event.program, {})
        behaviours = self._launches.behaviours(event, {**dict.fromkeys(kernels), **counters}, counters, path)
        self._tell(behaviours)
        if compiled is None:
            self._is_uncompiled |= self._code.device is None and bool(behaviours)
            return build.with_parts(behaviours=behaviours), None
        return build, replace(compiled, name=build.name).with_parts(behaviours=behaviours)

    def _tell(self, behaviours: dict[str, list[Behaviour]]) -> None:
        for kernel, launches in behaviours.items():
            for each in launches:
                self.faults += [(kernel, fault) for fault in each.faults]
                self.is_counted |= each.is_counted
                if each.is_counted and each.groups_done < each.groups:
                    done, groups = self._in_part.get(kernel, (0, 0))
                    self._in_part[kernel] = done + each.groups_done, groups + each.groups
                self._notes[kernel] |= {note for note in each.notes if note.startswith(NO_RACES)}
                if each.reason:
                    self._not_counted[each.reason].append(kernel)

    def sentences(self) -> Iterator[str]:
        """Yield sentences for a person."""
        if self._is_uncompiled:
            device = self._observing.device
            why = (
                f"for {device}: {self._code.reason}"
                if device
                else "as no --device was named: --device D compiles for one"
            )
            yield f"no machine code was compiled {why}; the counts stand at source lines alone"
        for reason, names in self._not_compiled.items():
            verb = "was" if len(names) == 1 else "were"
            yield f"{listed(names)} {verb} not compiled for {self._observing.device}: {reason}"
        for reason, names in self._not_counted.items():
            yield f"nothing was counted of {listed(list(dict.fromkeys(names)))}: {reason}"
        for kernel, (done, groups) in self._in_part.items():
            yield (
                f"of {kernel} {done:,} of {groups:,} work-groups were counted before its time was over, though all ran;"
                " --seconds gives it more"
            )
        for kernel, notes in self._notes.items():
            yield from (f"{kernel}: {note}" for note in sorted(notes))
        yield from self._launches.missing

"""The way from a spool to a recording: a Build for each build and device, and the launches of each kernel."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.formats.poclbin import build_hash
from kernlens.isa.devices import known_device
from kernlens.loading import open_build
from kernlens.model.build import Build, HeldParts
from kernlens.model.device_time import DeviceTime
from kernlens.model.stage import Snapshot
from kernlens.recording.capture_notes import CAPTURE
from kernlens.recording.target import is_alive
from kernlens.toolchain.cached_code import CachedCode
from kernlens.toolchain.driver_stages import driver_stages
from kernlens.verbs.capture.captured import Captured, CapturedKernel, RecordedKernels
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.event_builds import build_of, constants_of, noted_call, noted_constants, static_inputs
from kernlens.verbs.capture.kept_files import KeptFile
from kernlens.verbs.capture.kept_launches import add_kept_launches
from kernlens.verbs.capture.observed_programs import ObservedPrograms
from kernlens.verbs.capture.replacing import StoodIn
from kernlens.verbs.capture.second_builds import Findings, SecondBuildPlan, SecondBuildResult, second_builds
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice, Spool, read_build, read_replaced
from kernlens.verbs.capture.spooled import (
    Counter,
    CounterKey,
    Entry,
    Identity,
    read_counters,
    read_current_calls,
    read_entries,
    read_times,
)

if TYPE_CHECKING:
    from kernlens.recording.writer import RecordingWriter

_Place = TypeVar("_Place")
_Content = TypeVar("_Content")
#: Is called with the number of builds that are in the recording, and that of all.
Progress = Callable[[int, int], None]


def _importance(kernel: CapturedKernel) -> tuple[object, ...]:
    """Return what kernels are sorted by: the device's time, else how often they were launched."""
    return (-(kernel.time.total_ns if kernel.time else 0), -kernel.launches, -kernel.created, kernel.name)


class _KernelsOfBinaries:
    """The kernels of each binary that was met: applications make many programs of one binary."""

    def __init__(self, cached: CachedCode, simulated: str | None) -> None:
        self._cached = cached
        self._simulated = simulated
        #: The driver's names of devices, and kernlens's.
        self._devices: dict[str, str] = {}
        self._known: dict[tuple[bytes, bytes, str], tuple[str, Sequence[str]]] = {}

    def read(self, name: str, build: BuildEvent, device: BuiltDevice) -> tuple[str, Sequence[str]]:
        """Return kernlens's name of the device, and the kernels of program ``name``; none if the binary cannot be read."""
        if not device.built or not device.binary:
            return self._name_of(device, build.interface), ()
        key = sha256(device.binary).digest(), sha256(build.spirv).digest(), device.name
        if key not in self._known:
            self._known[key] = self._read(name, build, device)
            self._devices[device.name] = self._known[key][0]
        return self._known[key]

    def _name_of(self, device: BuiltDevice, interface: str) -> str:
        """Return kernlens's name of a device that no binary tells; the driver's name if nothing else does."""
        if device.ip and (known := known_device(str(device.ip))) is not None:
            return known.name
        if self._simulated is not None and (interface != "opencl" or "Graphics" in device.platform):
            return self._simulated
        return self._devices.get(device.name, device.name)

    def snapshots(self, device: BuiltDevice) -> tuple[Snapshot, ...]:
        """Return the stages of a program that its driver gives out by itself."""
        return driver_stages(device.platform, device.binary, self._cached) if device.built else ()

    def _read(self, name: str, build: BuildEvent, device: BuiltDevice) -> tuple[str, Sequence[str]]:
        snapshots = self.snapshots(device)
        parts = HeldParts(binary=device.binary, debug=device.debug, spirv=build.spirv, snapshots=snapshots)
        otherwise = self._name_of(device, build.interface)  # an object that a compile made names no device
        try:
            programs = open_build(Build(name=name, device=device.name, ok=True, parts=parts))
        except KernlensError as error:
            log.debug("verbs", "%s for %s holds no code that can be read: %s", name, device.name, error)
            return otherwise, ()
        device_name = next((program.device.name for program in programs if program.device is not None), otherwise)
        return device_name, [kernel.name for program in programs for kernel in program.kernels]


@dataclass(slots=True)
class _Program:
    """A program of the application: its name and number in the recording, and whether the compiler was given source for it."""

    name: str
    number: int
    has_source: bool


@dataclass(slots=True)
class _GoodBuild:
    """The last good build of a program for a device, and its kernels by name."""

    name: str
    device: str
    kernels: dict[str, CapturedKernel]


class Merging:
    """The writing of a recording from what was spooled, and from what second builds yield."""

    def __init__(
        self,
        spool: Spool,
        writer: RecordingWriter,
        plan: SecondBuildPlan,
        changes: Changes,
        simulated: str | None = None,
        observed: ObservedPrograms | None = None,
    ) -> None:
        self._spool = spool
        self._observed = observed
        self._writer = writer
        self._plan = plan
        self._changes = changes
        self._captured = Captured(spool.was_entered, spool.nested_recordings(), missing=spool.missing())
        replaced = self._read("what was replaced", spool.files("replacement"), read_replaced)
        self._stood_in = StoodIn(changes.replacements, replaced)
        self._second_builds = Findings(changes.empties_caches)
        self._recorded = RecordedKernels(writer.path)
        self._kernels_of = _KernelsOfBinaries(
            CachedCode(changes.cache_variables(plan.environment, spool.folder)), simulated
        )
        self._programs: dict[Identity, _Program] = {}
        #: By program and device (its handle).
        self._good_builds: dict[tuple[Identity, int], _GoodBuild] = {}
        self._failures: dict[Identity, str] = {}
        self._unended: list[str] = []
        self._calls: list[dict[str, object]] = []
        self._changed_options = 0
        #: Of the binaries whose sources are recorded the SHA-256, or what PoCL's binaries of one build have in common.
        self._own_binaries: set[bytes] = set()
        files = self._read("how often kernels were launched", spool.files("counters"), read_counters)
        self._counters = list(chain.from_iterable(files))

    def run(self, on_progress: Progress | None = None) -> Captured:
        """Write the recording, and return what the capture has brought. Raises OutputError if it cannot be written."""
        captured = self._captured
        entries = sorted(self._entries(), key=lambda entry: (not entry.has_ended, entry.time))
        if self._observed is not None:
            self._observed.note(self._events(entries), self._counters, self._kernels_of.read)
        for event, results in second_builds(self._events(entries), self._plan):
            captured.builds += 1
            self._add(event, results or [SecondBuildResult()])
            if on_progress is not None:
                on_progress(captured.builds, len(entries))
        self._count()
        add_kept_launches(self._spool, self._writer, captured, self._program_of)
        names = [kernel.name for kernel in captured.kernels]
        hashes = [str(call["sha256"]) for call in self._calls if call["sha256"]]
        captured.last_calls = self._last_calls()
        captured.unmatched = self._stood_in.unmatched(captured.builds, names, hashes)
        captured.findings = [*self._findings(), *captured.unmatched.values()]
        used = [kernel.document for kernel in captured.kernels]
        self._writer.note(CAPTURE, json.dumps({"builds": self._calls, "kernels": used}))
        return captured

    def _entries(self) -> Iterator[Entry]:
        """Yield all builds' entries; of a damaged file those before the damage."""
        for path in self._spool.files("builds"):
            try:
                yield from read_entries(path)
            except (KernlensError, OSError) as error:
                self._captured.missing.append(f"builds: {error}")

    def _events(self, entries: Iterable[Entry]) -> Iterator[BuildEvent]:
        """Yield the builds. One that has ended after all comes once, without the entry of its beginning."""
        ended = set()
        for event in self._read("a build", entries, read_build):
            began = event.process, event.thread, event.time
            if event.has_ended or began not in ended:
                ended.add(began)
                yield event

    def _read(self, what: str, places: Iterable[_Place], read: Callable[[_Place], _Content]) -> Iterator[_Content]:
        """Yield the content of each file or entry; one that cannot be read is missing."""
        for place in places:
            try:
                content = read(place)
            except (KernlensError, OSError) as error:
                self._captured.missing.append(f"{what}: {error}")
                continue
            yield content

    def _add(self, event: BuildEvent, results: Sequence[SecondBuildResult]) -> None:
        """Write a Build for each device, and one for each module that was linked statically."""
        name = f"program-{self._captured.builds}"
        self._note(event, name)
        earlier = [self._programs[program] for program in event.inputs if program in self._programs]
        has_source = event.source is not None or any(program.has_source for program in earlier)
        inputs = {"inputs": [program.number for program in earlier]} if earlier else {}
        for device, result in zip(event.devices or [BuiltDevice(0)], results, strict=True):
            device_name, kernels = self._kernels_of.read(name, event, device)
            build = build_of(event, device, name, device_name, self._input_names(event))
            self._stood_in.compare(build, event.program)
            build, same_code = self._second_builds.add(build, result, self._kernels_of.snapshots(device))
            compiled = None
            if self._observed is not None:
                build, compiled = self._observed.add(event, build, kernels)
            number = self._writer.add(build)
            if compiled is not None:
                build, number_of_kernels = compiled, self._writer.add(compiled)
                kernels = [kernel.name for program in open_build(compiled) for kernel in program.kernels]
            else:
                number_of_kernels = number
            replaced = {} if event.static_inputs else self._stood_in.used(event.program)
            self._calls.append({"program": number, **noted_call(event), **replaced, **inputs})
            if event.program is not None and build.ok and event.operation != "compile":
                recorded = {
                    kernel: CapturedKernel(
                        kernel,
                        build.name,
                        build.device,
                        number_of_kernels,
                        same_code=same_code.get(kernel),
                        from_source=has_source,
                        options=build.own_options or "",
                        recorded=self._recorded,
                    )
                    for kernel in kernels
                }
                self._good_builds[event.program, device.handle] = _GoodBuild(build.name, build.device, recorded)
        for source, build in static_inputs(event, name, device_name):
            replaced = self._stood_in.used(event.program, build.spirv)
            constants = noted_constants(constants_of(source))
            number_of_input = self._writer.add(build)
            self._calls.append(
                {"program": number_of_input, **noted_call(event), "operation": "input", **constants, **replaced}
            )
        if event.program is not None:
            before = self._programs.get(event.program)
            self._programs[event.program] = _Program(name, number, has_source or bool(before and before.has_source))

    def _note(self, event: BuildEvent, name: str) -> None:
        """Count what the sentences on the capture are made from."""
        if not event.has_ended or event.status != 0 or not all(device.built for device in event.devices):
            self._captured.failed += 1
            if event.program is not None:
                logs = (device.log for device in event.devices if not device.built)
                self._failures[event.program] = next(logs, event.log)
        if not event.has_ended:
            self._unended.append(name)
        self._changed_options += event.got_more_options
        has_text = event.source is not None or event.spirv or event.static_inputs or self._stood_in.used(event.program)
        binaries = {
            build_hash(device.binary) or sha256(device.binary).digest() for device in event.devices if device.binary
        }
        if event.operation in ("build", "module") and not has_text:
            self._captured.from_binary += 1
            self._captured.own_binaries += bool(binaries) and binaries <= self._own_binaries
        elif has_text or (event.inputs and all(self._has_source(program) for program in event.inputs)):
            self._own_binaries |= binaries

    def _has_source(self, program: Identity) -> bool:
        return program in self._programs and self._programs[program].has_source

    def _input_names(self, event: BuildEvent) -> list[str]:
        known = self._programs
        return [known[program].name if program in known else "a program that is not known" for program in event.inputs]

    def _count(self) -> None:
        """Give each kernel what was counted of it; kernels of binaries that cannot be read are known from their counters."""
        by_program: dict[Identity, list[int]] = defaultdict(list)
        for program, device in self._good_builds:
            by_program[program].append(device)
        unknown: dict[tuple[Identity, int, str], CapturedKernel] = {}
        timed: dict[int, tuple[CapturedKernel, list[Counter]]] = {}
        for counter in self._counters:
            devices = by_program[counter.program]
            device = counter.device if counter.device in devices or len(devices) != 1 else devices[0]
            key = counter.program, device
            build = self._good_builds.get(key) or _GoodBuild("", "", {})
            kernel = build.kernels.get(counter.kernel)
            if kernel is None:
                nameless = CapturedKernel(counter.kernel, build.name, build.device)
                kernel = unknown.setdefault((*key, counter.kernel), nameless)
            kernel.add(counter)
            timed.setdefault(id(kernel), (kernel, []))[1].append(counter)
        kernels = [kernel for build in self._good_builds.values() for kernel in build.kernels.values()]
        kernels += unknown.values()
        self._add_times(timed.values())
        self._captured.kernels = sorted(kernels, key=_importance)

    def _program_of(self, kept_file: KeptFile) -> int | None:
        """Return the number of the program that a launch was of; None if it is not known."""
        build = self._good_builds.get((kept_file.program, kept_file.device))
        kernel = build.kernels.get(kept_file.launch.kernel) if build is not None else None
        program = self._programs.get(kept_file.program)
        if kernel is not None and kernel.number and self._observed is None:
            return kernel.number
        return program.number if program is not None else None

    def _add_times(self, counters: Iterable[tuple[CapturedKernel, list[Counter]]]) -> None:
        """Give kernels the device's time of their launches."""
        files = self._read("how long launches took", self._spool.files("times"), read_times)
        times: dict[CounterKey, list[int]] = defaultdict(list)
        for key, rows in chain.from_iterable(each.items() for each in files):
            times[key] += rows
        total = sum(counter.nanoseconds for counter in self._counters)
        for kernel, own in counters:
            if timed := [counter for counter in own if counter.timed]:
                rows = sorted(chain.from_iterable(times[counter.key] for counter in timed))
                spent = sum(counter.nanoseconds for counter in timed)
                kernel.time = DeviceTime(
                    launches=sum(counter.timed for counter in timed),
                    total_ns=spent,
                    median_ns=rows[len(rows) // 2] if rows else None,
                    share=spent / total if total else 0.0,
                    first_ns=max((each.first for each in timed if each.first is not None), default=None),
                    least_ns=min(counter.least for counter in timed),
                    most_ns=max(counter.most for counter in timed),
                )

    def _last_calls(self) -> dict[int, list[str]]:
        """Return the functions that processes were in when they ended, by the process."""
        functions: dict[int, dict[str, None]] = defaultdict(dict)
        files = self._read("what the driver was called for", self._spool.files("calls"), read_current_calls)
        for call in chain.from_iterable(files):
            if not is_alive(call.process):
                functions[call.process][call.function] = None
        return {process: list(names) for process, names in functions.items()}

    def _findings(self) -> Iterator[str]:
        """Yield the sentences for a person."""
        captured = self._captured
        for name in self._unended:
            yield (
                f"the application's process ended within the build of {name}, which may be the driver's fault; what it is"
                " made from is recorded"
            )
        for recording in captured.nested:
            yield f"what kernlens capture recorded that ran within this one is in {recording}, and not here"
        compared = [(kernel.name, kernel.same_code) for kernel in captured.kernels if kernel.same_code is not None]
        yield from self._second_builds.sentences(compared)
        yield from self._stood_in.sentences(self._failures)
        yield from self._changes.unused_options(self._changed_options)
        if self._observed is not None:
            yield from self._observed.sentences()

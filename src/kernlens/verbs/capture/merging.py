"""The way from a spool to a recording: a Build for each build and device, and the launches of each kernel."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.formats.ptx.ptx_text import is_ptx
from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.devices import known_device
from kernlens.loading import open_build
from kernlens.model.build import (
    BUILT_IN,
    CONNECTED,
    LINKED_AT_ONCE,
    Build,
    BuildToolchain,
    HeldParts,
    Source,
    outcome_told,
)
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import NVIDIA, held
from kernlens.recording.capture_notes import CAPTURE
from kernlens.runtime.level_zero.result_codes import result_name
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.toolchain.cached_code import CachedCode
from kernlens.verbs.capture.captured import Captured, CapturedKernel, RecordedKernels
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.replacing import StoodIn
from kernlens.verbs.capture.second_builds import Findings, SecondBuildPlan, SecondBuildResult, second_builds
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice, Given, Spool, read_build, read_replaced
from kernlens.verbs.capture.spooled import Entry, Identity, read_counters, read_entries

if TYPE_CHECKING:
    from kernlens.recording.writer import RecordingWriter

_Place = TypeVar("_Place")
_Content = TypeVar("_Content")
#: Is called with the number of builds that are in the recording, and that of all.
Progress = Callable[[int, int], None]


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
        """Return kernlens's name of a device that there is no binary for; the driver's name if nothing tells that."""
        if device.ip and (known := known_device(str(device.ip))) is not None:
            return known.name
        if self._simulated is not None and (interface != "opencl" or "Graphics" in device.platform):
            return self._simulated
        return self._devices.get(device.name, device.name)

    def snapshots(self, device: BuiltDevice) -> tuple[Snapshot, ...]:
        """Return PTX, where that is a program's binary, and the machine code that the driver keeps of it in its cache."""
        if not device.built or not is_ptx(device.binary):
            return ()
        text = held(NVIDIA.stage("ptx"), device.binary.rstrip(b"\0"), TEXT)
        code = self._cached.code_of(device.binary)
        return (text,) if code is None else (text, held(NVIDIA.stage("sass"), code, BINARY))

    def _read(self, name: str, build: BuildEvent, device: BuiltDevice) -> tuple[str, Sequence[str]]:
        snapshots = self.snapshots(device)
        parts = HeldParts(binary=device.binary, debug=device.debug, spirv=build.spirv, snapshots=snapshots)
        try:
            programs = open_build(Build(name=name, device=device.name, ok=True, parts=parts))
        except KernlensError as error:
            log.debug("verbs", "%s for %s holds no code that can be read: %s", name, device.name, error)
            return device.name, ()
        device_name = next((program.device.name for program in programs if program.device is not None), device.name)
        return device_name, [name for program in programs for name in program.kernels]


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
    ) -> None:
        self._spool = spool
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

    def run(self, on_progress: Progress | None = None) -> Captured:
        """Write the recording, and return what the capture has brought. Raises OutputError if it cannot be written."""
        captured = self._captured
        entries = sorted(self._entries(), key=lambda entry: (not entry.has_ended, entry.time))
        for event, results in second_builds(self._events(entries), self._plan):
            captured.builds += 1
            self._add(event, results or [SecondBuildResult()])
            if on_progress is not None:
                on_progress(captured.builds, len(entries))
        self._count()
        names = [kernel.name for kernel in captured.kernels]
        hashes = [str(call["sha256"]) for call in self._calls if call["sha256"]]
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
            build = _build(event, device, name, device_name, self._input_names(event))
            self._stood_in.compare(build, event.program)
            build, same_code = self._second_builds.add(build, result)
            if cached := self._kernels_of.snapshots(device):
                build = build.with_parts(snapshots=(*build.snapshots, *cached))
            number = self._writer.add(build)
            replaced = {} if event.static_inputs else self._stood_in.used(event.program)
            self._calls.append({"program": number, **_call(event), **replaced, **inputs})
            if event.program is not None and build.ok and event.operation != "compile":
                recorded = {
                    kernel: CapturedKernel(
                        kernel,
                        build.name,
                        build.device,
                        number,
                        same_code=same_code.get(kernel),
                        from_source=has_source,
                        recorded=self._recorded,
                    )
                    for kernel in kernels
                }
                self._good_builds[event.program, device.handle] = _GoodBuild(build.name, build.device, recorded)
        for source, build in _static_inputs(event, name, device_name):
            replaced = self._stood_in.used(event.program, build.spirv)
            constants = _noted_constants(_constants(source))
            number_of_input = self._writer.add(build)
            self._calls.append(
                {"program": number_of_input, **_call(event), "operation": "input", **constants, **replaced}
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
        self._captured.from_binary += event.operation in ("build", "module") and not has_text

    def _input_names(self, event: BuildEvent) -> list[str]:
        known = self._programs
        return [known[program].name if program in known else "a program that is not known" for program in event.inputs]

    def _count(self) -> None:
        """Give each kernel what was counted of it; kernels of binaries that cannot be read are known from their counters."""
        by_program: dict[Identity, list[int]] = defaultdict(list)
        for program, device in self._good_builds:
            by_program[program].append(device)
        unknown: dict[tuple[Identity, int, str], CapturedKernel] = {}
        files = self._read("how often kernels were launched", self._spool.files("counters"), read_counters)
        for counter in chain.from_iterable(files):
            devices = by_program[counter.program]
            device = counter.device if counter.device in devices or len(devices) != 1 else devices[0]
            key = counter.program, device
            build = self._good_builds.get(key) or _GoodBuild("", "", {})
            kernel = build.kernels.get(counter.kernel)
            if kernel is None:
                nameless = CapturedKernel(counter.kernel, build.name, build.device)
                kernel = unknown.setdefault((*key, counter.kernel), nameless)
            kernel.add(counter)
        kernels = [kernel for build in self._good_builds.values() for kernel in build.kernels.values()]
        kernels += unknown.values()
        self._captured.kernels = sorted(kernels, key=lambda kernel: (-kernel.launches, -kernel.created, kernel.name))

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


def _build(event: BuildEvent, device: BuiltDevice, name: str, device_name: str, linked: Sequence[str]) -> Build:
    ok, reason = device.built and bool(device.binary), _reason(event, device, linked)
    sources = [Source("", event.source, "program")] if event.source is not None else []
    sources += [Source(path, text, "program") for path, text in event.headers]
    return Build(
        name=name,
        device=device_name,
        toolchain=_toolchain(event, device),
        options=_options(event),
        ok=ok,
        reason=reason,
        without_binary="" if ok else outcome_told(reason or ""),
        seconds=event.duration / 1e9,
        created=_created(event),
        parts=HeldParts(
            log=device.log or event.log,
            binary=device.binary,
            debug=device.debug,
            spirv=event.spirv,
            sources=tuple(sources),
        ),
    )


def _static_inputs(event: BuildEvent, name: str, device_name: str) -> Iterator[tuple[Given, Build]]:
    """Yield what was compiled and linked in one call: each is in the recording, though it has no binary of its own."""
    for number, linked in enumerate(event.static_inputs, 1):
        device = event.devices[0] if event.devices else BuiltDevice(0)
        build = Build(
            name=f"{name}-input-{number}",
            device=device_name,
            toolchain=_toolchain(event, device),
            options=linked.options.strip(),
            ok=False,
            reason=f"{LINKED_AT_ONCE}: {'the binary is that of' if device.built else 'why that failed is told of'} {name}",
            without_binary=outcome_told(LINKED_AT_ONCE),
            created=_created(event),
            parts=HeldParts(spirv=linked.spirv) if is_spirv(linked.spirv) else HeldParts(binary=linked.spirv),
        )
        yield linked, build


def _toolchain(event: BuildEvent, device: BuiltDevice) -> BuildToolchain | None:
    return BuildToolchain(f"{event.interface} driver {device.driver_version}") if device.driver_version else None


def _created(event: BuildEvent) -> str:
    return datetime.fromtimestamp(event.time / 1e9, UTC).isoformat(timespec="milliseconds")


def _options(event: BuildEvent) -> str:
    if event.operation == "built-in kernels":
        return ""
    return event.options or " ".join(
        dict.fromkeys(filter(None, (each.options.strip() for each in event.static_inputs)))
    )


def _reason(event: BuildEvent, device: BuiltDevice, linked: Sequence[str]) -> str | None:
    if not event.has_ended:
        return f"the application's process ended within this {event.operation}"
    if event.operation == "built-in kernels":
        return f"{BUILT_IN}: {event.options}"
    if event.status != 0:
        status = event.status
        name = result_name(status) if event.interface == "level-zero" else ERROR_NAMES.get(status, str(status))
        return f"the application's {event.operation} failed with {name}{_refusal(device)}"
    if event.operation == "dynamic link":
        return f"{CONNECTED}: it connects {', '.join(linked)}"
    if not device.built:
        return f"the application's {event.operation} failed for this device"
    return None if device.binary else "the driver gave no binary"


def _refusal(device: BuiltDevice) -> str:
    """Return why the driver does not load what it compiled, as far as the binary tells; "" for other failures."""
    if not device.refused:
        return ""
    try:
        programs = open_build(Build(name="", device=device.name, parts=HeldParts(binary=device.refused)))
        answers = [kernel.launch_limits.opencl for each in programs for kernel in each.kernels.values()]
    except KernlensError as error:
        log.debug("verbs", "the binary that the driver of %s refuses cannot be read: %s", device.name, error)
        return ""
    return next((f": {answer.reason}" for answer in answers if answer.is_of_program), "")


def _call(event: BuildEvent) -> dict[str, object]:
    return {
        "operation": event.operation,
        "interface": event.interface,
        "process": event.process,
        "thread": event.thread,
        "sha256": event.hash or None,
        **_noted_constants(_constants(event)),
    }


def _noted_constants(constants: Mapping[int, int]) -> dict[str, object]:
    return {"constants": {str(number): f"{bits:#x}" for number, bits in constants.items()}} if constants else {}


def _constants(source: Given) -> dict[int, int]:
    """Return the bits of the specialization constants that the module has, by number."""
    known = source.known_constants()
    return {number: bits & (1 << known[number].width) - 1 for number, bits in source.constants if number in known}

"""What was spooled to a recording: a Build for each build and device, and how often each kernel was launched."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.loading import open_build
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.recording.captured import CAPTURE
from kernlens.runtime.level_zero.result_codes import result_name
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.verbs.capture.building_again import BuildingAgain, BuiltAgain, Findings, built_again
from kernlens.verbs.capture.captured import Captured, CapturedKernel, RecordedKernels
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.counters import Identity, read_counters
from kernlens.verbs.capture.nested import nested_recordings
from kernlens.verbs.capture.replacing import StoodIn
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice, Given, Spool, read_build, read_replaced
from kernlens.verbs.capture.spooled import Entry, read_entries

if TYPE_CHECKING:
    from kernlens.recording.writer import RecordingWriter

_Place = TypeVar("_Place")
_Content = TypeVar("_Content")
#: Is called with the number of builds that are in the recording, and that of all.
Progress = Callable[[int, int], None]

#: The kernels of the last good build of each program and device (its handle), by name.
Built = dict[tuple[Identity, int], dict[str, CapturedKernel]]


class _KernelsOfBinaries:
    """The kernels of each binary that was met: applications make many programs of one binary."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes, str], tuple[str, Sequence[str]]] = {}

    def read(self, name: str, build: BuildEvent, device: BuiltDevice) -> tuple[str, Sequence[str]]:
        """kernlens's name of the device, and the kernels of the program ``name``; none if the binary cannot be read."""
        if not device.built or not device.binary:
            return device.name, ()
        key = sha256(device.binary).digest(), sha256(build.spirv).digest(), device.name
        if key not in self._known:
            self._known[key] = self._read(name, build, device)
        return self._known[key]

    @staticmethod
    def _read(name: str, build: BuildEvent, device: BuiltDevice) -> tuple[str, Sequence[str]]:
        parts = HeldParts(binary=device.binary, debug=device.debug, spirv=build.spirv)
        try:
            programs = open_build(Build(name=name, device=device.name, ok=True, parts=parts))
        except KernlensError as error:
            log.debug("verbs", "%s for %s holds no code that can be read: %s", name, device.name, error)
            return device.name, ()
        device_name = next((program.device.name for program in programs if program.device is not None), device.name)
        return device_name, [name for program in programs for name in program.kernels]


def merge(
    spool: Spool,
    writer: RecordingWriter,
    again: BuildingAgain,
    changes: Changes,
    on_progress: Progress | None = None,
) -> Captured:
    """Write all that was spooled into the recording, with what building again yields. Raises OutputError if it cannot be
    written."""
    changed_options = 0
    failures: dict[Identity, str] = {}
    findings = Findings()
    unended: list[str] = []
    captured = Captured(spool.was_entered, nested_recordings(spool), missing=spool.missing())
    replaced = _read(captured, "what was replaced", spool.replacement_files(), read_replaced)
    stood_in = StoodIn(changes.replacements, replaced)
    built: Built = {}
    names_of_build: dict[tuple[Identity, int], tuple[str, str]] = {}
    recorded = RecordedKernels(writer.path)
    names: dict[Identity, str] = {}
    numbers: dict[Identity, int] = {}
    sources: set[Identity] = set()  # Programs that the compiler was given source for.
    calls = []
    kernels_of = _KernelsOfBinaries()
    entries = sorted(_entries(spool, captured), key=lambda entry: (not entry.has_ended, entry.time))
    for event, results in built_again(_events(entries, captured), again):
        captured.builds += 1
        if not event.has_ended or event.status != 0 or not all(device.built for device in event.devices):
            captured.failed += 1
            if event.program is not None:
                failures[event.program] = next((each.log for each in event.devices if not each.built), event.log)
        changed_options += event.got_more_options
        made_from = event.source is not None or event.spirv or event.static_inputs or stood_in.used(event.program)
        captured.from_binary += event.operation in ("build", "module") and not made_from
        from_source = event.source is not None or not sources.isdisjoint(event.inputs)
        if event.program is not None and from_source:
            sources.add(event.program)
        name = f"program-{captured.builds}"
        if not event.has_ended:
            unended.append(name)
        linked = [names.get(program, "a program that is not known") for program in event.inputs]
        device_name = ""
        for device, result in zip(event.devices or [BuiltDevice(0)], results or [BuiltAgain()], strict=True):
            device_name, kernels = kernels_of.read(name, event, device)
            build = _build(event, device, name, device_name, linked)
            stood_in.compare(build, event.program)
            build, same_code = findings.add(build, result)
            number = writer.add(build)
            noted = {} if event.static_inputs else stood_in.used(event.program)
            inputs = [numbers[program] for program in event.inputs if program in numbers]
            calls.append({"program": number, **_call(event), **noted, **({"inputs": inputs} if inputs else {})})
            if event.program is not None and build.ok and event.operation != "compile":
                names_of_build[event.program, device.handle] = build.name, build.device
                built[event.program, device.handle] = {
                    kernel: CapturedKernel(
                        kernel,
                        build.name,
                        build.device,
                        number,
                        same_code=same_code.get(kernel),
                        from_source=from_source,
                        recorded=recorded,
                    )
                    for kernel in kernels
                }
        for given, build in _static_inputs(event, name, device_name):
            noted = stood_in.used(event.program, build.spirv)
            constants = _noted_constants(_constants(given))
            calls.append({"program": writer.add(build), **_call(event), "operation": "input", **constants, **noted})
        if event.program is not None:
            names[event.program], numbers[event.program] = name, number
        if on_progress is not None:
            on_progress(captured.builds, len(entries))
    _count(spool, captured, built, names_of_build)
    compared = [(kernel.name, kernel.same_code) for kernel in captured.kernels if kernel.same_code is not None]
    kernel_names = [kernel.name for kernel in captured.kernels]
    captured.findings = [
        f"the application's process ended within the build of {name}, which may be the driver's fault; what it is made from is"
        " recorded"
        for name in unended
    ]
    captured.findings += [
        f"what kernlens capture recorded that ran within this one is in {recording}, and not here"
        for recording in captured.nested
    ]
    captured.findings += findings.sentences(compared)
    captured.findings += stood_in.sentences(kernel_names, captured.builds, failures)
    captured.findings += changes.unused_options(changed_options)
    writer.note(CAPTURE, json.dumps({"builds": calls, "kernels": [_used(kernel) for kernel in captured.kernels]}))
    return captured


def _entries(spool: Spool, captured: Captured) -> Iterator[Entry]:
    """All builds' entries; of a damaged file those before the damage."""
    for path in spool.build_files():
        try:
            yield from read_entries(path)
        except (KernlensError, OSError) as error:
            captured.missing.append(f"builds: {error}")


def _events(entries: Iterable[Entry], captured: Captured) -> Iterator[BuildEvent]:
    """The builds; of those that have ended after all, no second time what they began with."""
    ended = set()
    for event in _read(captured, "a build", entries, read_build):
        began = event.process, event.thread, event.time
        if event.has_ended or began not in ended:
            ended.add(began)
            yield event


def _read(
    captured: Captured, what: str, places: Iterable[_Place], read: Callable[[_Place], _Content]
) -> Iterator[_Content]:
    """What each file or entry holds; one that cannot be read is missing."""
    for place in places:
        try:
            content = read(place)
        except (KernlensError, OSError) as error:
            captured.missing.append(f"{what}: {error}")
            continue
        yield content


def _build(event: BuildEvent, device: BuiltDevice, name: str, device_name: str, linked: Sequence[str]) -> Build:
    sources = [Source("", event.source, "program")] if event.source is not None else []
    sources += [Source(path, text, "program") for path, text in event.headers]
    return Build(
        name=name,
        device=device_name,
        toolchain=_toolchain(event, device),
        options=_options(event),
        ok=device.built and bool(device.binary),
        reason=_reason(event, device, linked),
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
    """What was compiled and linked in one call: each is in the recording, though it has no binary of its own."""
    for number, linked in enumerate(event.static_inputs, 1):
        device = event.devices[0] if event.devices else BuiltDevice(0)
        build = Build(
            name=f"{name}-input-{number}",
            device=device_name,
            toolchain=_toolchain(event, device),
            options=linked.options.strip(),
            ok=False,
            reason=f"it was compiled and linked in one call: the binary is that of {name}",
            created=_created(event),
            parts=HeldParts(spirv=linked.spirv),
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
        return f"the program consists of kernels that the device has built in: {event.options}"
    if event.status != 0:
        status = event.status
        name = result_name(status) if event.interface == "level-zero" else ERROR_NAMES.get(status, str(status))
        return f"the application's {event.operation} failed with {name}"
    if event.operation == "dynamic link":
        return f"a dynamic link makes no binary: it connects {', '.join(linked)}"
    if not device.built:
        return f"the application's {event.operation} failed for this device"
    return None if device.binary else "the driver gave no binary"


def _count(spool: Spool, captured: Captured, built: Built, builds: dict[tuple[Identity, int], tuple[str, str]]) -> None:
    """Give each kernel what was counted of it; kernels of binaries that cannot be read are known from their counters.
    ``builds`` are the names of builds and their devices."""
    by_program: dict[Identity, list[int]] = defaultdict(list)
    for program, device in built:
        by_program[program].append(device)
    unknown: dict[tuple[Identity, int, str], CapturedKernel] = {}
    files = _read(captured, "how often kernels were launched", spool.counter_files(), read_counters)
    for counter in chain.from_iterable(files):
        devices = by_program[counter.program]
        device = counter.device if counter.device in devices or len(devices) != 1 else devices[0]
        key = counter.program, device
        kernel = built.get(key, {}).get(counter.kernel)
        if kernel is None:
            kernel = unknown.setdefault(
                (*key, counter.kernel), CapturedKernel(counter.kernel, *builds.get(key, ("", "")))
            )
        kernel.add(counter)
    kernels_of_all = [kernel for kernels in built.values() for kernel in kernels.values()] + list(unknown.values())
    captured.kernels = sorted(kernels_of_all, key=lambda kernel: (-kernel.launches, -kernel.created, kernel.name))


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


def _constants(made: Given) -> dict[int, int]:
    """The bits of the specialization constants that the module has, by number."""
    known = made.known_constants()
    return {number: bits & (1 << known[number].width) - 1 for number, bits in made.constants if number in known}


def _used(kernel: CapturedKernel) -> dict[str, object]:
    return {
        "name": kernel.name,
        "program": kernel.build,
        "device": kernel.device,
        "created": kernel.created,
        "launches": kernel.launches,
        "shapes": kernel.shape_documents,
    }

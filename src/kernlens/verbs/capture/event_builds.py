"""A Build of what a call built, and what a recording notes of the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.loading import open_build
from kernlens.model.build import (
    BUILT_IN,
    CONNECTED,
    LINKED_AT_ONCE,
    NOT_ASKED,
    NOT_GIVEN,
    Build,
    BuildToolchain,
    HeldParts,
    Source,
    outcome_told,
)
from kernlens.model.level_zero_results import result_name
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice, Given


def build_of(event: BuildEvent, device: BuiltDevice, name: str, device_name: str, linked: Sequence[str]) -> Build:
    """Return the Build of an event for one device; ``linked`` are the names of what was linked."""
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


def static_inputs(event: BuildEvent, name: str, device_name: str) -> Iterator[tuple[Given, Build]]:
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
    if device.unasked:
        return f"{NOT_ASKED}: PoCL may end a process that asks, and one that kernlens started came to none ({device.unasked})"
    return None if device.binary else NOT_GIVEN


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


def noted_call(event: BuildEvent) -> dict[str, object]:
    """Return what a recording notes of the call."""
    return {
        "operation": event.operation,
        "interface": event.interface,
        "process": event.process,
        "thread": event.thread,
        "sha256": event.hash or None,
        **noted_constants(constants_of(event)),
    }


def noted_constants(constants: Mapping[int, int]) -> dict[str, object]:
    """Return what a recording notes of specialization constants."""
    return {"constants": {str(number): f"{bits:#x}" for number, bits in constants.items()}} if constants else {}


def constants_of(source: Given) -> dict[int, int]:
    """Return the bits of the specialization constants that the module has, by number."""
    known = source.known_constants()
    return {number: bits & (1 << known[number].width) - 1 for number, bits in source.constants if number in known}

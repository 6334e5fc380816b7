"""Build a program with an OpenCL platform's own compiler in a child process that is told to keep its stages.

Drivers read the variables that make them do so when they are loaded, so the process that wants the stages cannot be
the one that has the driver open already.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.stage import Snapshot
from kernlens.runtime.answers import build_of
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import TIME_LIMIT, DriverDiedError, IsolatedDriver
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.toolchain.includes import existing_source

__all__ = ["DriverDiedError", "SecondBuild", "interpreter", "second_build", "source_text"]

#: CL_BUILD_PROGRAM_FAILURE: the source's fault; any other code is the driver's or the caller's.
_BUILD_FAILURE = -11


@dataclass(frozen=True, slots=True)
class SecondBuild:
    """What to build: ``text`` (OpenCL C) or ``spirv``, for the ``position``-th device of the platform of that name.

    ``variables`` are added to this process's environment. Relative ``-I`` start at ``folder`` (None: the working folder).
    ``loader`` is the OpenCL loader to use, a path (None: the system's).
    """

    platform: str
    options: str
    text: str | None = field(default=None, repr=False)
    spirv: bytes | None = field(default=None, repr=False)
    position: int = 0
    variables: Mapping[str, str | None] = field(default_factory=dict)
    folder: Path | None = None
    source: str = "program"
    device: str = ""
    loader: str | None = None


def second_build(build: SecondBuild, dumps: Mapping[str, str], time_limit: float = TIME_LIMIT) -> tuple[Build, int]:
    """Build it with the variables ``dumps`` set; returns the Build, and when it was started (nanoseconds since the epoch).

    A program that does not build gives a Build that is not ``ok``. Raises NotFoundError without such a platform or
    device, DriverDiedError if the driver took its process down, OpenCLError for other refusals of the driver.
    """
    environment = DriverEnvironment(
        build.device or build.platform,
        {**build.variables, **dumps},
        interpreter(),
        folder=build.folder or Path.cwd(),
    )
    clock = time.monotonic()
    started = time.time_ns()
    with IsolatedDriver(environment, time_limit=time_limit) as driver:
        try:
            answer = driver.request(
                "opencl-second-build",
                "build",
                input=build.source,
                platform=build.platform,
                position=build.position,
                options=build.options,
                text=build.text,
                spirv=build.spirv,
                loader=build.loader,
            )
        except OpenCLError as error:
            if error.code != _BUILD_FAILURE:
                raise
            failed = Build(build.device, build.device, ok=False, reason=str(error), parts=HeldParts(log=error.log))
            return _build(build, dumps, failed, time.monotonic() - clock), started
    return _build(build, dumps, build_of(answer), time.monotonic() - clock), started


def _build(wanted: SecondBuild, dumps: Mapping[str, str], done: Build, seconds: float) -> Build:
    """What the driver's process answered, with all that is known here."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in dumps.items()]
    return replace(
        done,
        name=Path(wanted.source).stem,
        options=wanted.options,
        command=" ".join([*settings, f"clBuildProgram({shlex.quote(wanted.options)}) on {wanted.platform}"]),
        seconds=seconds,
        path=wanted.source,
        parts=HeldParts(
            log=done.log,
            binary=done.binary,
            spirv=wanted.spirv or b"",
            sources=(Source(wanted.source, wanted.text),) if wanted.text is not None else (),
        ),
    )


def with_snapshots(build: Build, snapshots: tuple[Snapshot, ...]) -> HeldParts:
    """The build's parts and these snapshots."""
    parts = build.parts
    return HeldParts(parts.log, parts.binary, parts.debug, parts.spirv, parts.sources, snapshots)


def interpreter() -> tuple[str, ...]:
    """The command that starts Python as this process was started: with a toolchain root's driver that is through the
    root's own dynamic loader."""
    try:
        program = os.path.basename(os.readlink("/proc/self/exe"))
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return (sys.executable,)
    if not program.startswith("ld-linux"):
        return (sys.executable,)
    before = words[: len(words) - len(sys.orig_argv)]
    return (*(os.fsdecode(word) for word in before), sys.executable)


def source_text(source: str | Path) -> str:
    """The text of a source file, undecodable bytes replaced. Raises NotFoundError if it is not there."""
    return existing_source(source).read_text("utf-8", "replace")

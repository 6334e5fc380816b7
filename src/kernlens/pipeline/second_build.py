"""The second build of an OpenCL program or a Level Zero module, in a child process whose compiler keeps its stages.

A driver reads the variables for that when it is loaded, so a process that has the driver open already cannot do it.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import ToolError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import LEVEL_ZERO, OPENCL, TIME_LIMIT, IsolatedDriver
from kernlens.runtime.level_zero.result_codes import LevelZeroError
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.worker_answers import build_of
from kernlens.toolchain.confinement import Children, confined_driver, confinement
from kernlens.toolchain.sources.includes import existing_source
from kernlens.toolchain.sources.source_reading import read_named

#: CL_BUILD_PROGRAM_FAILURE, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE and ..._LINK_FAILURE: what is built is at fault; with any
#: other code the driver or the caller is.
_BUILD_FAILURES = (-11, 0x70000004, 0x70000005)


@dataclass(frozen=True, slots=True)
class SecondBuild:
    """The second build to do: ``text`` (OpenCL C) or ``spirv``, for the ``position``-th device of the platform of that
    name; ``device_name`` says which of its devices count ("": all). ``constants`` are the module's specialization
    constants: number, bits and bytes of each. ``parts`` are linked instead: each a mapping with ``text`` or ``spirv``,
    ``options``, ``constants`` and ``headers`` (names and texts), or with ``binary``.

    With ``modules`` Level Zero builds, for the first device called ``device_name``: one module, or several in one call that
    are ``linked``. Each is a mapping with ``spirv``, ``flags`` and ``constants`` (number and bits of each).

    ``variables`` are added to this process's environment. Relative ``-I`` start at ``folder`` (None: the working folder).
    ``loader`` is the path of the OpenCL loader to use (None: the system's), ``python`` the command that starts Python beside
    the driver (empty: as this process was started). ``children`` can end it from another thread.
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
    device_name: str = ""
    parts: Sequence[Mapping[str, Any]] = ()
    constants: Sequence[tuple[int, int, int]] = ()
    modules: Sequence[Mapping[str, Any]] = ()
    linked: bool = False
    python: tuple[str, ...] = ()
    children: Children | None = field(default=None, repr=False, compare=False)

    @property
    def request(self) -> tuple[str, dict[str, Any]]:
        """The request to a worker for it: the interface that answers ``build``, and the arguments of that."""
        if self.modules:
            of_modules = {"device_name": self.device_name, "modules": self.modules, "linked": self.linked}
            return LEVEL_ZERO, of_modules
        names = ("platform", "position", "options", "text", "spirv", "loader", "device_name", "parts", "constants")
        return OPENCL, {name: getattr(self, name) for name in names}

    @property
    def call(self) -> str:
        """The driver's call, for a person."""
        if self.modules:
            return f"zeModuleCreate({shlex.quote(self.options)}) on {self.device_name}"
        return f"clBuildProgram({shlex.quote(self.options)}) on {self.platform}"


def second_build(build: SecondBuild, dumps: Mapping[str, str]) -> tuple[Build, int]:
    """Do ``build`` with the variables ``dumps`` set; returns the Build and its start (nanoseconds since the epoch). A
    program that does not build gives a Build that is not ``ok``. Raises NotFoundError if there is no such platform or
    device, DriverDiedError if the driver took its process down, OpenCLError or LevelZeroError if the driver refuses for
    another reason."""
    environment = confined_driver(
        DriverEnvironment(
            build.device or build.platform,
            {**build.variables, **dumps},
            build.python or interpreter(),
            folder=build.folder or Path.cwd(),
        )
    )
    clock = time.monotonic()
    start_time = time.time_ns()
    with IsolatedDriver(environment, time_limit=TIME_LIMIT) as driver:
        if build.children is not None:
            build.children.add(driver)
        try:
            api, arguments = build.request
            answer = driver.request(api, "build", input=build.source, **arguments)
        except (OpenCLError, LevelZeroError) as error:
            if error.code not in _BUILD_FAILURES:
                raise
            failed = Build(build.device, build.device, ok=False, reason=str(error), parts=HeldParts(log=error.log))
            return _build(build, dumps, failed, time.monotonic() - clock), start_time
        finally:
            if build.children is not None:
                build.children.remove(driver)
    confined = confinement()
    trap = None if confined is None else confined.trap()
    if trap is not None:
        raise ToolError(f"the driver of {build.platform} {trap} so kernlens discards its output")
    return _build(build, dumps, build_of(answer), time.monotonic() - clock), start_time


def _build(asked: SecondBuild, dumps: Mapping[str, str], answer: Build, seconds: float) -> Build:
    """Return the driver's ``answer`` with what was ``asked`` of it."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in dumps.items()]
    return replace(
        answer,
        name=Path(asked.source).stem,
        options=asked.options,
        command=" ".join([*settings, asked.call]),
        seconds=seconds,
        path=asked.source,
        parts=HeldParts(
            log=answer.log,
            binary=answer.binary,
            spirv=asked.spirv or b"",
            sources=(Source(asked.source, asked.text),) if asked.text is not None else (),
        ),
    )


def interpreter() -> tuple[str, ...]:
    """Return the command that starts Python as this process was started. In a process with a toolchain root's driver,
    that is through the root's dynamic loader."""
    try:
        program = os.path.basename(os.readlink("/proc/self/exe"))
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return (sys.executable,)
    if not program.startswith("ld-linux"):
        return (sys.executable,)
    loader_words = words[: len(words) - len(sys.orig_argv)]
    return (*(os.fsdecode(word) for word in loader_words), sys.executable)


def source_text(source: str | Path) -> str:
    """Read a source file, with undecodable bytes replaced. Raises NotFoundError if there is none."""
    return read_named(existing_source(source)).decode("utf-8", "replace")

"""The stages of a live OpenCL program: their list, and each of them from the driver or from a second build."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, ToolError, UnsupportedError
from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf
from kernlens.model.binary import c_text
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, TEXT, Snapshot, choose
from kernlens.model.stages import (
    COMPILERS,
    FROM_BINARY,
    FROM_CACHE,
    FROM_SOURCE,
    FROM_SPIRV,
    NVIDIA,
    OTHER,
    POCL,
    CompilerKind,
    Stage,
    held,
)
from kernlens.pipeline import igc
from kernlens.pipeline.compilers import SECOND_BUILDS
from kernlens.pipeline.igc_dump import stands_in
from kernlens.pipeline.own_build import ApplicationBuild, keeping
from kernlens.pipeline.second_build import SecondBuild
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.opencl_library import OpenCL
from kernlens.runtime.opencl.program_building import OpenCLDevice, opencl_devices
from kernlens.runtime.opencl.program_queries import (
    CL_PROGRAM_IL,
    CL_PROGRAM_SOURCE,
    CUDA_PLATFORM,
    INTEL_GPU_PLATFORMS,
    program_binaries,
    program_devices,
)
from kernlens.toolchain.driver_stages import IN_BINARIES, stages_in_binary

CL_PROGRAM_BUILD_STATUS = 0x1181
CL_PROGRAM_BUILD_OPTIONS = 0x1182
_BUILD_NONE = -1


@dataclass(frozen=True)
class LiveProgram:
    """A program and one of its devices. ``text`` or ``spirv`` is what the program was made from; both are None if it
    was made from a binary. ``position`` is the device's number among those of the platforms with its platform's
    name."""

    library: OpenCL
    handle: int
    device: OpenCLDevice
    position: int
    text: str | None
    spirv: bytes | None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The program's stages in pipeline order. ``source`` is missing if there is no text, everything before
        ``program`` if the program was created from a binary."""
        compiler = self._compiler
        if self.text is None and self.spirv is None:
            of_binary = (FROM_BINARY, FROM_CACHE) if compiler in (NVIDIA, *IN_BINARIES.values()) else ()
            return tuple(each for each in compiler.stages if each.name == "program" or each.origin in of_binary)
        without = FROM_SOURCE if self.text is None else FROM_SPIRV if compiler == OTHER else None
        return tuple(stage for stage in compiler.stages if stage.origin != without)

    @property
    def _compiler(self) -> CompilerKind:
        platform = self.device.platform
        if platform == CUDA_PLATFORM:
            return NVIDIA
        if platform in IN_BINARIES:
            return IN_BINARIES[platform]
        if platform in INTEL_GPU_PLATFORMS:
            return igc.compiler_of_driver(self.device.driver_version)
        return next((compiler for compiler in COMPILERS if compiler.platform == platform), OTHER)

    @property
    def is_built(self) -> bool:
        """True if the program was compiled or built for the device, successfully or not."""
        status = self._build_info(CL_PROGRAM_BUILD_STATUS, "CL_PROGRAM_BUILD_STATUS")
        return int.from_bytes(status, "little", signed=True) != _BUILD_NONE

    def snapshots(self, stage: str, form: str | None, options: str) -> tuple[Snapshot, ...]:
        """Return the snapshots of one stage of a built program: one, or one per kernel. ``form`` None: the default.
        ``options`` is what the program was built with, as far as the caller knows; most drivers know better. Raises
        ToolError, UnsupportedError, NotFoundError or OutputError if they cannot be made, DriverDiedError if the second
        build kills the driver."""
        asked = next(each for each in self.stages if each.name == stage)
        chosen = asked.form(form)
        if stage == "source" and self.text is not None:
            return (held(asked, self.text.encode(), TEXT),)
        if self.device.platform in INTEL_GPU_PLATFORMS and stage in ("program", "spirv") and chosen == BINARY:
            part = self._part_of_binary(stage)
            if part is not None:
                return (held(asked, part, BINARY),)
        if self._compiler == NVIDIA:
            return (held(asked, self._of_cuda(asked), chosen),)
        if self.device.platform in IN_BINARIES:
            return choose(stages_in_binary(self.device.platform, self.binary() or b""), stage, form=chosen)
        if self._compiler == OTHER or (self.text is None and self.spirv is None):
            content = self.spirv if stage == "spirv" else self.binary()
            return (held(asked, content or b"", BINARY),)
        second = self._second_build(options)
        if not second.ok:
            raise ToolError(f"the rebuild in a child process failed: {second.reason}", log=second.log)
        self._check_same(second.snapshots)
        try:
            return choose(second.snapshots, stage, form=chosen)
        except NotFoundError as error:
            raise UnsupportedError(f"the compiler wrote no stages for this program ({error})") from error

    def build_keeping(self, stage: str, form: str | None) -> AbstractContextManager[ApplicationBuild | None]:
        """Return a context for the application's build whose compiler keeps the stage; it gives None if that cannot be."""
        if self.device.platform not in INTEL_GPU_PLATFORMS or (self.text is None and self.spirv is None):
            return nullcontext()
        asked = next(each for each in self.stages if each.name == stage)
        return keeping(self.library.path, self.handle, stage, text=asked.form(form) == TEXT)

    def binary(self) -> bytes | None:
        """Return the driver's binary of the program for the device; None if it has none."""
        devices = program_devices(self.library, self.handle)
        return program_binaries(self.library, self.handle, devices)[devices.index(self.device.handle)]

    def _of_cuda(self, stage: Stage) -> bytes:
        """Return the PTX, or the machine code that the driver made of exactly it."""
        from kernlens.toolchain.cached_code import CachedCode

        ptx = self.binary() or b""
        if stage.origin != FROM_CACHE:
            return ptx.rstrip(b"\0")
        code = CachedCode(os.environ).code_of(ptx)
        if code is None:
            raise UnsupportedError("the driver's compute cache has no entry, or several, of exactly this program")
        return code

    def _part_of_binary(self, stage: str) -> bytes | None:
        """Take a part from Intel's binary, which holds device binary and SPIR-V or is the former; None if it lacks it."""
        binary = self.binary() or b""
        if not is_neo_elf(memoryview(binary)):
            return binary if stage == "program" and binary else None
        container = read_neo_elf(memoryview(binary))
        part = container.device_binary if stage == "program" else container.spirv
        return bytes(part.data) if part is not None else None

    def _options(self, stated: str) -> str:
        """Ask the driver for the options that it got: pyopencl adds some to those ``stated``. PoCL answers with options
        that it would not accept again, so those given have to do."""
        if self.device.platform == POCL.platform:
            return stated
        return c_text(self._build_info(CL_PROGRAM_BUILD_OPTIONS, "CL_PROGRAM_BUILD_OPTIONS"))

    def _second_build(self, options: str) -> Build:
        build = SecondBuild(
            platform=self.device.platform,
            options=self._options(options),
            text=self.text,
            spirv=self.spirv,
            position=self.position,
            device=self.device.name,
            loader=self.library.path,
        )
        return second_build_stages(build, self.device.driver_version)

    def _check_same(self, snapshots: tuple[Snapshot, ...]) -> None:
        """Raise ToolError if the second build made other machine code for a kernel than the application's (GPUs)."""
        if self.device.platform not in INTEL_GPU_PLATFORMS:
            return
        binary = self.binary() or b""
        for snapshot in snapshots:
            if snapshot.ending == ".dat" and snapshot.failure is None and not stands_in(snapshot.content, binary):
                raise ToolError(
                    f"a second build of the program made other machine code for {snapshot.kernel}, so its stages are not"
                    " those of the application's program; did the environment change since the driver was loaded?"
                )

    def _build_info(self, query: int, name: str) -> bytes:
        return self.library.query("clGetProgramBuildInfo", self.handle, self.device.handle, query, query=name)


def second_build_stages(build: SecondBuild, driver_version: str) -> Build:
    """Do a second build, and keep every stage of its platform's compiler. Raises UnsupportedError for a platform whose
    compiler keeps none, and what ``second_build`` raises."""
    if build.modules or build.platform in INTEL_GPU_PLATFORMS:
        return igc.snapshots_of(build, driver_version)
    if build.platform not in SECOND_BUILDS:
        raise UnsupportedError(f"the compiler of {build.platform} does not support stages")
    if build.parts:
        raise UnsupportedError(f"stages of linked programs are not supported on {build.platform}")
    return SECOND_BUILDS[build.platform](build)


def live_program(library: OpenCL, program: int, device: int) -> LiveProgram | None:
    """Return the program with its device; None if the device is not one of the program's. Raises OpenCLError if the
    driver does not know the program, UnsupportedError for a sub-device."""
    if device not in program_devices(library, program):
        return None
    devices = opencl_devices(library)
    chosen = next((each for each in devices if each.handle == device), None)
    if chosen is None:
        raise UnsupportedError(
            "a second process cannot compile for this sub-device; 'kernlens layer' prints how to load the"
            " OpenCL layer, which can"
        )
    same_platform = [each.handle for each in devices if each.platform == chosen.platform]
    text = _made_from(library, program, CL_PROGRAM_SOURCE, "CL_PROGRAM_SOURCE").split(b"\0", 1)[0]
    spirv = b"" if text else _made_from(library, program, CL_PROGRAM_IL, "CL_PROGRAM_IL")
    return LiveProgram(
        library=library,
        handle=program,
        device=chosen,
        position=same_platform.index(device),
        text=text.decode("utf-8", "replace") if text else None,
        spirv=spirv or None,
    )


def _made_from(library: OpenCL, program: int, query: int, name: str) -> bytes:
    try:
        return library.query("clGetProgramInfo", program, query, query=name)
    except OpenCLError:
        return b""

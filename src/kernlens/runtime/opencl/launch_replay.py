"""A launch that runs again on a device: its memory, its arguments, its results, and the time that it takes."""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from kernlens.errors import NotFoundError
from kernlens.formats.spirv.words import read_words, walk
from kernlens.model.kept_launch import LOCAL, MEMORY, NULL, POINTER, SAMPLER
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.launch_memory import LaunchMemory
from kernlens.runtime.opencl.launch_prototypes import (
    CL_KERNEL_EXEC_INFO_SVM_PTRS,
    CL_KERNEL_EXEC_INFO_USM_PTRS,
    CL_PROFILING_COMMAND_END,
    CL_PROFILING_COMMAND_START,
    CL_QUEUE_PROFILING_ENABLE,
)
from kernlens.runtime.opencl.opencl_library import OpenCL
from kernlens.runtime.opencl.program_building import OpenCLContext, OpenCLDevice, OpenCLProgram
from kernlens.runtime.opencl.program_queries import CL_DEVICE_PLATFORM

CL_KERNEL_ARG_TYPE_NAME, CL_KERNEL_ARG_NAME = 0x1198, 0x119A
CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU = 0x1000, 0x2
_PROFILING_NOT_AVAILABLE = -7
_NEW_OPENCL_C = re.compile("-cl-std=(?:CL[23]|CLC)", re.IGNORECASE)
#: SPIR-V's variables, and its storage class of global memory.
_OP_VARIABLE, _CROSS_WORKGROUP = 59, 5
#: Programs of a device that are kept.
_NEWEST = 8
Job = Mapping[str, Any]


class BuiltPrograms:
    """The programs that were built last on a device, and what others failed with: many launches are of one program. One that
    may have variables of its own is built for each launch, which finds them as they were at first."""

    def __init__(self, device: OpenCLDevice) -> None:
        self.device = device
        self.context = OpenCLContext(device.platform, [device])
        self._newest: list[tuple[Job, OpenCLProgram | OpenCLError]] = []

    def of(self, program: Job) -> OpenCLProgram:
        """Build a program, or return what was built of the same. Raises OpenCLError, with the log, if it does not build."""
        known = next((each for each in self._newest if each[0] == program), None)
        if known is None:
            try:
                known = program, self._built(program)
            except OpenCLError as error:
                known = program, error
        others = [each for each in self._newest if each is not known]
        self._newest = others if _may_have_variables(program) else [*others, known][-_NEWEST:]
        if isinstance(known[1], OpenCLError):
            raise known[1]
        return known[1]

    def _built(self, program: Job) -> OpenCLProgram:
        options = program["options"]
        if program["parts"]:
            parts = [self.context.compile_part(part) for part in program["parts"]]
            return self.context.link(parts, options, program["name"])
        if program["text"] is not None:
            return self.context.build_source(program["text"], options, program["name"])
        if program["spirv"]:
            return self.context.build_spirv(program["spirv"], options, program["name"], program["constants"])
        return self.context.load_binary(program["binary"], options, program["name"])


def _may_have_variables(program: Job) -> bool:
    """Return whether a program may have variables that outlive a launch: OpenCL C before 2.0 has none. Of binaries nothing is
    known."""
    if program["parts"] or program["binary"]:
        return True
    if program["text"] is not None:
        return bool(_NEW_OPENCL_C.search(program["options"]))
    words, _ = read_words(memoryview(program["spirv"]))
    (variables,) = walk(words, {_OP_VARIABLE: (4, 0)}, 1)
    return any(words[place + 3] == _CROSS_WORKGROUP for place in variables)


class LaunchReplay:
    """A launch on a device, for several builds of its program. ``launch`` is the launch as plain data."""

    def __init__(self, library: OpenCL, device: OpenCLDevice, context: OpenCLContext, launch: Job) -> None:
        self._library, self._launch, self._device, self._context = library, launch, device, context
        call = ("clCreateCommandQueue", self._context.handle, device.handle, CL_QUEUE_PROFILING_ENABLE)
        self._queue = library.create(*call)
        weakref.finalize(self, library.result, "clReleaseCommandQueue", self._queue)
        answer = library.query("clGetDeviceInfo", device.handle, CL_DEVICE_PLATFORM, query="CL_DEVICE_PLATFORM")
        platform = int.from_bytes(answer, "little")
        handles = (self._context.handle, device.handle, self._queue)
        self._memory = LaunchMemory(library, platform, *handles, launch["memory"])

    @property
    def notes(self) -> list[str]:
        """The sentences on what is other than it was."""
        return self._memory.notes

    @property
    def is_cpu(self) -> bool:
        """True if the device is a CPU."""
        answer = self._library.query("clGetDeviceInfo", self._device.handle, CL_DEVICE_TYPE, query="CL_DEVICE_TYPE")
        return bool(int.from_bytes(answer, "little") & CL_DEVICE_TYPE_CPU)

    def kernel(self, program: OpenCLProgram) -> ReplayedKernel:
        """Return the launch's kernel of a program, with its arguments."""
        return ReplayedKernel(self._library, self._queue, program, self._memory, self._launch)

    def results(self, folder: str, name: str) -> dict[int, str]:
        """Write what memory contains into files; return their paths by the memory's number."""
        paths = {}
        for number, each in enumerate(self._launch["memory"]):
            if each["is_compared"]:
                path = Path(folder, f"{name}.{number}")
                path.write_bytes(self._memory.read(number))
                paths[number] = str(path)
        return paths

    def restore(self) -> None:
        """Give memory the contents that it had before."""
        self._memory.restore()


class ReplayedKernel:
    """A kernel with the arguments of its launch."""

    def __init__(self, library: OpenCL, queue: int, program: OpenCLProgram, memory: LaunchMemory, launch: Job) -> None:
        self._library, self._queue, self._launch, self._memory = library, queue, launch, memory
        self._program = program
        # Before the kernel, so that it goes first: drivers look at a kernel's samplers when it goes.
        self._samplers = {
            number: self._sampler(argument["sampler"])
            for number, argument in enumerate(launch["arguments"])
            if argument["kind"] == SAMPLER
        }
        self._kernel = library.create(
            "clCreateKernel", program.handle, launch["kernel"].encode(), input=launch["kernel"]
        )
        weakref.finalize(self, library.result, "clReleaseKernel", self._kernel)
        for number, argument in enumerate(launch["arguments"]):
            self._set(number, argument)
        self._tell_indirect()

    def signature(self) -> list[tuple[str, str]]:
        """Return the type and the name of each argument, "" where the driver does not say them."""
        return [
            (self._told(number, CL_KERNEL_ARG_TYPE_NAME), self._told(number, CL_KERNEL_ARG_NAME))
            for number in range(len(self._launch["arguments"]))
        ]

    def run(self) -> int | None:
        """Run the kernel; return the nanoseconds that it took, None if the device does not say."""
        sizes = [self._launch[name] for name in ("global_offset", "global_size", "local_size")]
        arrays = [None if each is None else (c_size_t * len(each))(*each) for each in sizes]
        event = c_void_p()
        call = (self._queue, self._kernel, len(sizes[1]), *arrays, 0, None, byref(event))
        groups = "a size that the driver chooses" if sizes[2] is None else "x".join(map(str, sizes[2]))
        self._library.call("clEnqueueNDRangeKernel", *call, input=f"{self._launch['kernel']} in groups of {groups}")
        self._library.call("clFinish", self._queue, input=self._launch["kernel"])
        try:
            return self._time(event, CL_PROFILING_COMMAND_END) - self._time(event, CL_PROFILING_COMMAND_START)
        except OpenCLError as error:
            if error.code != _PROFILING_NOT_AVAILABLE:
                raise
            return None
        finally:
            self._library.result("clReleaseEvent", event)

    def _time(self, event: c_void_p, query: int) -> int:
        value = c_uint64(0)
        self._library.call("clGetEventProfilingInfo", event, query, 8, byref(value), None)
        return value.value

    def _told(self, number: int, query: int) -> str:
        try:
            return self._library.text(
                "clGetKernelArgInfo", self._kernel, number, query, query="CL_KERNEL_ARG_TYPE_NAME"
            )
        except OpenCLError:
            return ""

    def _set(self, number: int, argument: Job) -> None:
        kind, memory = argument["kind"], self._memory
        if kind == POINTER:
            address = memory.handles[argument["memory"]] + argument["offset"]
            if memory.is_unified(argument["memory"]):
                code = memory.extended("clSetKernelArgMemPointerINTEL", self._kernel, number, address)
                if code:
                    raise OpenCLError("clSetKernelArgMemPointerINTEL", code, input=self._launch["kernel"])
            else:
                self._call("clSetKernelArgSVMPointer", number, address)
        elif kind == LOCAL:
            self._call("clSetKernelArg", number, argument["size"], None)
        elif kind in (MEMORY, NULL, SAMPLER):
            handle = c_void_p(self._samplers[number] if kind == SAMPLER else self._handle(argument))
            self._call("clSetKernelArg", number, ctypes.sizeof(handle), byref(handle))
        else:
            content = bytearray(argument["content"])
            memory.moves.apply(content)
            self._call("clSetKernelArg", number, len(content), (c_char * len(content)).from_buffer(content))

    def _call(self, name: str, number: int, *rest: Any) -> None:
        self._library.call(name, self._kernel, number, *rest, input=f"argument {number} of {self._launch['kernel']}")

    def _handle(self, argument: Job) -> int | None:
        if argument["kind"] == NULL:
            return None
        return self._memory.part(argument) if argument["size"] else self._memory.handles[argument["memory"]]

    def _sampler(self, settings: Sequence[int]) -> int:
        sampler = self._library.create("clCreateSampler", self._program.context.handle, *settings)
        weakref.finalize(self, self._library.result, "clReleaseSampler", sampler)
        return sampler

    def _tell_indirect(self) -> None:
        """Tell the driver which memory the kernel reaches by addresses that are no arguments."""
        numbers = self._launch["indirect"]
        for is_unified, query in ((False, CL_KERNEL_EXEC_INFO_SVM_PTRS), (True, CL_KERNEL_EXEC_INFO_USM_PTRS)):
            addresses = [self._memory.handles[each] for each in numbers if self._memory.is_unified(each) == is_unified]
            if addresses:
                array = (c_void_p * len(addresses))(*addresses)
                self._library.call("clSetKernelExecInfo", self._kernel, query, ctypes.sizeof(array), array)


def chosen_device(devices: Sequence[OpenCLDevice], position: int) -> OpenCLDevice:
    """Return a device by its place among all. Raises NotFoundError if there is none."""
    if not 0 <= position < len(devices):
        raise NotFoundError(f"there are {len(devices)} OpenCL devices here, and no number {position}")
    return devices[position]


def replay(
    library: OpenCL,
    built: BuiltPrograms,
    launch: Job,
    programs: Sequence[Job],
    folder: str,
    runs: int,
    warm_ups: int,
) -> Mapping[str, Any]:
    """Run a launch with each program, in turn, and return what happened, with files of the results: those of the first run."""
    builds = [built.of(program) for program in programs]
    running = LaunchReplay(library, built.device, built.context, launch)
    kernels = [running.kernel(build) for build in builds]
    results, times = [], [[] for _ in kernels]  # type: ignore[var-annotated]
    for number, kernel in enumerate(kernels):
        running.restore()
        kernel.run()
        results.append(running.results(folder, f"result{number}"))
        for _ in range(warm_ups - 1):
            running.restore()
            kernel.run()
    for turn in range(runs):
        order = range(len(kernels)) if turn % 2 == 0 else reversed(range(len(kernels)))
        for number in order:
            running.restore()
            times[number].append(kernels[number].run())
    return {
        "signature": kernels[0].signature(),
        "logs": [build.log for build in builds],
        "results": [list(each.items()) for each in results],
        "times": times,
        "notes": running.notes,
        "is_cpu": running.is_cpu,
    }

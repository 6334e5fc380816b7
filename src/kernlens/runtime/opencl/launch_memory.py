"""The memory of a launch that runs again: buffers, images and allocations, laid out as they were."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from ctypes import byref, c_int32, c_size_t
from pathlib import Path
from typing import Any

from kernlens.errors import UnsupportedError
from kernlens.model.kept_launch import BUFFER, BY_ADDRESS, IMAGE, SVM
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.launch_prototypes import (
    CL_BUFFER_CREATE_TYPE_REGION,
    CL_IMAGE_ELEMENT_SIZE,
    CL_MEM_OBJECT_IMAGE1D_ARRAY,
    COARSE,
    EXTENSION,
    FLAGS_OF_KERNEL,
    FLAGS_OF_SVM,
    ImageDescription,
    ImageFormat,
    Region,
)
from kernlens.runtime.opencl.opencl_library import OpenCL
from kernlens.runtime.opencl.pointer_moves import PointerMoves

#: Bytes that allocations have more than they had: the end of one is not the beginning of another.
APART = 64
_BLOCKING = 1
CL_DEVICE_EXTENSIONS, _UNIFIED = 0x1030, "cl_intel_unified_shared_memory"
#: What a launch may take here.
MOST_MEMORY = 8 << 30


class LaunchMemory:
    """The memory of one launch on one device; ``described`` are its objects as plain data, with the files of their contents."""

    def __init__(
        self,
        library: OpenCL,
        platform: int,
        context: int,
        device: int,
        queue: int,
        described: Sequence[Mapping[str, Any]],
    ) -> None:
        self._library, self._context, self._device, self._queue = library, context, device, queue
        self._platform = platform
        self._described = described
        self._extension: dict[str, Any] | None = None
        #: The handle, or the address, of each object.
        self.handles: list[int] = []
        self.notes: list[str] = []
        check_size(described)
        order = sorted(range(len(described)), key=lambda number: _depth(described, number))
        created: dict[int, int] = {}
        for number in order:
            created[number] = self._create(described[number], created)
        self.handles = [created[number] for number in range(len(described))]
        places = [
            (each["address"], each["size"], self.handles[n]) for n, each in enumerate(described) if each["address"]
        ]
        self.moves = PointerMoves(places)
        self._contents = [self._content(each) for each in described]

    def restore(self) -> None:
        """Give all memory the contents that it had before: applications have kernels write to read-only buffers too."""
        for number, content in enumerate(self._contents):
            if content is not None:
                self._copy(number, (ctypes.c_char * len(content)).from_buffer(content), is_read=False)
        self._library.call("clFinish", self._queue)

    def read(self, number: int) -> bytes:
        """Return what an object contains, with the pointers that it would have had."""
        content = bytearray(self._described[number]["size"])
        if content:
            self._copy(number, (ctypes.c_char * len(content)).from_buffer(content), is_read=True)
        if self._described[number]["kind"] in BY_ADDRESS:
            self.moves.back().apply(content)
        return bytes(content)

    def part(self, argument: Mapping[str, Any]) -> int:
        """Return the handle of a part of a buffer."""
        region = Region(argument["offset"], argument["size"])
        flags = argument["flags"] & FLAGS_OF_KERNEL & ~0x10
        call = (
            "clCreateSubBuffer",
            self.handles[argument["memory"]],
            flags,
            CL_BUFFER_CREATE_TYPE_REGION,
            byref(region),
        )
        return self._released_with_this(self._library.create(*call))

    @property
    def is_extended(self) -> bool:
        """True if the platform has the functions of unified shared memory."""
        return len(self._functions) == len(EXTENSION)

    def extended(self, name: str, *arguments: Any) -> int:
        """Call a function of unified shared memory, and return its error code."""
        if self._library.on_call is not None:
            self._library.on_call(name)
        return int(self._functions[name](*arguments))

    def is_unified(self, number: int) -> bool:
        """Return whether an object was created by these functions."""
        return (
            self._described[number]["kind"] in BY_ADDRESS
            and self._described[number]["kind"] != SVM
            and self.is_extended
        )

    def _content(self, each: Mapping[str, Any]) -> bytearray | None:
        """Return what an object had before, with pointers to where memory is now; zeros if that is not known, None if it has
        none of its own."""
        if not each["size"] or (each["image"] is not None and each["image"]["buffer"] is not None):
            return None
        if each["before"] is None:
            return bytearray(each["size"])
        content = bytearray(Path(each["before"]).read_bytes())
        if each["kind"] in BY_ADDRESS:
            self.moves.apply(content)
        return content

    def _create(self, each: Mapping[str, Any], created: Mapping[int, int]) -> int:
        flags = each["flags"] & FLAGS_OF_KERNEL
        if each["kind"] == BUFFER:
            size = max(1, each["size"])
            return self._released_with_this(self._library.create("clCreateBuffer", self._context, flags, size, None))
        if each["kind"] == IMAGE:
            form = each["image"]
            names = ("object_type", "width", "height", "depth", "array_size", "row_pitch")
            stated = {name: form[name] for name in (*names, "mip_levels", "samples")}
            buffer = None if form["buffer"] is None else created[form["buffer"]]
            description = ImageDescription(**stated, slice_pitch=0, buffer=buffer)
            format_ = ImageFormat(form["order"], form["data_type"])
            call = ("clCreateImage", self._context, flags, byref(format_), byref(description), None)
            return self._released_with_this(self._library.create(*call))
        return self._allocate(each["kind"], each["size"] + APART, each["flags"])

    def _allocate(self, kind: str, size: int, flags: int) -> int:
        """Return the address of memory that kernels reach by addresses."""
        if kind != SVM and self.is_extended:
            code = c_int32(0)
            device = () if kind == "host" else (self._device,)
            name = f"cl{kind.capitalize()}MemAllocINTEL"
            address = self._functions[name](self._context, *device, None, size, 0, byref(code))
            if not address:
                raise OpenCLError(name, code.value)
            weakref.finalize(self, self._functions["clMemFreeINTEL"], self._context, address)
            return int(address)
        if kind != SVM:
            self._note("the device has no unified shared memory: shared virtual memory takes its place")
        wanted_flags = flags & FLAGS_OF_SVM
        address = self._library.result("clSVMAlloc", self._context, wanted_flags, size, 0)
        if not address and wanted_flags != wanted_flags & COARSE:
            self._note("the device has no fine-grained shared virtual memory: coarse-grained takes its place")
            address = self._library.result("clSVMAlloc", self._context, wanted_flags & COARSE, size, 0)
        if not address:
            raise UnsupportedError(f"the device gives no {size:,} bytes of memory that kernels reach by addresses")
        weakref.finalize(self, self._library.result, "clSVMFree", self._context, address)
        return int(address)

    def _copy(self, number: int, host: Any, *, is_read: bool) -> None:
        each, handle, size = self._described[number], self.handles[number], len(host)
        nothing = (0, None, None)
        if each["kind"] == BUFFER:
            name = "clEnqueueReadBuffer" if is_read else "clEnqueueWriteBuffer"
            self._library.call(name, self._queue, handle, _BLOCKING, 0, size, host, *nothing)
        elif each["kind"] == IMAGE:
            name = "clEnqueueReadImage" if is_read else "clEnqueueWriteImage"
            origin = (c_size_t * 3)()
            region = (c_size_t * 3)(*self._region(each, handle))
            self._library.call(name, self._queue, handle, _BLOCKING, origin, region, 0, 0, host, *nothing)
        else:
            target, source = (host, handle) if is_read else (handle, host)
            if self.is_unified(number):
                code = self.extended("clEnqueueMemcpyINTEL", self._queue, _BLOCKING, target, source, size, *nothing)
                if code:
                    raise OpenCLError("clEnqueueMemcpyINTEL", code)
            else:
                self._library.call("clEnqueueSVMMemcpy", self._queue, _BLOCKING, target, source, size, *nothing)

    def _region(self, each: Mapping[str, Any], handle: int) -> tuple[int, int, int]:
        """Return an image's size in pixels. Raises UnsupportedError if its content is not that of so many pixels."""
        form = each["image"]
        width, height, depth = (max(1, form[name]) for name in ("width", "height", "depth"))
        layers = max(1, form["array_size"])
        region = (
            (width, layers, 1)
            if form["object_type"] == CL_MEM_OBJECT_IMAGE1D_ARRAY
            else (width, height, depth * layers)
        )
        answer = self._library.query("clGetImageInfo", handle, CL_IMAGE_ELEMENT_SIZE, query="CL_IMAGE_ELEMENT_SIZE")
        size = int.from_bytes(answer, "little") * region[0] * region[1] * region[2]
        if size != each["size"] or form["samples"] or form["mip_levels"] > 1:
            raise UnsupportedError(f"an image of {each['size']:,} bytes cannot be laid out: here it has {size:,}")
        return region

    def _released_with_this(self, handle: int) -> int:
        weakref.finalize(self, self._library.result, "clReleaseMemObject", handle)
        return handle

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    @property
    def _functions(self) -> dict[str, Any]:
        if self._extension is None:
            self._extension = {}
            known = self._library.text(
                "clGetDeviceInfo", self._device, CL_DEVICE_EXTENSIONS, query="CL_DEVICE_EXTENSIONS"
            )
            for name, (result, arguments) in EXTENSION.items() if _UNIFIED in known.split() else ():
                address = self._library.result(
                    "clGetExtensionFunctionAddressForPlatform", self._platform, name.encode()
                )
                if address:
                    self._extension[name] = ctypes.CFUNCTYPE(result, *arguments)(address)
        return self._extension


def check_size(described: Sequence[Mapping[str, Any]]) -> None:
    """Raise UnsupportedError if the memory of a launch is too large to be laid out."""
    size = sum(each["size"] for each in described)
    if size > MOST_MEMORY:
        raise UnsupportedError(f"the launch had {size:,} bytes of memory; at most {MOST_MEMORY:,} are laid out here")


def _depth(described: Sequence[Mapping[str, Any]], number: int) -> int:
    """Return how many objects stand below this one: what an image is made of comes before it."""
    depth = 0
    while (image := described[number]["image"]) is not None and image["buffer"] is not None and depth < len(described):
        number, depth = image["buffer"], depth + 1
    return depth

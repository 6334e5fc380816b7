"""CUDA's driver interface through ctypes. It comes with NVIDIA's driver; no toolkit is needed.

Names and numbers: ``cuda.h`` of CUDA's driver interface.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from kernlens.errors import NotFoundError, ToolError
from kernlens.runtime.driver_library import DriverLibrary

_LIBRARY = "libcuda.so.1"
#: Options of the linker, and its kind of input.
_ERROR_LOG, _ERROR_LOG_SIZE, _LINE_INFO, _PTX = 5, 6, 13, 1
_LOG_SIZE = 1 << 16
_POINTERS = (c_void_p, c_void_p, c_void_p)
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "cuInit": (c_int, (c_uint,)),
    "cuGetErrorName": (c_int, (c_int, c_void_p)),
    "cuDeviceGetCount": (c_int, (c_void_p,)),
    "cuDeviceGet": (c_int, (c_void_p, c_int)),
    "cuDeviceGetName": (c_int, (c_void_p, c_int, c_int)),
    "cuDevicePrimaryCtxRetain": (c_int, (c_void_p, c_int)),
    "cuCtxSetCurrent": (c_int, (c_void_p,)),
    "cuCtxSynchronize": (c_int, ()),
    "cuLinkCreate_v2": (c_int, (c_uint, *_POINTERS)),
    "cuLinkAddData_v2": (c_int, (c_void_p, c_int, c_char_p, c_size_t, c_char_p, c_uint, c_void_p, c_void_p)),
    "cuLinkComplete": (c_int, _POINTERS),
    "cuModuleLoadData": (c_int, (c_void_p, c_char_p)),
    "cuModuleGetFunction": (c_int, (c_void_p, c_void_p, c_char_p)),
    "cuModuleGetGlobal_v2": (c_int, (*_POINTERS, c_char_p)),
    "cuMemAlloc_v2": (c_int, (c_void_p, c_size_t)),
    "cuMemcpyHtoD_v2": (c_int, (c_uint64, c_void_p, c_size_t)),
    "cuMemcpyDtoH_v2": (c_int, (c_void_p, c_uint64, c_size_t)),
    "cuMemcpyDtoD_v2": (c_int, (c_uint64, c_uint64, c_size_t)),
    "cuLaunchKernel": (c_int, (c_void_p, *(c_uint,) * 7, *_POINTERS)),
}


class Cuda(DriverLibrary):
    """CUDA on the device of this name. Raises ToolError if there is no CUDA, NotFoundError if there is no such device."""

    def __init__(self, device: str) -> None:
        try:
            library = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise ToolError(
                f"CUDA's driver interface {_LIBRARY} cannot be opened ({error}): it comes with NVIDIA's driver"
            ) from error
        super().__init__(library, _LIBRARY, "CUDA", _PROTOTYPES)
        self.call("cuInit", 0)
        count = c_int(0)
        self.call("cuDeviceGetCount", byref(count))
        numbers = {self._name(number): number for number in reversed(range(count.value))}
        if device not in numbers:
            raise NotFoundError(f"CUDA has no device {device}; it has: {', '.join(numbers) or 'none'}")
        number, context = c_int(0), c_void_p()
        self.call("cuDeviceGet", byref(number), numbers[device])
        self.call("cuDevicePrimaryCtxRetain", byref(context), number)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function. Raises ToolError unless it succeeds."""
        code = int(self.result(name, *arguments))
        if code:
            text = c_char_p()
            self.result("cuGetErrorName", code, byref(text))
            words = text.value.decode("utf-8", "replace") if text.value else "an unknown error"
            raise ToolError(f"{name} failed: {words} ({code})", command=name)

    def allocate(self, size: int) -> int:
        """Return the address of so many bytes of the device's memory."""
        address = c_uint64(0)
        self.call("cuMemAlloc_v2", byref(address), size)
        return address.value

    def write(self, address: int, content: bytearray) -> None:
        """Copy a content to the device."""
        if content:
            self.call("cuMemcpyHtoD_v2", address, (c_char * len(content)).from_buffer(content), len(content))

    def read(self, address: int, size: int) -> bytearray:
        """Return a content of the device."""
        content = bytearray(size)
        if size:
            self.call("cuMemcpyDtoH_v2", (c_char * size).from_buffer(content), address, size)
        return content

    def built(self, ptx: bytes) -> bytes:
        """Return the machine code that the driver makes of a PTX text, with its lines. Raises ToolError with the log."""
        state, code, size = c_void_p(), c_void_p(), c_size_t(0)
        log = ctypes.create_string_buffer(_LOG_SIZE)
        values = {_ERROR_LOG: ctypes.addressof(log), _ERROR_LOG_SIZE: _LOG_SIZE, _LINE_INFO: 1}
        self.call(
            "cuLinkCreate_v2", len(values), (c_int * len(values))(*values), (c_void_p * len(values))(*values.values()),
            byref(state),
        )  # fmt: skip
        try:
            self.call("cuLinkAddData_v2", state, _PTX, ptx + b"\0", len(ptx) + 1, b"kernel.ptx", 0, None, None)
            self.call("cuLinkComplete", state, byref(code), byref(size))
        except ToolError as error:
            text = log.value.decode("utf-8", "replace")
            last = next((f": {line.strip()}" for line in text.splitlines() if line.strip()), "")
            raise ToolError(f"{error}{last}", command=error.command, log=text) from error
        return ctypes.string_at(code.value or 0, size.value) if code.value else b""

    def variable(self, module: c_void_p, name: str) -> tuple[int, int]:
        """Return the address and the size of a module's variable."""
        address, size = c_uint64(0), c_size_t(0)
        self.call("cuModuleGetGlobal_v2", byref(address), byref(size), module, name.encode())
        return address.value, size.value

    def _name(self, number: int) -> str:
        device, name = c_int(0), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", byref(device), number)
        self.call("cuDeviceGetName", name, len(name), device)
        return name.value.decode("utf-8", "replace")

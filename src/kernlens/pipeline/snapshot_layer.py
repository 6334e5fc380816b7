"""The two functions of the OpenCL layer (``native/opencl_layer``), called through ctypes if it is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int32, c_uint32, c_void_p
from typing import Any

from kernlens.pipeline.own_build import CALLBACK, label_of
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.opencl_library import OpenCL

EXTENSION = "cl_codeplay_program_snapshot"
LIST_CALL = "clRequestProgramSnapshotListCODEPLAY"
REQUEST_CALL = "clRequestProgramSnapshotCODEPLAY"
CL_DEVICE_EXTENSIONS = 0x1030
CL_DEVICE_PLATFORM = 0x1031

_LIST = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
_REQUEST = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_char_p, c_uint32, CALLBACK, c_void_p)

#: Program handle -> the callback that the layer holds a pointer to, of the latest request.
_callbacks: dict[int, Any] = {}


class SnapshotLayer:
    """The extension's functions of one platform."""

    def __init__(self, list_address: int, request_address: int) -> None:
        self._list = _LIST(list_address)
        self._request = _REQUEST(request_address)

    def list(self, program: int, device: int, count: int | None) -> list[str]:
        """Call clRequestProgramSnapshotListCODEPLAY; ``count`` limits the names (None: all). Raises OpenCLError."""
        available = c_uint32(0)
        _check(LIST_CALL, self._list(program, device, None, byref(available)))
        room = available.value if count is None else count
        names = (c_char_p * max(room, 1))()
        _check(LIST_CALL, self._list(program, device, names, byref(c_uint32(room))))
        return [name.decode("utf-8", "replace") for name in names if name is not None]

    def request(
        self,
        program: int,
        device: int,
        stage: str | None,
        format: int,
        deliver: Callable[[bytes, str, str], None] | None,
    ) -> None:
        """Call clRequestProgramSnapshotCODEPLAY, which calls ``deliver(content, ending, kernel)``. None becomes a null
        pointer. Raises OpenCLError."""

        def received(size: int, content: int, label: int, _user_data: int) -> None:
            assert deliver is not None
            deliver(ctypes.string_at(content, size), *label_of(label))

        callback = CALLBACK(received) if deliver is not None else CALLBACK()
        name = stage.encode() if stage is not None else None
        _check(REQUEST_CALL, self._request(program, device, name, format, callback, None))
        _callbacks[program] = callback


def _check(call: str, code: int) -> None:
    if code != 0:
        raise OpenCLError(call, code)


def snapshot_layer(library: OpenCL, device: int) -> SnapshotLayer | None:
    """Return the layer's functions for the device's platform; None if the layer is not loaded. Raises OpenCLError
    (CL_INVALID_DEVICE) if the driver does not know the device."""
    extensions = library.text("clGetDeviceInfo", device, CL_DEVICE_EXTENSIONS, query="CL_DEVICE_EXTENSIONS")
    if EXTENSION not in extensions.split():
        return None
    answer = library.query("clGetDeviceInfo", device, CL_DEVICE_PLATFORM, query="CL_DEVICE_PLATFORM")
    platform = int.from_bytes(answer, "little")
    function = ctypes.CDLL(library.path).clGetExtensionFunctionAddressForPlatform
    function.restype = c_void_p
    function.argtypes = (c_void_p, c_char_p)
    addresses = [function(platform, name.encode()) for name in (LIST_CALL, REQUEST_CALL)]
    return SnapshotLayer(*addresses) if all(addresses) else None

"""The Level Zero loader library through ctypes, and the check of its calls' results.

Prototypes: ``ze_api.h``, ``zet_api.h`` and ``loader/ze_loader.h`` of the Level Zero specification. ctypes releases the
interpreter's lock during each call, and a call changes nothing here, so any number of threads may call at once.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any

from kernlens.errors import ToolError
from kernlens.model.level_zero_results import SUCCESS, UNINITIALIZED
from kernlens.runtime.driver_library import DriverLibrary
from kernlens.runtime.level_zero.result_codes import LevelZeroError

LIBRARY = "libze_loader.so.1"

#: The kind of a kernel's handle, which a loader for several drivers wraps (``zel_handle_type_t``).
ZEL_HANDLE_KERNEL = 11

_POINTER = c_void_p
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "zeInit": (c_uint32,),
    "zeDriverGet": (_POINTER, _POINTER),
    "zeDriverGetApiVersion": (c_void_p, _POINTER),
    "zeDriverGetProperties": (c_void_p, _POINTER),
    "zeDriverGetExtensionProperties": (c_void_p, _POINTER, _POINTER),
    "zeDriverGetExtensionFunctionAddress": (c_void_p, c_char_p, _POINTER),
    "zeDriverGetLastErrorDescription": (c_void_p, _POINTER),
    "zeDeviceGet": (c_void_p, _POINTER, _POINTER),
    "zeDeviceGetProperties": (c_void_p, _POINTER),
    "zeContextCreate": (c_void_p, _POINTER, _POINTER),
    "zeContextDestroy": (c_void_p,),
    "zeModuleCreate": (c_void_p, c_void_p, _POINTER, _POINTER, _POINTER),
    "zeModuleDestroy": (c_void_p,),
    "zeModuleDynamicLink": (c_uint32, _POINTER, _POINTER),
    "zeModuleInspectLinkageExt": (_POINTER, c_uint32, _POINTER, _POINTER),
    "zeModuleBuildLogGetString": (c_void_p, _POINTER, _POINTER),
    "zeModuleBuildLogDestroy": (c_void_p,),
    "zeModuleGetNativeBinary": (c_void_p, _POINTER, _POINTER),
    "zeModuleGetGlobalPointer": (c_void_p, c_char_p, _POINTER, _POINTER),
    "zeModuleGetFunctionPointer": (c_void_p, c_char_p, _POINTER),
    "zeModuleGetKernelNames": (c_void_p, _POINTER, _POINTER),
    "zeModuleGetProperties": (c_void_p, _POINTER),
    "zeKernelCreate": (c_void_p, _POINTER, _POINTER),
    "zeKernelDestroy": (c_void_p,),
    "zeKernelGetName": (c_void_p, _POINTER, _POINTER),
    "zeKernelGetProperties": (c_void_p, _POINTER),
    "zeKernelGetBinaryExp": (c_void_p, _POINTER, _POINTER),
    "zetModuleGetDebugInfo": (c_void_p, c_uint32, _POINTER, _POINTER),
    "zelLoaderTranslateHandle": (c_uint32, c_void_p, _POINTER),
}

#: The type of an extension function that reads a kernel's machine code: handle, size in and out, bytes.
KERNEL_BINARY_FUNCTION = ctypes.CFUNCTYPE(c_uint32, c_void_p, ctypes.POINTER(c_size_t), c_void_p)


class Loader(DriverLibrary):
    """The loader library, whose functions all return a result code."""

    def __init__(self, library: ctypes.CDLL, path: str) -> None:
        prototypes = {name: (c_uint32, arguments) for name, arguments in _PROTOTYPES.items()}
        super().__init__(library, path, "Level Zero", prototypes)

    def call(
        self, name: str, *arguments: Any, device: str | None = None, input: str | None = None, advice: str = ""
    ) -> None:
        """Call ``name``. Raises LevelZeroError unless it returns success."""
        code = self.result(name, *arguments)
        if code != SUCCESS:
            raise LevelZeroError(name, code, device=device, input=input, advice=advice)

    def items(self, name: str, *what: Any, kind: Any, device: str | None = None, input: str | None = None) -> list[Any]:
        """Ask function ``name`` how many items it has, then for the items, each of ctypes' ``kind``."""
        count = c_uint32(0)
        self.call(name, *what, byref(count), None, device=device, input=input)
        items: Any = (kind * count.value)()
        self.call(name, *what, byref(count), items, device=device, input=input)
        return list(items[: count.value])

    def content(self, name: str, *what: Any, device: str | None = None, input: str | None = None) -> bytes:
        """Ask function ``name`` for the size of its answer, then for the answer if there is one."""
        size = c_size_t(0)
        self.call(name, *what, byref(size), None, device=device, input=input)
        if not size.value:
            return b""
        buffer = ctypes.create_string_buffer(size.value + 1)
        self.call(name, *what, byref(size), buffer, device=device, input=input)
        return buffer.raw[: size.value]

    def text(self, name: str, *what: Any, device: str | None = None, input: str | None = None) -> str:
        """Return the text that ``content`` gives, up to its terminating NUL."""
        content = self.content(name, *what, device=device, input=input)
        return content.partition(b"\0")[0].decode("utf-8", "replace")

    def kernel_binary_function(self, address: int, name: str) -> Callable[..., int]:
        """Return the driver's extension function ``name`` at ``address``, which ``on_call`` sees like the loader's."""
        function = KERNEL_BINARY_FUNCTION(address)

        def call(*arguments: Any) -> int:
            if self.on_call is not None:
                self.on_call(name)
            return int(function(*arguments))

        return call

    def driver_handle(self, kind: int, handle: int) -> int:
        """Return the driver's handle behind the loader's ``handle``, which a driver's extension functions need."""
        if not self.has("zelLoaderTranslateHandle"):
            return handle
        translated = c_void_p(0)
        code = self.result("zelLoaderTranslateHandle", kind, handle, ctypes.byref(translated))
        return translated.value if code == SUCCESS and translated.value else handle


_lock = threading.Lock()


def open_loader() -> Loader:
    """Open and initialise the platform's loader, once per process. Raises ToolError if the library is missing,
    LevelZeroError if it finds no driver that works."""
    with _lock:
        return _opened_loader()


@cache
def _opened_loader() -> Loader:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise ToolError(
            f"the Level Zero loader {LIBRARY} cannot be opened ({error}): install it (Debian: libze1, Ubuntu: level-zero)",
            command="zeInit",
        ) from error
    loader = Loader(library, LIBRARY)
    code = loader.result("zeInit", c_int(0).value)
    if code != SUCCESS:
        raise LevelZeroError("zeInit", code, advice=_no_driver_advice(code))
    return loader


def _no_driver_advice(code: int) -> str:
    if code != UNINITIALIZED:
        return ""
    chosen = os.environ.get("ZE_ENABLE_ALT_DRIVERS")
    if chosen:
        return f"no driver works; ZE_ENABLE_ALT_DRIVERS={chosen} names the only ones that were tried"
    return (
        "no Level Zero driver works here: install one (Debian: libze-intel-gpu1 or intel-opencl-icd), "
        "or simulate a device"
    )

"""Modules that are built from SPIR-V or loaded from a native binary, and everything that they hold."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref, c_char_p, c_size_t, c_void_p, pointer
from functools import cached_property
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, telling_line
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.level_zero_results import (
    INVALID_ARGUMENT,
    INVALID_FUNCTION_NAME,
    INVALID_GLOBAL_NAME,
    SUCCESS,
    UNSUPPORTED_FEATURE,
)
from kernlens.runtime.level_zero import ze_structures as ze
from kernlens.runtime.level_zero.drivers import Context, LiveDevice
from kernlens.runtime.level_zero.handle_owner import HandleOwner, check_raw_handle, known_handle
from kernlens.runtime.level_zero.loader import Loader
from kernlens.runtime.level_zero.native_binary import NativeBinary
from kernlens.runtime.level_zero.refusals import refuse_spirv
from kernlens.runtime.level_zero.result_codes import LevelZeroError

LIBRARY_FLAG = "-library-compilation"
GLOBALS_FLAG = "-ze-take-global-address"

# The drivers' answers for a symbol that is not exported, which differ.
NO_FUNCTION = (INVALID_FUNCTION_NAME, INVALID_ARGUMENT, UNSUPPORTED_FEATURE)
NO_GLOBAL = (INVALID_GLOBAL_NAME, INVALID_ARGUMENT, UNSUPPORTED_FEATURE)


@dataclass(frozen=True, slots=True)
class GlobalPointer:
    """The place of a module's global variable. The address is valid on the device only: the host must not follow it."""

    name: str
    address: int
    size: int
    device_only: bool = True


class LiveModule(HandleOwner):
    """A module of the driver. ``name`` is what errors and logs call it.

    ``spirv`` and ``flags`` are what it was made from, None if that is unknown (a raw handle). ``build_log`` is the driver's
    log of making it, empty if there was nothing to report. ``partners`` are the modules that it was linked with: they stay
    alive as long as this one, because its machine code calls into them.
    """

    kind = "module"

    def __init__(
        self,
        context: Context,
        device: LiveDevice,
        handle: int,
        *,
        name: str = "module",
        spirv: bytes | None = None,
        flags: str | None = None,
        build_log: str = "",
        owned: bool = True,
    ) -> None:
        super().__init__(context.driver.loader, handle, "zeModuleDestroy" if owned else None, parent=context)
        self.context = context
        self.device = device
        self.name = name
        self.spirv = spirv
        self.flags = flags
        self.build_log = build_log
        self.partners: tuple[LiveModule, ...] = ()

    @classmethod
    def from_handle(cls, context: Context, device: LiveDevice, handle: int, name: str = "module") -> LiveModule:
        """Wrap a module that the application made; it is not destroyed with this object. Raises HandleError if
        ``handle`` cannot be a module's."""
        checked = check_raw_handle(handle, "module", like=known_handle("module"))
        return cls(context, device, checked, name=name, owned=False)

    @cached_property
    def has_imports(self) -> bool:
        """True if the module was built with imports; this stays so after they are linked."""
        properties = ze.make(ze.ze_module_properties_t)
        self._loader.call("zeModuleGetProperties", self.handle, byref(properties), **self._error_fields)
        return bool(properties.flags & ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS)

    @cached_property
    def _listed_names(self) -> tuple[str, ...]:
        names = self._loader.items("zeModuleGetKernelNames", self.handle, kind=c_char_p, **self._error_fields)
        return tuple((name or b"").decode("utf-8", "replace") for name in names)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the module's kernels, the pseudo-kernel excluded."""
        return tuple(name for name in self._listed_names if name != PSEUDO_KERNEL)

    @property
    def has_pseudo_kernel(self) -> bool:
        """True if the driver lists ``PSEUDO_KERNEL``: the module holds functions that are not kernels."""
        return PSEUDO_KERNEL in self._listed_names

    @cached_property
    def native_binary(self) -> bytes:
        """The module's whole binary. Linking does not change it."""
        return self._loader.content("zeModuleGetNativeBinary", self.handle, **self._error_fields)

    @cached_property
    def debug_bytes(self) -> bytes | None:
        """The module's debug data through zetModuleGetDebugInfo, as the driver gives it; None if it has none."""
        arguments = (self.handle, ze.ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF)
        return self._loader.content("zetModuleGetDebugInfo", *arguments, **self._error_fields) or None

    @cached_property
    def native(self) -> NativeBinary:
        """A reader of the native binary: its kernels, exports and imports."""
        return NativeBinary(self.native_binary, self.name)

    def function_pointer(self, name: str) -> int:
        """Return the device address of exported function ``name``, or of a kernel; a function's is an offset within 4
        GB. Raises NotFoundError if the module has no such export, with the build flag that makes exports."""
        advice = f"functions are exported by modules built with {LIBRARY_FLAG}"
        return self._exported("zeModuleGetFunctionPointer", NO_FUNCTION, f"function {name!r}", name, advice)

    def global_pointer(self, name: str) -> GlobalPointer:
        """Return where exported variable ``name`` lies on the device, and its size in bytes. Raises NotFoundError if
        the module has no such export, with the build flag that makes exports."""
        size = c_size_t(0)
        advice = f"variables are exported by the module that defines them, when it is built with {GLOBALS_FLAG}"
        address = self._exported("zeModuleGetGlobalPointer", NO_GLOBAL, f"variable {name!r}", name, advice, byref(size))
        return GlobalPointer(name, address, size.value)

    def _exported(self, call: str, absent: Sequence[int], what: str, name: str, advice: str, *more: Any) -> int:
        """Return the address that ``call`` gives. Raises NotFoundError if its result is one of ``absent``."""
        pointer = c_void_p(0)
        code = self._loader.result(call, self.handle, name.encode(), *more, byref(pointer))
        # For an unknown name a driver may report success and not set the pointer, which is null before the call.
        if code in absent or (code == SUCCESS and not pointer.value):
            raise NotFoundError(
                f"{self.name} exports no {what} ({call} on {self.device}): {advice}{self._last_words(code)}"
            )
        if code != SUCCESS:
            raise LevelZeroError(call, code, device=str(self.device), input=f"{self.name}: {name}")
        return int(pointer.value or 0)

    def _last_words(self, code: int) -> str:
        """Return the driver's description of an error as a sentence's end; empty after a success."""
        words = "" if code == SUCCESS else self.context.driver.last_error().strip()
        return f" (the driver says: {words})" if words else ""

    @property
    def _error_fields(self) -> dict[str, str]:
        return {"device": str(self.device), "input": self.name}


def build_spirv(
    context: Context,
    device: LiveDevice,
    spirv: bytes,
    flags: str = "",
    name: str = "module",
    constants: Iterable[tuple[int, int]] = (),
) -> LiveModule:
    """Compile a module from SPIR-V with build ``flags``; ``constants`` are its specialisation constants, (number, bits) each.

    Raises RefusedCallError for input that is known to crash the driver, LevelZeroError with the build log if the
    driver refuses it. Other garbage makes Intel's drivers end the process: see ``IsolatedDriver``.
    """
    refuse_spirv("zeModuleCreate", spirv, flags, device, name)
    description = _description(ze.ZE_MODULE_FORMAT_IL_SPIRV, spirv, flags)
    values = ze.module_constants(constants)
    if values.numConstants:
        description.pConstants = pointer(values)
    handle, log = create(context, device, description, name)
    return LiveModule(context, device, handle, name=name, spirv=spirv, flags=flags, build_log=log)


def load_native(
    context: Context, device: LiveDevice, binary: bytes, flags: str = "", name: str = "module"
) -> LiveModule:
    """Load a module from a native binary. Raises LevelZeroError if the driver does not take it. If the binary is for
    another device, a driver compiles the SPIR-V in it, if any, and says so in ``build_log``."""
    description = _description(ze.ZE_MODULE_FORMAT_NATIVE, binary, flags)
    handle, log = create(context, device, description, name)
    return LiveModule(context, device, handle, name=name, flags=flags, build_log=log)


def _description(format: int, input: bytes, flags: str) -> ze.ze_module_desc_t:
    """Describe a module to be made. The caller keeps ``input`` alive until then."""
    return ze.make(
        ze.ze_module_desc_t,
        format=format,
        inputSize=len(input),
        pInputModule=ctypes.cast(c_char_p(input), c_void_p),
        pBuildFlags=flags.encode() if flags else None,
    )


def create(context: Context, device: LiveDevice, description: ze.ze_module_desc_t, name: str) -> tuple[int, str]:
    """Call zeModuleCreate, and return the module's handle and the build log. Raises LevelZeroError with the log."""
    loader = context.driver.loader
    handle, log_handle = c_void_p(0), c_void_p(0)
    code = loader.result(
        "zeModuleCreate", context.handle, device.handle, byref(description), byref(handle), byref(log_handle)
    )
    words = "" if code == SUCCESS else context.driver.last_error().strip()
    log = read_log(loader, log_handle)
    if code != SUCCESS or not handle.value:
        advice = telling_line(log) or telling_line(words) or "the driver gives no reason"
        raise LevelZeroError("zeModuleCreate", code, device=str(device), input=name, log=log, advice=advice)
    return handle.value, log


def read_log(loader: Loader, log: Any) -> str:
    """Read build log handle ``log`` and destroy it; return an empty text for a null handle."""
    if not log.value:
        return ""
    try:
        return loader.text("zeModuleBuildLogGetString", log)
    finally:
        loader.result("zeModuleBuildLogDestroy", log)

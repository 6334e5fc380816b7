"""The properties and the machine code of live kernels.

The machine code comes from the first of three that works: the driver's extension zeIntelKernelGetBinaryExp, the standard
zeKernelGetBinaryExp, and the kernel's part of the module's native binary. All three give the same bytes: the kernel as
compiled, **before** the driver's relocations, even after a dynamic link.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_size_t, c_void_p
from functools import cached_property

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, nearest
from kernlens.model.level_zero_results import INVALID_KERNEL_NAME, MODULE_UNLINKED, SUCCESS
from kernlens.runtime.level_zero.handle_owner import BufferTooSmallError, HandleError, HandleOwner, check_raw_handle
from kernlens.runtime.level_zero.live_module import LiveModule
from kernlens.runtime.level_zero.loader import ZEL_HANDLE_KERNEL
from kernlens.runtime.level_zero.native_binary import NativeBinary
from kernlens.runtime.level_zero.result_codes import LevelZeroError
from kernlens.runtime.level_zero.ze_structures import make, ze_kernel_desc_t, ze_kernel_properties_t

INTEL_FUNCTION = "zeIntelKernelGetBinaryExp"
STANDARD_FUNCTION = "zeKernelGetBinaryExp"
#: The ``LiveKernel.binary_origin`` of bytes that were cut out of the module's binary.
FROM_NATIVE_BINARY = "zeModuleGetNativeBinary"


@dataclass(frozen=True, slots=True)
class KernelProperties:
    """The properties that the driver reports of a kernel. Sizes are in bytes; a required size is None if there is none.

    ``simd`` is the compiled width in channels (the driver's maximum sub-group size), ``spill_bytes`` and
    ``private_bytes`` per hardware thread, ``slm_bytes`` per work-group.
    """

    arguments: int
    simd: int
    max_sub_groups: int
    required_group_size: tuple[int, int, int] | None
    required_sub_group_size: int | None
    required_sub_groups: int | None
    slm_bytes: int
    private_bytes: int
    spill_bytes: int


class LiveKernel(HandleOwner):
    """A kernel of a live module, which it keeps alive. Many threads may call ``binary`` at once."""

    kind = "kernel"

    def __init__(self, module: LiveModule, name: str, handle: int, *, owned: bool) -> None:
        self.module = module
        self.name = name
        self.device = str(module.device)
        super().__init__(module.context.driver.loader, handle, "zeKernelDestroy" if owned else None, parent=module)

    @classmethod
    def create(cls, module: LiveModule, name: str) -> LiveKernel:
        """Create a kernel of ``module``. Raises NotFoundError if there is none of that name, LevelZeroError if the
        module has imports that are still unlinked, or the driver refuses for another reason."""
        return cls(module, name, _create(module, name), owned=True)

    @classmethod
    def from_handle(cls, module: LiveModule, name: str, handle: int) -> LiveKernel:
        """Wrap a kernel that the application made from ``module``; it is not destroyed with this object. Raises
        HandleError if ``handle`` cannot be a kernel's, NotFoundError if ``module`` has no kernel ``name``."""
        # Before another kernel is made, which may be given the memory of one that was destroyed.
        check_raw_handle(handle, "kernel")
        with cls.create(module, name) as own:
            if own.handle == handle:
                raise HandleError(f"the kernel handle {handle:#x} was destroyed, and now belongs to another kernel")
            good = check_raw_handle(handle, "kernel", like=own.handle)
        kernel = cls(module, name, good, owned=False)
        if kernel._reported_name != name:
            raise HandleError(f"the handle {handle:#x} is of the kernel {kernel._reported_name!r}, not of {name!r}")
        return kernel

    @property
    def _reported_name(self) -> str:
        """The driver's zeKernelGetName."""
        return self._loader.text("zeKernelGetName", self.handle, device=self.device, input=self.name)

    @cached_property
    def properties(self) -> KernelProperties:
        """The answer of zeKernelGetProperties."""
        raw = make(ze_kernel_properties_t)
        self._loader.call("zeKernelGetProperties", self.handle, byref(raw), device=self.device, input=self.name)
        group = (raw.requiredGroupSizeX, raw.requiredGroupSizeY, raw.requiredGroupSizeZ)
        return KernelProperties(
            arguments=raw.numKernelArgs,
            simd=raw.maxSubgroupSize,
            max_sub_groups=raw.maxNumSubgroups,
            required_group_size=group if any(group) else None,
            required_sub_group_size=raw.requiredSubgroupSize or None,
            required_sub_groups=raw.requiredNumSubGroups or None,
            slm_bytes=raw.localMemSize,
            private_bytes=raw.privateMemSize,
            spill_bytes=raw.spillMemSize,
        )

    @cached_property
    def _function(self) -> tuple[str, Callable[..., int] | None, int]:
        """The function to read the machine code: its name, itself, and the handle that it takes."""
        driver = self.module.context.driver
        address = driver.extension_function(INTEL_FUNCTION)
        if address is not None:
            # An extension function belongs to the driver, which does not know the loader's wrapped handles.
            handle = self._loader.driver_handle(ZEL_HANDLE_KERNEL, self.handle)
            return INTEL_FUNCTION, self._loader.kernel_binary_function(address, INTEL_FUNCTION), handle
        if self._loader.has(STANDARD_FUNCTION):

            def standard(*arguments: object) -> int:
                return int(self._loader.result(STANDARD_FUNCTION, *arguments))

            if standard(self.handle, byref(c_size_t(0)), None) == SUCCESS:
                return STANDARD_FUNCTION, standard, self.handle
        return FROM_NATIVE_BINARY, None, 0

    @property
    def binary_origin(self) -> str:
        """The function by which ``binary`` gets its bytes: ``zeIntelKernelGetBinaryExp``, ``zeKernelGetBinaryExp``, or
        ``zeModuleGetNativeBinary`` (cut out of the module's binary)."""
        return self._function[0]

    @property
    def binary_size(self) -> int:
        """The number of bytes that ``binary`` returns, padding included. Asks the driver at each use."""
        name, function, handle = self._function
        self._check_open()
        if function is None:
            return len(self._native.heap(self.name))
        size = c_size_t(0)
        self._check(name, function(handle, byref(size), None))
        return size.value

    def binary(self) -> bytes:
        """Return the kernel's machine code as the driver holds it: padded, and from before relocation. Asks the driver
        at each call. Raises LevelZeroError if it refuses, HandleError after ``close``."""
        name, function, handle = self._function
        if function is None:
            self._check_open()
            return bytes(self._native.heap(self.name))
        return self._read(name, function, handle, self.binary_size)

    def binary_into(self, buffer: bytearray | memoryview) -> int:
        """Write ``binary`` to the start of ``buffer``, and return the number of bytes written.

        Raises BufferTooSmallError if it does not fit (the driver would fill the buffer and report success), and
        HandleError if ``buffer`` is None or cannot be written to.
        """
        if buffer is None:
            raise HandleError(f"the buffer for kernel {self.name} is null")
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise HandleError(f"the buffer for kernel {self.name} is read-only; pass a bytearray")
        code = self.binary()
        if len(view) < len(code):
            raise BufferTooSmallError(
                f"the buffer for kernel {self.name} has {len(view)} bytes, but its binary has {len(code)}: "
                "allocate binary_size bytes"
            )
        view[: len(code)] = code
        return len(code)

    def _read(self, name: str, function: Callable[..., int], handle: int, size: int) -> bytes:
        self._check_open()
        buffer = ctypes.create_string_buffer(size)
        written = c_size_t(size)
        self._check(name, function(handle, byref(written), buffer))
        if written.value != size:
            raise LevelZeroError(
                name,
                SUCCESS,
                device=self.device,
                input=self.name,
                advice=f"{size} bytes were announced, then {written.value} were written",
            )
        return buffer.raw

    @property
    def code(self) -> bytes:
        """The machine code without its padding, from before relocation. The module's binary holds its length: the
        kernel's symbol in a zebin, the unpadded size in patch tokens. Raises HandleError after ``close``."""
        self._check_open()
        return bytes(self._native.code(self.name))

    @property
    def _native(self) -> NativeBinary:
        return self.module.native

    def _check_open(self) -> None:
        _ = self.handle

    def _check(self, name: str, code: int) -> None:
        if code != SUCCESS:
            raise LevelZeroError(name, code, device=self.device, input=self.name)


def _create(module: LiveModule, name: str) -> int:
    loader = module.context.driver.loader
    encoded = name.encode()
    handle = c_void_p(0)
    description = make(ze_kernel_desc_t, pKernelName=encoded)
    code = loader.result("zeKernelCreate", module.handle, byref(description), byref(handle))
    if code == INVALID_KERNEL_NAME:
        near = nearest(name, module.kernel_names) or module.kernel_names[:8]
        raise NotFoundError(
            f"{module.name} has no kernel {name!r} (zeKernelCreate on {module.device}); "
            f"it has: {', '.join(near) or 'none'}"
        )
    if code == MODULE_UNLINKED:
        raise LevelZeroError(
            "zeKernelCreate",
            code,
            device=str(module.device),
            input=f"{module.name}: {name}",
            advice="the module imports symbols that no module has provided yet: link it first (dynamic_link)",
            log=module.build_log,
        )
    if code != SUCCESS or not handle.value:
        raise LevelZeroError("zeKernelCreate", code, device=str(module.device), input=f"{module.name}: {name}")
    return handle.value

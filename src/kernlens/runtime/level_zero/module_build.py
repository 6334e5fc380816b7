"""Everything that a live module holds, read out of the driver."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.errors import KernlensError
from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.model.kernel import ReportedKernel
from kernlens.model.kernel_resources import KernelResources
from kernlens.runtime.level_zero.live_kernel import LiveKernel
from kernlens.runtime.level_zero.live_module import LiveModule
from kernlens.runtime.level_zero.result_codes import LevelZeroError

NO_DEBUG = (
    "the module holds no debug data: its SPIR-V needs line information (compile it with -gline-tables-only or -g)"
)
NO_SOURCE = "Level Zero does not keep source text: SPIR-V built with -g may hold it"
NO_SPIRV = "the module was not made from SPIR-V here, and Level Zero does not give a module's SPIR-V back"
NO_OPTIONS = "the module was made by the application, and Level Zero does not give its build flags back"


def live_build(module: LiveModule, kernels: Sequence[str] | None = None) -> Build:
    """Return the module's binary, debug data, SPIR-V, flags, log and kernels (``kernels``: only these). Raises
    NotFoundError for a kernel that the module does not have."""
    missing: dict[str, str] = {"sources": NO_SOURCE}
    debug = None
    try:
        debug = module.debug_bytes
        if debug is None:
            missing["debug"] = NO_DEBUG
    except LevelZeroError as error:
        missing["debug"] = str(error)
    if module.spirv is None:
        missing["spirv"] = NO_SPIRV
    if module.flags is None:
        missing["options"] = NO_OPTIONS
    device = module.device
    return Build(
        name=module.name,
        device=device.name,
        toolchain=BuildToolchain(f"level-zero driver {version_text(device.driver.version)}"),
        options=module.flags,
        device_ip=None if device.ip is None else str(device.ip),
        kernels=tuple(_kernel(module, name) for name in (module.kernel_names if kernels is None else kernels)),
        missing=missing,
        parts=HeldParts(
            log=module.build_log or "", binary=module.native_binary, debug=debug or b"", spirv=module.spirv or b""
        ),
    )


def version_text(version: int) -> str:
    """Format Intel's driver version as ``1.3.24595``: 8 bits, 8 bits, and the release's build number in 16 bits."""
    return f"{version >> 24}.{version >> 16 & 0xFF}.{version & 0xFFFF}"


def _kernel(module: LiveModule, name: str) -> ReportedKernel:
    try:
        with LiveKernel.create(module, name) as kernel:
            return reported_kernel(kernel)
    except LevelZeroError as error:
        return ReportedKernel(name, reason=str(error))


def reported_kernel(kernel: LiveKernel) -> ReportedKernel:
    """Return the kernel's machine code and properties. Raises KernlensError if the driver does not give its binary."""
    properties = kernel.properties
    reason = None
    code: bytes | None = None
    try:
        code = kernel.code
    except KernlensError as error:
        reason = f"the length of the code without padding is not known: {error}"
    return ReportedKernel(
        name=kernel.name,
        binary=kernel.binary(),
        code=code,
        origin=kernel.binary_origin,
        resources=KernelResources(
            simd=properties.simd,
            spill_bytes=properties.spill_bytes,
            private_bytes=properties.private_bytes,
            slm_bytes=properties.slm_bytes,
            required_work_group_size=properties.required_group_size,
        ),
        reason=reason,
    )

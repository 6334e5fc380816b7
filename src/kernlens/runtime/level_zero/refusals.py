"""The refusal of SPIR-V that is known to crash a driver, before it is compiled.

Each rule was measured on the drivers that the docstring names; the call is made if no rule applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.formats.spirv.magic import is_spirv
from kernlens.runtime.level_zero.result_codes import RefusedCallError
from kernlens.runtime.level_zero.spirv_hazards import exports_using_work_items, overrunning_instruction

if TYPE_CHECKING:
    from kernlens.runtime.level_zero.drivers import LiveDevice

SPIRV_HEADER_SIZE = 20
#: The newest driver that was seen to crash on library modules: 1.3.24595, which is NEO 22.43.
LAST_CRASHING_DRIVER = 1 << 24 | 3 << 16 | 24595
LIBRARY_FLAGS = ("-library-compilation", "-ze-library-compilation")


def refuse_spirv(call: str, spirv: bytes, flags: str, device: LiveDevice, name: str) -> None:
    """Raise RefusedCallError if ``spirv`` would crash the driver of ``device``.

    * On input that is not SPIR-V, Intel's drivers end the process (exit status 1 in 22.43, 10 in 26.27).
    * On instructions that run beyond the module's end, 22.43 ends the process and 26.27 hangs.
    * On a library module that exports a function using most of the work-item built-ins, 22.43 has a segmentation fault
      on skl, icllp and tgllp, but not on dg2 and pvc.
    """
    reason = None
    if len(spirv) < SPIRV_HEADER_SIZE or len(spirv) % 4 or not is_spirv(spirv):
        reason = (
            f"the input's {len(spirv)} bytes are not a SPIR-V module (its first word must be 0x07230203), "
            "and the driver ends the process on such input"
        )
    elif (overrun := overrunning_instruction(spirv)) is not None:
        reason = (
            f"the SPIR-V instruction at offset {overrun:#x} has no length or runs beyond the module's "
            f"{len(spirv)} bytes, and the driver ends the process or hangs on such input"
        )
    elif crashes_on_libraries(device) and set(flags.split()) & set(LIBRARY_FLAGS):
        exports = exports_using_work_items(spirv)
        if exports:
            reason = (
                f"this driver crashes on devices before Xe-HP when a module built with {LIBRARY_FLAGS[0]} exports "
                f"a function that asks for its work-item's id or size ({', '.join(exports)}): "
                "pass it as an argument, or link statically without that flag"
            )
    if reason is not None:
        raise RefusedCallError(call, reason, device=str(device), input=name)


def crashes_on_libraries(device: LiveDevice) -> bool:
    """Return whether the driver is 22.43 or older and the device is older than Xe-HP.

    The old driver does not report a device's IP version, nor its PCI number if the device is simulated; but execution
    units run seven threads before Xe-HP and eight since.
    """
    return device.driver.version <= LAST_CRASHING_DRIVER and device.threads_per_eu == 7

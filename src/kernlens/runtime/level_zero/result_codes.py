"""The names of Level Zero's result codes, and the errors that carry one.

Source: ``ze_result_t`` in ``ze_api.h`` of the Level Zero specification.
"""

from __future__ import annotations

from kernlens.errors import ToolError, call_target

SUCCESS = 0
LINK_FAILURE = 0x70000005
UNINITIALIZED = 0x78000001
UNSUPPORTED_FEATURE = 0x78000003
INVALID_ARGUMENT = 0x78000004
INVALID_ENUMERATION = 0x7800000C
INVALID_GLOBAL_NAME = 0x78000010
INVALID_KERNEL_NAME = 0x78000011
INVALID_FUNCTION_NAME = 0x78000012
MODULE_UNLINKED = 0x78000018

RESULT_NAMES = {
    0: "ZE_RESULT_SUCCESS",
    1: "ZE_RESULT_NOT_READY",
    0x70000001: "ZE_RESULT_ERROR_DEVICE_LOST",
    0x70000002: "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
    0x70000003: "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    0x70000004: "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
    0x70000005: "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
    0x70000006: "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET",
    0x70000007: "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE",
    0x70010000: "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS",
    0x70010001: "ZE_RESULT_ERROR_NOT_AVAILABLE",
    0x70020000: "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE",
    0x70020001: "ZE_RESULT_WARNING_DROPPED_DATA",
    0x78000001: "ZE_RESULT_ERROR_UNINITIALIZED",
    0x78000002: "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
    0x78000003: "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
    0x78000004: "ZE_RESULT_ERROR_INVALID_ARGUMENT",
    0x78000005: "ZE_RESULT_ERROR_INVALID_NULL_HANDLE",
    0x78000006: "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE",
    0x78000007: "ZE_RESULT_ERROR_INVALID_NULL_POINTER",
    0x78000008: "ZE_RESULT_ERROR_INVALID_SIZE",
    0x78000009: "ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
    0x7800000A: "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT",
    0x7800000B: "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT",
    0x7800000C: "ZE_RESULT_ERROR_INVALID_ENUMERATION",
    0x7800000D: "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION",
    0x7800000E: "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT",
    0x7800000F: "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY",
    0x78000010: "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME",
    0x78000011: "ZE_RESULT_ERROR_INVALID_KERNEL_NAME",
    0x78000012: "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME",
    0x78000013: "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION",
    0x78000014: "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION",
    0x78000015: "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX",
    0x78000016: "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE",
    0x78000017: "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE",
    0x78000018: "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED",
    0x78000019: "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE",
    0x7800001A: "ZE_RESULT_ERROR_OVERLAPPING_REGIONS",
    0x7800001B: "ZE_RESULT_WARNING_ACTION_REQUIRED",
    0x7FFFFFFE: "ZE_RESULT_ERROR_UNKNOWN",
}


def result_name(code: int) -> str:
    """Return the constant's name, or the number in hexadecimal if the specification has none."""
    return RESULT_NAMES.get(code & 0xFFFFFFFF, f"{code & 0xFFFFFFFF:#x}")


class LevelZeroError(ToolError):
    """The failure of a Level Zero call.

    ``call`` is the function's name, ``code`` its result, ``device`` and ``input`` what the call was about (None if they do
    not matter), ``log`` the driver's build or link log.
    """

    def __init__(
        self,
        call: str,
        code: int,
        *,
        device: str | None = None,
        input: str | None = None,
        log: str = "",
        advice: str = "",
    ) -> None:
        self.call = call
        self.code = code & 0xFFFFFFFF
        self.code_name = result_name(code)
        self.device = device
        self.input = input
        self.advice = advice
        message = f"{call} returned {self.code_name} ({self.code:#x})" + call_target(device, input)
        if advice:
            message += f": {advice}"
        super().__init__(message, command=call, log=log)


class RefusedCallError(ToolError):
    """A call that was not made, because it is known to crash the driver or cannot be valid; the message says why."""

    def __init__(self, call: str, reason: str, *, device: str | None = None, input: str | None = None) -> None:
        self.call = call
        self.reason = reason
        self.device = device
        self.input = input
        super().__init__(f"{call} was not called{call_target(device, input)}: {reason}", command=call)

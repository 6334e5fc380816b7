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

#: The errors, without what all their names begin with, by the number of the first of each row; numbers have no gaps.
_ERRORS = {
    0x70000001: "DEVICE_LOST OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY MODULE_BUILD_FAILURE MODULE_LINK_FAILURE",
    0x70000006: "DEVICE_REQUIRES_RESET DEVICE_IN_LOW_POWER_STATE",
    0x70010000: "INSUFFICIENT_PERMISSIONS NOT_AVAILABLE",
    0x70020000: "DEPENDENCY_UNAVAILABLE",
    0x78000001: "UNINITIALIZED UNSUPPORTED_VERSION UNSUPPORTED_FEATURE INVALID_ARGUMENT INVALID_NULL_HANDLE",
    0x78000006: "HANDLE_OBJECT_IN_USE INVALID_NULL_POINTER INVALID_SIZE UNSUPPORTED_SIZE UNSUPPORTED_ALIGNMENT",
    0x7800000B: "INVALID_SYNCHRONIZATION_OBJECT INVALID_ENUMERATION UNSUPPORTED_ENUMERATION UNSUPPORTED_IMAGE_FORMAT",
    0x7800000F: "INVALID_NATIVE_BINARY INVALID_GLOBAL_NAME INVALID_KERNEL_NAME INVALID_FUNCTION_NAME",
    0x78000013: "INVALID_GROUP_SIZE_DIMENSION INVALID_GLOBAL_WIDTH_DIMENSION INVALID_KERNEL_ARGUMENT_INDEX",
    0x78000016: "INVALID_KERNEL_ARGUMENT_SIZE INVALID_KERNEL_ATTRIBUTE_VALUE INVALID_MODULE_UNLINKED",
    0x78000019: "INVALID_COMMAND_LIST_TYPE OVERLAPPING_REGIONS",
    0x7FFFFFFE: "UNKNOWN",
}
RESULT_NAMES = {
    **{0: "ZE_RESULT_SUCCESS", 1: "ZE_RESULT_NOT_READY"},
    **{0x70020001: "ZE_RESULT_WARNING_DROPPED_DATA", 0x7800001B: "ZE_RESULT_WARNING_ACTION_REQUIRED"},
    **{
        number: f"ZE_RESULT_ERROR_{name}"
        for first, names in _ERRORS.items()
        for number, name in enumerate(names.split(), first)
    },
}


def result_name(code: int) -> str:
    """Return the constant's name, or the number in hexadecimal if the specification has none."""
    return RESULT_NAMES.get(code & 0xFFFFFFFF, f"{code & 0xFFFFFFFF:#x}")


class LevelZeroError(ToolError):
    """The failure of a Level Zero call. ``call`` is the function's name, ``code`` its result, ``device`` and ``input``
    what the call was about (None if they do not matter), ``log`` the driver's build or link log."""

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
        self.result_name = result_name(code)
        self.device = device
        self.input = input
        self.advice = advice
        message = f"{call} returned {self.result_name} ({self.code:#x})" + call_target(device, input)
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

"""The names of OpenCL's error codes, and the error that carries one. Source: ``CL/cl.h`` of the OpenCL headers."""

from __future__ import annotations

from kernlens.errors import ToolError, call_target, telling_line

PLATFORM_NOT_FOUND = -1001
BUILD_PROGRAM_FAILURE = -11

ERROR_NAMES = {
    -1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -3: "CL_COMPILER_NOT_AVAILABLE",
    -5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY", BUILD_PROGRAM_FAILURE: "CL_BUILD_PROGRAM_FAILURE",
    -15: "CL_COMPILE_PROGRAM_FAILURE", -16: "CL_LINKER_NOT_AVAILABLE", -17: "CL_LINK_PROGRAM_FAILURE",
    -19: "CL_KERNEL_ARG_INFO_NOT_AVAILABLE", -30: "CL_INVALID_VALUE", -32: "CL_INVALID_PLATFORM",
    -33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT", -42: "CL_INVALID_BINARY", -43: "CL_INVALID_BUILD_OPTIONS",
    -44: "CL_INVALID_PROGRAM", -45: "CL_INVALID_PROGRAM_EXECUTABLE", -46: "CL_INVALID_KERNEL_NAME",
    -47: "CL_INVALID_KERNEL_DEFINITION", -48: "CL_INVALID_KERNEL", -49: "CL_INVALID_ARG_INDEX",
    -50: "CL_INVALID_ARG_VALUE", -51: "CL_INVALID_ARG_SIZE", -52: "CL_INVALID_KERNEL_ARGS",
    -53: "CL_INVALID_WORK_DIMENSION", -54: "CL_INVALID_WORK_GROUP_SIZE", -55: "CL_INVALID_WORK_ITEM_SIZE",
    -56: "CL_INVALID_GLOBAL_OFFSET", -59: "CL_INVALID_OPERATION", -66: "CL_INVALID_COMPILER_OPTIONS",
    -67: "CL_INVALID_LINKER_OPTIONS", PLATFORM_NOT_FOUND: "CL_PLATFORM_NOT_FOUND_KHR",
}  # fmt: skip


class OpenCLError(ToolError):
    """The failure of an OpenCL call: ``call`` is the function, ``query`` the query's name, ``code`` the result."""

    def __init__(
        self,
        call: str,
        code: int,
        *,
        query: str | None = None,
        device: str | None = None,
        input: str | None = None,
        log: str = "",
    ) -> None:
        self.call = call
        self.query = query
        self.code = code
        self.result_name = ERROR_NAMES.get(code, str(code))
        self.device = device
        self.input = input
        asked = f"{call}({query})" if query else call
        message = f"{asked} returned {self.result_name} ({code}){call_target(device, input)}"
        telling = telling_line(log)
        if telling:
            message += f": {telling}"
        super().__init__(message, command=call, log=log)

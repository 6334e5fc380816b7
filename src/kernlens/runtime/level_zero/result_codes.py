"""The errors that carry a result code of Level Zero."""

from __future__ import annotations

from kernlens.errors import ToolError, call_target
from kernlens.model.level_zero_results import result_name


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

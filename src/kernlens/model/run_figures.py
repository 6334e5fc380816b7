"""Figures of the launches that a capture timed on a device: of one run, and not of the code.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from kernlens.model.device_time import NANOSECONDS
from kernlens.model.figure import Figure

_ORIGIN = "OpenCL's profiling events, in the recording of a capture (`capture --time`)"
_UNKNOWN = "its launches were not timed: kernlens capture --time does it, on a device that runs kernels"

# fmt: off
DEVICE_TIME = Figure(
    "device_time", "device time", NANOSECONDS,
    "time that the device took for all timed launches of the application's run together; tables have it with three digits",
    _ORIGIN, lambda kernel: None if kernel.launch_time is None else kernel.launch_time.total_ns,
    "{} of device time", unknown=_UNKNOWN,
)
TIMED_LAUNCHES = Figure(
    "timed_launches", "timed launches", "launches", "launches of which the device told the time",
    _ORIGIN, lambda kernel: None if kernel.launch_time is None else kernel.launch_time.launches, unknown=_UNKNOWN,
)
# fmt: on
#: What one run of an application took: it differs from run to run, so comparisons leave it out.
OF_RUNS = (DEVICE_TIME, TIMED_LAUNCHES)

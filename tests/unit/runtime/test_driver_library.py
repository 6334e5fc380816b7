"""A driver's loader library: functions of it that there are, and those of a newer version."""

from __future__ import annotations

import ctypes

import pytest

from kernlens.errors import ToolError
from kernlens.runtime.driver_library import DriverLibrary


def test_a_function_that_an_older_loader_lacks() -> None:
    prototypes = {"abs": (ctypes.c_int, (ctypes.c_int,)), "clOfTheFuture": (ctypes.c_int, ())}
    library = DriverLibrary(ctypes.CDLL(None), "/lib/loader.so", "OpenCL", prototypes)
    calls: list[str] = []
    library.on_call = calls.append
    assert (library.has("abs"), library.has("clOfTheFuture")) == (True, False)
    assert library.result("abs", -3) == 3
    with pytest.raises(ToolError, match=r"loader.so has no function clOfTheFuture: install a newer OpenCL loader"):
        library.result("clOfTheFuture")
    assert calls == ["abs"], "what is not there is not called"

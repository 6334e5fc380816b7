"""Handles of OpenCL objects that are none: each is refused before a driver is asked, with what is wrong."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import OpenCLHandleError, handle_of
from kernlens.runtime.opencl.opencl_library import OpenCL

TABLE = ctypes.c_uint64(0x1234)
PLATFORM = ctypes.c_uint64(ctypes.addressof(TABLE))
OBJECT = ctypes.c_uint64(ctypes.addressof(TABLE))
OTHER = ctypes.c_uint64(7)
LIBRARY = cast(Any, SimpleNamespace(platforms=lambda: [ctypes.addressof(PLATFORM)]))


class _Kernel:
    """An object of pyopencl's, by its name."""

    int_ptr = ctypes.addressof(OBJECT)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (0, "handle is null"),
        (-8, "is not the address of an object"),
        (1 << 64, "is not the address of an object"),
        (ctypes.addressof(OBJECT) + 4, "is not the address of an object"),
        (ctypes.addressof(OTHER), "is not an object of an installed platform"),
        (8, "is not an object of an installed platform"),
        (True, "must be pyopencl's or an integer handle, not bool"),
        ("8", "must be pyopencl's or an integer handle, not str"),
        (_Kernel(), "this needs an OpenCL program, not pyopencl's _Kernel"),
    ],
    ids=["null", "negative", "too large", "not aligned", "another's", "nowhere", "a truth", "a text", "a kernel"],
)
def test_what_is_no_program(candidate: object, words: str) -> None:
    with pytest.raises(OpenCLHandleError, match=words):
        handle_of(candidate, "program", LIBRARY)


def test_what_may_be_one() -> None:
    address = ctypes.addressof(OBJECT)
    assert handle_of(address, "program", LIBRARY) == address
    assert handle_of(_Kernel(), "kernel", LIBRARY) == address


def test_an_error_code_of_a_call_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    library = OpenCL.__new__(OpenCL)
    codes = {"clReleaseProgram": 0, "clReleaseKernel": -48}
    monkeypatch.setattr(OpenCL, "result", lambda self, name, *arguments: codes[name])
    library.call("clReleaseProgram", 1)
    with pytest.raises(OpenCLError, match="CL_INVALID_KERNEL"):
        library.call("clReleaseKernel", 1)

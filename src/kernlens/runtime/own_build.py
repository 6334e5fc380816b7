"""A stage of a build in this process: the compiler keeps it while the application's own build runs.

The OpenCL layer's library does it (``native/opencl_layer/layer/kept_build_exports.c``); the layer itself need not be
loaded. Intel's GPU compiler only. It holds for every build of the process at that time, so it is done only while no other
thread could build.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

_FUNCTIONS = ("clGetProgramInfo", "clCreateProgramWithIL", "clSetProgramSpecializationConstant", "clReleaseProgram")

#: Called with a snapshot's bytes, the usual file ending of its content, and its kernel (empty: the whole program).
CALLBACK = ctypes.CFUNCTYPE(None, c_size_t, c_void_p, c_void_p, c_void_p)


@dataclass
class OwnBuild:
    """What the compiler kept. ``snapshots`` may be taken once."""

    _library: ctypes.CDLL
    _request: int
    _taken: bool = field(default=False, init=False)

    def snapshots(self, binary: bytes | None) -> list[tuple[bytes, str, str]]:
        """Each snapshot's bytes, ending and kernel (empty: the whole program); none if the compiler kept nothing, for
        example because the driver's cache answered. ``binary`` is the program's: of several tries at a kernel the one
        in it counts."""
        found: list[tuple[bytes, str, str]] = []

        def receive(size: int, content: int, label: int, _user_data: int) -> None:
            found.append((ctypes.string_at(content, size), *label_of(label)))

        if not self._taken:
            self._taken = True
            self._library.kernlens_kept_build_take(self._request, binary, len(binary or b""), CALLBACK(receive), None)
        return found


def label_of(label: int | None) -> tuple[str, str]:
    """A snapshot's label, two C strings one after the other: the ending and the kernel's name."""
    ending = ctypes.string_at(label) if label else b""
    kernel = ctypes.string_at(label + len(ending) + 1) if label else b""
    return ending.decode(), kernel.decode("utf-8", "replace")


@contextmanager
def keeping(opencl: str, program: int, stage: str, *, text: bool) -> Iterator[OwnBuild | None]:
    """Has Intel's GPU compiler keep ``stage`` while ``program`` is built within; None if it cannot. ``opencl`` is the
    path of the OpenCL library that the program is of."""
    library = _library(opencl) if threading.active_count() == 1 else None
    request = library.kernlens_kept_build_begin(program, stage.encode(), text) if library is not None else None
    if library is None or not request:
        yield None
        return
    own = OwnBuild(library, request)
    try:
        yield own
    except BaseException:
        library.kernlens_kept_build_over(request)
        own.snapshots(None)  # nobody will ask for them
        raise
    library.kernlens_kept_build_over(request)


@cache
def _library(opencl: str) -> ctypes.CDLL | None:
    """The layer's library; None where there is none (it is built on Linux)."""
    path = files("kernlens").joinpath("native", "libkernlens_opencl_layer.so")
    if not path.is_file():
        return None
    library = ctypes.CDLL(str(path))
    # IGC 1 is made to read its variables with these before any is changed.
    loaded = ctypes.CDLL(opencl)
    if not all(hasattr(loaded, name) for name in _FUNCTIONS):  # an OpenCL library older than 2.2
        return None
    library.kernlens_kept_build_use(*(ctypes.cast(getattr(loaded, name), c_void_p) for name in _FUNCTIONS))
    library.kernlens_kept_build_begin.argtypes = (c_void_p, c_char_p, c_int)
    library.kernlens_kept_build_begin.restype = c_void_p
    library.kernlens_kept_build_over.argtypes = (c_void_p,)
    library.kernlens_kept_build_over.restype = None
    library.kernlens_kept_build_take.argtypes = (c_void_p, c_char_p, c_size_t, CALLBACK, c_void_p)
    library.kernlens_kept_build_take.restype = None
    return library

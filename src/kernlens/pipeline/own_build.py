"""The application's build, of which the compiler keeps a stage, in this process.

The OpenCL layer's library does the work (``native/opencl_layer/layer/own_build.c``); the layer itself need not be
loaded. Only Intel's GPU compiler can do it. It then keeps the stage of every build in the process, so nothing is requested
while another thread could build.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache

from kernlens.dataclass import dataclass
from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER, find_layer

_FUNCTIONS = ("clGetProgramInfo", "clCreateProgramWithIL", "clSetProgramSpecializationConstant", "clReleaseProgram")

#: Called with a snapshot's bytes, the usual file ending of its content, and its kernel (empty: the whole program).
CALLBACK = ctypes.CFUNCTYPE(None, c_size_t, c_void_p, c_void_p, c_void_p)


@dataclass()
class ApplicationBuild:
    """The application's build, of which the compiler keeps a stage."""

    _library: ctypes.CDLL
    _request: int
    _taken: bool = False

    def snapshots(self, binary: bytes | None) -> list[tuple[bytes, str, str]]:
        """Take each snapshot's bytes, ending and kernel (empty: the whole program), once: a second call returns none.
        Returns none either if the compiler kept nothing, for example because the driver's cache answered. ``binary`` is
        the program's: of several attempts at a kernel, the one whose code it holds counts."""
        snapshots: list[tuple[bytes, str, str]] = []

        def receive(size: int, content: int, label: int, _user_data: int) -> None:
            snapshots.append((ctypes.string_at(content, size), *label_of(label)))

        if not self._taken:
            self._taken = True
            self._library.kernlens_own_build_take(self._request, binary, len(binary or b""), CALLBACK(receive), None)
        return snapshots


def label_of(label: int | None) -> tuple[str, str]:
    """Return a snapshot's ending and kernel from its label, which is these two C strings, one after the other."""
    ending = ctypes.string_at(label) if label else b""
    kernel = ctypes.string_at(label + len(ending) + 1) if label else b""
    return ending.decode(), kernel.decode("utf-8", "replace")


@contextmanager
def keeping(opencl: str, program: int, stage: str, *, text: bool) -> Iterator[ApplicationBuild | None]:
    """Have Intel's GPU compiler keep ``stage`` while ``program`` is built within; gives None if it cannot. ``opencl``
    is the path of the OpenCL library that made the program."""
    library = _library(opencl) if threading.active_count() == 1 else None
    request = library.kernlens_own_build_begin(program, stage.encode(), text) if library is not None else None
    if library is None or not request:
        yield None
        return
    build = ApplicationBuild(library, request)
    try:
        yield build
    except BaseException:
        library.kernlens_own_build_over(request)
        build.snapshots(None)  # Nobody will ask for them.
        raise
    library.kernlens_own_build_over(request)


@cache
def _library(opencl: str) -> ctypes.CDLL | None:
    """Open the layer's library. Returns None if there is none (it is built on Linux alone) or OpenCL is older than 2.2."""
    path = find_layer(OPENCL_LAYER)
    if path is None:
        return None
    library = ctypes.CDLL(str(path))
    # The library makes IGC 1 read its variables with these before it changes any.
    loaded = ctypes.CDLL(opencl)
    if not all(hasattr(loaded, name) for name in _FUNCTIONS):
        return None
    library.kernlens_own_build_use(*(ctypes.cast(getattr(loaded, name), c_void_p) for name in _FUNCTIONS))
    library.kernlens_own_build_begin.argtypes = (c_void_p, c_char_p, c_int)
    library.kernlens_own_build_begin.restype = c_void_p
    library.kernlens_own_build_over.argtypes = (c_void_p,)
    library.kernlens_own_build_over.restype = None
    library.kernlens_own_build_take.argtypes = (c_void_p, c_char_p, c_size_t, CALLBACK, c_void_p)
    library.kernlens_own_build_take.restype = None
    return library

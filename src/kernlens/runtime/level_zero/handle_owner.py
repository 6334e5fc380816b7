"""Handles: what the driver gave for an object, which kind of object it is, and whether it is still alive.

The driver follows any pointer that it is given, so a wrong handle is a crash there; here it is an error with a name.
"""

from __future__ import annotations

import os
import struct
import sys
import weakref
from types import TracebackType
from typing import ClassVar, Self

from kernlens.errors import KernlensError
from kernlens.runtime.level_zero.loader import Loader

# The living handles of this process that the binding owns, and the kind of each ("module", "kernel", ...).
_known: dict[int, str] = {}


class HandleError(KernlensError):
    """A handle or buffer that is null, closed, of another kind, or of another driver."""


class BufferTooSmallError(KernlensError):
    """A caller's buffer that the answer does not fit into; nothing was written."""


class HandleOwner:
    """Base of the objects that stand for a driver's object.

    ``close`` destroys the driver's object, and first those that were made from it; so does garbage collection, as each
    object keeps what it was made from alive. With ``destroy`` None the object belongs to the application.
    """

    kind: ClassVar[str] = "object"

    def __init__(self, loader: Loader, handle: int, destroy: str | None, parent: HandleOwner | None = None) -> None:
        self._loader = loader
        self._value: int | None = handle
        self._children: weakref.WeakSet[HandleOwner] = weakref.WeakSet()
        if parent is not None:
            parent._children.add(self)
        if destroy is not None:
            _known[handle] = self.kind
        self._finalizer = weakref.finalize(self, _destroy, loader, handle, destroy)

    @property
    def handle(self) -> int:
        """The driver's handle. Raises HandleError if this object was closed."""
        if self._value is None:
            raise HandleError(f"this Level Zero {self.kind} was closed: make a new one")
        return self._value

    def close(self) -> None:
        """Destroy the driver's object and what was made from it; a second call does nothing."""
        for child in tuple(self._children):
            child.close()
        self._value = None
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _destroy(loader: Loader, handle: int, destroy: str | None) -> None:
    if destroy is not None:
        _known.pop(handle, None)
        loader.result(destroy, handle)


def check_raw_handle(handle: object, kind: str, like: int | None = None) -> int:
    """``handle`` as an integer, after the checks that can be made of a bare number.

    ``like`` is a good handle of the same kind and driver to compare with, where there is one. Raises HandleError if
    ``handle`` is no integer, null, not aligned as an object is, points to no memory of this process, or points to
    something that is an object of another kind or none.
    """
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise HandleError(f"a {kind} handle must be an integer, not {type(handle).__name__}")
    if handle == 0:
        raise HandleError(f"the {kind} handle is null")
    if handle < 0 or handle >= 1 << 64:
        raise HandleError(f"the {kind} handle {handle:#x} is not an address")
    if handle % 8:
        raise HandleError(f"the {kind} handle {handle:#x} is not aligned to 8 bytes, so it is no driver object")
    known = _known.get(handle)
    if known is not None and known != kind:
        raise HandleError(f"the handle {handle:#x} is a {known}, not a {kind}")
    tables = _function_tables(handle)
    if tables is None:
        raise HandleError(f"the {kind} handle {handle:#x} points to no memory of this process")
    if like is not None and tables != _function_tables(like):
        raise HandleError(f"the handle {handle:#x} is not a {kind} of this driver, as it does not begin like one")
    return handle


def known_handle(kind: str) -> int | None:
    """A living handle of ``kind`` that the binding owns, to compare others with; None if there is none."""
    return next((handle for handle, of in tuple(_known.items()) if of == kind), None)


def _function_tables(handle: int) -> tuple[int, ...] | None:
    """The addresses of an object's function tables: the same for all objects of one kind and driver.

    In 22.43 the object begins with it; in 26.27 the loader's table is there and the object's own just before it, where
    22.43 has the heap's bookkeeping, which is no address. None if the memory cannot be read.
    """
    if sys.platform != "linux":
        return ()
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        found = os.pread(memory, 16, handle - 8)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    if len(found) < 16:
        return None
    before, first = struct.unpack("<QQ", found)
    return (before, first) if before >= 1 << 32 else (first,)

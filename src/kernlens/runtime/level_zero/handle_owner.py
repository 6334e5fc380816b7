"""The owner and the check of handles: the driver's pointers to its objects, the kind of each object, and whether it is alive.

The driver follows any pointer, so a wrong handle crashes it; the checks here raise an error instead.
"""

from __future__ import annotations

import struct
import weakref
from typing import ClassVar, Self

from kernlens.errors import KernlensError
from kernlens.runtime.driver_library import memory_at
from kernlens.runtime.level_zero.loader import Loader

# Each living handle that the binding owns -> its kind ("module", "kernel", ...).
_kinds: dict[int, str] = {}


class HandleError(KernlensError):
    """A handle or buffer that is null, closed, of another kind, or of another driver."""


class BufferTooSmallError(KernlensError):
    """A caller's buffer that is too small for the answer; nothing was written."""


class HandleOwner:
    """The base of objects that stand for a driver's object.

    ``close`` destroys the driver's object, after those that were made from it. Garbage collection does the same, as each
    object keeps alive what it was made from. With ``destroy`` None the driver's object belongs to the application.
    """

    kind: ClassVar[str] = "object"

    def __init__(self, loader: Loader, handle: int, destroy: str | None, parent: HandleOwner | None = None) -> None:
        self._loader = loader
        self._value: int | None = handle
        self._children: weakref.WeakSet[HandleOwner] = weakref.WeakSet()
        if parent is not None:
            parent._children.add(self)
        if destroy is not None:
            _kinds[handle] = self.kind
        self._finalizer = weakref.finalize(self, _destroy, loader, handle, destroy)

    @property
    def handle(self) -> int:
        """The driver's handle. Raises HandleError if this object was closed."""
        if self._value is None:
            raise HandleError(f"this Level Zero {self.kind} is closed; create a new one")
        return self._value

    def close(self) -> None:
        """Destroy the driver's object and what was made from it; a second call does nothing."""
        for child in tuple(self._children):
            child.close()
        self._value = None
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _destroy(loader: Loader, handle: int, destroy: str | None) -> None:
    if destroy is not None:
        _kinds.pop(handle, None)
        loader.result(destroy, handle)


def check_raw_handle(handle: object, kind: str, like: int | None = None) -> int:
    """Check a raw handle as far as a number can be checked, and return it.

    ``like`` is a valid handle of the same kind and driver to compare with, if there is one. Raises HandleError if
    ``handle`` is not an integer, null, not aligned, outside this process's memory, or not an object of that kind.
    """
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise HandleError(f"a {kind} handle must be an integer, not {type(handle).__name__}")
    if handle == 0:
        raise HandleError(f"the {kind} handle is null")
    if handle < 0 or handle >= 1 << 64:
        raise HandleError(f"the {kind} handle {handle:#x} is not an address")
    if handle % 8:
        raise HandleError(f"the {kind} handle {handle:#x} is not aligned to 8 bytes, so it is not a driver object")
    known_kind = _kinds.get(handle)
    if known_kind is not None and known_kind != kind:
        raise HandleError(f"the handle {handle:#x} is a {known_kind}, not a {kind}")
    tables = _function_tables(handle)
    if tables is None:
        raise HandleError(f"the {kind} handle {handle:#x} points to no memory of this process")
    if like is not None and tables != _function_tables(like):
        raise HandleError(f"the handle {handle:#x} is not a {kind} of this driver: the object begins differently")
    return handle


def known_handle(kind: str) -> int | None:
    """Return a living handle of ``kind`` that the binding owns, to compare others with; None if there is none."""
    return next((handle for handle, its_kind in tuple(_kinds.items()) if its_kind == kind), None)


def _function_tables(handle: int) -> tuple[int, ...] | None:
    """Return the addresses of an object's function tables, which all objects of one kind and driver share.

    In 22.43 the object begins with its table. In 26.27 it begins with the loader's table, and its own comes just before,
    where 22.43 has the heap's bookkeeping, which is no address. Returns None if the memory cannot be read.
    """
    words = memory_at(handle - 8, 16)
    if words is None:
        return None
    before, first = struct.unpack("<QQ", words)
    return (before, first) if before >= 1 << 32 else (first,)

"""Handles: what cannot be one is refused, and objects are destroyed once, what was made from them first."""

from __future__ import annotations

import ctypes
import gc
from typing import ClassVar

import pytest

from kernlens.runtime.level_zero.handle_owner import HandleError, HandleOwner, check_raw_handle, known_handle
from kernlens.runtime.level_zero.loader import Loader


class RecordingLoader(Loader):
    """Writes down what is called, in place of a driver."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.on_call = None

    def result(self, name: str, *arguments: int) -> int:
        self.calls.append((name, arguments[0]))
        return 0


class Widget(HandleOwner):
    kind: ClassVar[str] = "widget"


@pytest.fixture
def loader() -> RecordingLoader:
    return RecordingLoader()


def test_close_destroys_once(loader: RecordingLoader) -> None:
    widget = Widget(loader, 0x1000, "zeWidgetDestroy")
    assert widget.handle == 0x1000
    widget.close()
    widget.close()
    assert loader.calls == [("zeWidgetDestroy", 0x1000)]
    with pytest.raises(HandleError, match="widget is closed; create a new one"):
        _ = widget.handle


def test_children_go_first(loader: RecordingLoader) -> None:
    parent = Widget(loader, 0x1000, "destroy")
    child = Widget(loader, 0x2000, "destroy", parent=parent)
    grandchild = Widget(loader, 0x3000, "destroy", parent=child)
    parent.close()
    assert [handle for _, handle in loader.calls] == [0x3000, 0x2000, 0x1000]
    with pytest.raises(HandleError):
        _ = grandchild.handle


def test_garbage_is_destroyed(loader: RecordingLoader) -> None:
    widget = Widget(loader, 0x1000, "destroy")
    del widget
    gc.collect()
    assert loader.calls == [("destroy", 0x1000)]


def test_the_applications_objects_are_left_alone(loader: RecordingLoader) -> None:
    with Widget(loader, 0x1000, None):
        assert known_handle("widget") is None
    assert loader.calls == []


@pytest.mark.parametrize(
    ("handle", "message"),
    [
        (0, "is null"),
        (None, "must be an integer, not NoneType"),
        (True, "must be an integer, not bool"),
        ("7", "must be an integer, not str"),
        (-8, "is not an address"),
        (1 << 64, "is not an address"),
        (0x1001, "is not aligned"),
    ],
)
def test_what_cannot_be_a_handle(handle: object, message: str) -> None:
    with pytest.raises(HandleError, match=message):
        check_raw_handle(handle, "kernel")


def test_address_without_memory() -> None:
    with pytest.raises(HandleError, match="points to no memory"):
        check_raw_handle(8, "kernel")


def test_handle_of_another_kind(loader: RecordingLoader) -> None:
    with Widget(loader, 0x5000, "destroy"), pytest.raises(HandleError, match="0x5000 is a widget, not a kernel"):
        check_raw_handle(0x5000, "kernel")


def test_objects_are_told_apart_by_their_tables() -> None:
    # Each object: eight bytes of bookkeeping, then the address of its functions.
    words = (ctypes.c_uint64 * 8)(0, 0x7F0000001000, 0, 0x7F0000001000, 0, 0x7F0000002000)
    first, like, other = (ctypes.addressof(words) + 8 * index for index in (1, 3, 5))
    assert check_raw_handle(first, "kernel", like=like) == first
    with pytest.raises(HandleError, match="begins differently"):
        check_raw_handle(other, "kernel", like=first)

"""The limits of processor time and memory that other tests rely upon do stop what goes beyond."""

from __future__ import annotations

import pytest

from tests.limits import memory, processor_time


def spin() -> None:
    while True:
        pass


def test_processor_time() -> None:
    with pytest.raises(AssertionError, match=r"more than 0\.1 s of processor time"), processor_time(0.1):
        spin()


def test_memory_beyond_the_limit_fails() -> None:
    with pytest.raises(AssertionError, match="it needed 100,"), memory(1000):
        assert bytes(100_000)

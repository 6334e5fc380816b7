"""Calls, as far as first bytes tell."""

import pytest

from kernlens.isa.intel.raw_code import may_call, may_call_by_address


@pytest.mark.parametrize(
    ("first", "calls", "at_all"),
    [(0x2C, True, True), (0xAC, True, True), (0x2B, False, True), (0xAB, False, True), (0x31, False, False)],
)
def test_first_bytes_tell_of_calls(first: int, calls: bool, at_all: bool) -> None:
    code = memoryview(bytes(24) + bytes([first, 0x2C]) + bytes(6))
    assert (may_call(code), may_call_by_address(code)) == (calls, at_all)
    assert not may_call(memoryview(bytes(4) + bytes([first]) + bytes(3)))

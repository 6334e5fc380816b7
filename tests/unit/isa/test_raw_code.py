"""Calls and the trailer, as far as bytes tell."""

import pytest

from kernlens.isa.intel.raw_code import instruction_count, may_call, may_call_by_address, operations, trailer_of


@pytest.mark.parametrize(
    ("first", "calls", "at_all"),
    [(0x2C, True, True), (0xAC, True, True), (0x2B, False, True), (0xAB, False, True), (0x31, False, False)],
)
def test_first_bytes_tell_of_calls(first: int, calls: bool, at_all: bool) -> None:
    code = memoryview(bytes(24) + bytes([first, 0x2C]) + bytes(6))
    assert (may_call(code), may_call_by_address(code)) == (calls, at_all)
    assert not may_call(memoryview(bytes(4) + bytes([first]) + bytes(3)))


def send(*, ends: bool = True, xe3p: bool = False) -> bytes:
    text = "33cb0080010000000c00003000000000" if xe3p else "31010380040000000c7f207000000000"
    code = bytearray.fromhex(text)
    code[4] = code[4] if ends else 0
    return bytes(code)


def moves(*values: int, width: str = "04") -> bytes:
    return b"".join(bytes.fromhex(f"6100{width}802042010000000000") + value.to_bytes(4, "little") for value in values)


NOP = bytes([0x60]) + bytes(15)
HASH = moves(0x32D19EED, 0xB7881DD7, 0, 3)
ADD = bytes([0x40]) + bytes(15)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (send(), b""),
        (send() + NOP, b""),
        (ADD + send(xe3p=True), ADD),
        (bytes([0x40, 0, 0, 0x20, 0, 0, 0, 0]) + send(), ADD * 9),
    ],
)
@pytest.mark.parametrize("width", ["04", "10"])
def test_the_hash_behind_the_end_of_a_thread_is_no_instruction(before: bytes, behind: bytes, width: str) -> None:
    code = memoryview(before + moves(0x32D19EED, 0xB7881DD7, 0, 3, width=width) + behind)
    trailer = trailer_of(code)
    assert trailer is not None
    assert (trailer.offset, trailer.end) == (len(before), len(code) - len(behind))
    assert (trailer.hash, trailer.number) == (0x32D19EEDB7881DD7, 3)
    without = memoryview(before + behind)
    assert instruction_count(code) == instruction_count(without)
    assert operations(code) == operations(without)


@pytest.mark.parametrize(
    "code",
    [
        HASH,
        ADD + HASH,
        send(ends=False) + HASH,
        send(ends=False, xe3p=True) + HASH,
        send() + NOP + NOP + HASH,
        send() + HASH[:48],
        send() + ADD + HASH,
        send() + moves(1, 2, 3, 4),
        send() + moves(1, 2, 0, 4, width="03"),
        send() + moves(1, 2) + moves(0, 4, width="10"),
        send() + HASH.replace(b"\x20\x42", b"\x20\x46"),
        b"\0" + send() + HASH,
    ],
)
def test_moves_that_are_not_exactly_the_hash_are_instructions(code: bytes) -> None:
    assert trailer_of(memoryview(code)) is None

"""MessagePack: each form, damage, and what is made to cost much."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError, TooManyError
from kernlens.formats.messagepack import unpack
from kernlens.model.allowance import Allowance
from tests.limits import memory
from tests.writers.messagepack import packed


def read(data: bytes) -> object:
    return unpack(memoryview(data))


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x00", 0), (b"\x7f", 127), (b"\xe0", -32), (b"\xff", -1), (b"\xc0", None), (b"\xc2", False), (b"\xc3", True),
        (b"\xcc\xff", 255), (b"\xcd\x01\x00", 256), (b"\xce\x00\x01\x00\x00", 65536), (b"\xcf" + b"\xff" * 8, 2**64 - 1),
        (b"\xd0\x80", -128), (b"\xd1\x80\x00", -32768), (b"\xd2\xff\xff\xff\xfe", -2), (b"\xd3" + b"\xff" * 8, -1),
        (b"\xca\x3f\x80\x00\x00", 1.0), (b"\xcb" + struct.pack(">d", 0.1), 0.1),
        (b"\xa2hi", "hi"), (b"\xd9\x02hi", "hi"), (b"\xda\x00\x02hi", "hi"), (b"\xdb\x00\x00\x00\x02hi", "hi"),
        (b"\xc4\x02hi", b"hi"), (b"\xc5\x00\x02hi", b"hi"), (b"\xc6\x00\x00\x00\x02hi", b"hi"),
        (b"\x92\x01\x02", [1, 2]), (b"\xdc\x00\x02\x01\x02", [1, 2]), (b"\xdd\x00\x00\x00\x01\x01", [1]),
        (b"\x81\xa1a\x01", {"a": 1}), (b"\xde\x00\x01\xa1a\x01", {"a": 1}), (b"\xdf\x00\x00\x00\x01\x05\x90", {5: []}),
        (b"\xd4\x01x", b"\x01x"), (b"\xd5\x01xy", b"\x01xy"), (b"\xc7\x02\x01xy", b"\x01xy"), (b"\xa1\xff", "\\xff"),
    ],
)  # fmt: skip
def test_each_form(data: bytes, value: object) -> None:
    assert read(data) == value
    for end in range(len(data)):
        with pytest.raises(FormatError):
            read(data[:end])


def test_what_the_writer_writes() -> None:
    value = {"a": [1, -2, None, True, 0.5, "text", b"bytes"], "b": {"c": {}}, 7: []}
    assert read(packed(value)) == value


def test_byte_that_begins_no_value() -> None:
    with pytest.raises(FormatError, match="begins no value"):
        read(b"\xc1")


def test_counts_are_held_against_the_bytes() -> None:
    with memory(4 << 20):
        for data in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\x01", b"\xdc\x00\x03\x01\x02"):
            with pytest.raises(FormatError, match="announced"):
                read(data)
        with pytest.raises(FormatError, match="too few"):
            read(b"\xdb\xff\xff\xff\xffabc")


def test_nesting_has_a_limit() -> None:
    assert read(b"\x91" * 16 + b"\x00") is not None
    with pytest.raises(FormatError, match="nested more than 16 deep"):
        read(b"\x91" * 17 + b"\x00")
    with pytest.raises(FormatError, match="nested more than 16 deep"):
        read(b"\x81\x00" * 1000 + b"\x00")


def test_key_that_is_none() -> None:
    with pytest.raises(FormatError, match="neither text nor a number"):
        read(b"\x81\x90\x00")


def test_values_count_against_the_allowance() -> None:
    data = b"\xdd" + struct.pack(">I", 1_000_000) + bytes(1_000_000)
    with pytest.raises(TooManyError):
        unpack(memoryview(data), Allowance(1000))

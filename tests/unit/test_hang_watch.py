"""When a call counts as one that does not return, and how a caller's registers are found."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.call_frames import RETURN_ADDRESS, RSP, CallFrames
from kernlens.toolchain.hangs.driver_calls import DriverCall
from kernlens.toolchain.hangs.hang_watch import LOOKS, HangWatch, sentence

FINISH = DriverCall("clFinish", "libigdrcl.so", 0x7000)
THREAD = (12, 13)


def told(watch: HangWatch, call: DriverCall | None, times: range) -> list[int]:
    return [time for time in times for _ in watch.update({THREAD: call} if call else {}, float(time))]


def test_a_call_is_told_once_when_its_time_is_up() -> None:
    watch = HangWatch(30)
    assert told(watch, FINISH, range(0, 300, 5)) == [30]
    assert told(watch, None, range(300, 305, 5)) == []
    assert told(watch, FINISH, range(305, 400, 5)) == [335]


def test_another_frame_or_function_is_another_call() -> None:
    watch = HangWatch(30)
    for time in range(0, 300, 5):
        assert told(watch, DriverCall("clFinish", "libigdrcl.so", time % 25), range(time, time + 1)) == []


def test_few_looks_tell_nothing() -> None:
    """The machine slept, or this process got no time."""
    watch = HangWatch(30)
    assert told(watch, FINISH, range(0, 1000 * (LOOKS - 1), 1000)) == []


@pytest.mark.parametrize("function", ["clBuildProgram", "clLinkProgram", "zeModuleCreate", "zeInit"])
def test_builds_may_take_long(function: str) -> None:
    assert told(HangWatch(30), DriverCall(function, "libigdrcl.so", 1), range(0, 300, 5)) == []


@pytest.mark.parametrize(
    "function", ["zeFenceHostSynchronize", "zeCommandQueueExecuteCommandLists", "clReleaseMemObject"]
)
def test_waits_of_both_interfaces(function: str) -> None:
    assert told(HangWatch(30), DriverCall(function, "x", 1), range(0, 35, 5)) == [30]


def test_the_sentence_says_what_to_do() -> None:
    text = sentence(1 << 30, 13, FINISH, 30, False)
    assert "thread 13: clFinish has not returned for 30 s (in libigdrcl.so)" in text
    assert f"kill {1 << 30} ends it" in text
    assert "kill " not in sentence(1 << 30, 13, FINISH, 30, True).replace("--kill", "")


def entry(link: int, contents: bytes) -> bytes:
    return struct.pack("<II", 4 + len(contents), link) + contents


#: A function of 64 bytes at 0x2000: push rbp, at 1; mov rbp, rsp, at 4; it grows the stack; its end, at 60, has rsp again.
COMMON = entry(0, b"\1zR\0" + b"\1\x78\x10" + b"\1\x1b" + b"\x0c\7\x08\x90\1")
CODE = b"\x41\x0e\x10\x86\2" + b"\x43\x0d\6" + b"\x02\x38\x0a\x0c\7\x08" + b"\x41\x0b"


def memory() -> bytes:
    """.eh_frame_hdr at 0x1000, one entry at 0x1100, the stack at 0x3000."""
    own = struct.pack("<ii", 0x2000 - (0x1100 + len(COMMON) + 8), 64) + b"\0" + CODE
    frames = COMMON + entry(len(COMMON) + 4, own)
    header = struct.pack("<BBBBiIii", 1, 0x1B, 3, 0x3B, 0x100 - 4, 1, 0x1000, 0x100 + len(COMMON))
    stack = struct.pack("<4Q", 0x11, 0xBB, 0xAA, 0x33)
    return bytes(0x1000) + header.ljust(0x100, b"\0") + frames.ljust(0x1F00, b"\0") + stack


def read(address: int, size: int) -> bytes:
    return memory()[address : address + size]


@pytest.mark.parametrize(
    ("address", "registers", "caller"),
    [
        (0x2000, {RSP: 0x3010, 6: 0x99}, (0x3018, 0x99, 0xAA)),  # at its start
        (0x2003, {RSP: 0x3008, 6: 0x99}, (0x3018, 0xBB, 0xAA)),  # the register is saved
        (0x2020, {RSP: 0x2F00, 6: 0x3008}, (0x3018, 0xBB, 0xAA)),  # the frame's register counts
        (0x203C, {RSP: 0x3010, 6: 0x99}, (0x3018, 0xBB, 0xAA)),  # at its end
        (0x203D, {RSP: 0x2F00, 6: 0x3008}, (0x3018, 0xBB, 0xAA)),  # after an end in the middle
    ],
)
def test_the_caller(address: int, registers: dict[int, int], caller: tuple[int, int, int]) -> None:
    frames = CallFrames(0x1000, read)
    assert frames.function_start(address) == 0x2000
    found = frames.caller(registers, address, read)
    assert found is not None
    assert (found[RSP], found[6], found[RETURN_ADDRESS]) == caller


def test_no_call_frame_information() -> None:
    with pytest.raises(FormatError):
        CallFrames(0x1000, lambda address, size: b"\2" * size)
    assert CallFrames(0x1000, read).function_start(0x1FFF) is None

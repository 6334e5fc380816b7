"""A thread's registers and the upper part of its stack, taken while it is stopped for a moment; x86-64 Linux.

Source: ptrace(2). A thread is stopped by PTRACE_INTERRUPT, which sends no signal.
"""

from __future__ import annotations

import ctypes
import os
import struct

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.formats.call_frames import RETURN_ADDRESS, RSP

_SEIZE, _INTERRUPT, _GETREGS, _DETACH = 0x4206, 0x4207, 12, 17
_WALL = 0x40000000
_EVENT_STOP = 128
_STACK_SIZE = 1 << 16
# user_regs_struct (sys/user.h), and the numbers that call frame information has for its first fields.
_REGISTERS = struct.Struct("<27Q")
_NUMBERS = (15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5)
_RIP, _RSP = 16, 19


@dataclass(frozen=True, slots=True)
class StoppedThread:
    """What a thread was at: its registers by number, and the stack from its pointer on."""

    registers: dict[int, int]
    stack: bytes


def look_at(thread: int, memory: int) -> StoppedThread | None:
    """Stop a thread, copy what it is at, and let it go on; None if that is not allowed, or it has ended.

    ``memory`` is the process's memory, opened (/proc/PID/mem).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_SEIZE, thread, None, None) != 0:
        log.debug("toolchain", "thread %d cannot be looked at: %s", thread, os.strerror(ctypes.get_errno()))
        return None
    libc.ptrace(_INTERRUPT, thread, None, None)
    status = _stop(thread)
    if status is None:
        return None
    area = ctypes.create_string_buffer(_REGISTERS.size)
    read = libc.ptrace(_GETREGS, thread, None, ctypes.addressof(area)) == 0
    values = _REGISTERS.unpack(area.raw)
    try:
        stack = os.pread(memory, _STACK_SIZE, values[_RSP]) if read else b""
    except OSError:
        stack = b""
    # A signal that came just then is passed on.
    signal = 0 if status >> 16 == _EVENT_STOP else os.WSTOPSIG(status)
    libc.ptrace(_DETACH, thread, None, signal)
    if not stack:
        return None
    registers = dict(zip(_NUMBERS, values, strict=False))
    return StoppedThread({**registers, RSP: values[_RSP], RETURN_ADDRESS: values[_RIP]}, stack)


def _stop(thread: int) -> int | None:
    """Wait until the thread has stopped, and return its status; None if it ended. A thread that is left must not stop later."""
    try:
        _, status = os.waitpid(thread, _WALL)
    except ChildProcessError:
        return None
    return status if os.WIFSTOPPED(status) else None

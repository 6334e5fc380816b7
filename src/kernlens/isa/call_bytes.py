"""Calls in machine code, as far as its first bytes tell without a decoder."""

from __future__ import annotations

#: The first byte of a ``call`` and of a ``calla``, without its highest bit, on all devices; instructions begin at multiples
#: of 8 bytes.
_CALL, _CALLA = 0x2C, 0x2B


def may_call(code: memoryview) -> bool:
    """Return False for code without a ``call``."""
    return _may_hold(code, _CALL)


def may_call_by_address(code: memoryview) -> bool:
    """Return False for code without any call."""
    return _may_hold(code, _CALL) or _may_hold(code, _CALLA)


def _may_hold(code: memoryview, opcode: int) -> bool:
    first_bytes = bytes(code[::8])
    return opcode in first_bytes or opcode | 0x80 in first_bytes

"""Messages of the data cache (up to Xe-HPG): ``dc0``, ``dc1`` and the read-only ``dcro``.

Source: libiga64's ``MessageDecoderHDC.cpp``; operations are called as those of the load/store cache.
"""

from __future__ import annotations

from kernlens.isa.intel.device_table import XE_HPC, XE_HPG
from kernlens.isa.intel.messages.send import Send, access, access_of_size, without_memory
from kernlens.model.instruction_kind import (
    ATOMIC,
    GLOBAL,
    IMAGE,
    LOAD,
    OTHER,
    SCRATCH,
    SLM,
    STORE,
    SYNCHRONISATION,
    InstructionKind,
)

OWORD, HWORD = 16, 32
#: Descriptor[7:0]: surfaces that are none of the binding table's; that of global memory, coherent: ``MessageDecoder.hpp``.
_SURFACES = {0xFE: "slm", 0xFF: "stateless", 0xFD: "stateless"}
_STATELESS = 0xFF
#: Owords of a block, by Descriptor[10:8].
_OWORDS = (1, 1, 2, 4, 8, 16, 0, 0)
_INTEGER_ATOMICS = (
    "icas", "and", "or", "xor", "store", "iinc", "idec", "iadd",
    "isub", "irsub", "smax", "smin", "umax", "umin", "icas", "ipdec",
)  # fmt: skip
_FLOAT_ATOMICS = ("", "fmax", "fmin", "fcas", "fadd", "fsub", "fadd", "fsub")


def data_cache_message(send: Send) -> InstructionKind:
    """Decode a message to ``dc0`` or ``dcro`` whose descriptor is immediate."""
    number, is_spill = send.bits(18, 14), _is_spill(send)
    if send.target == "dc0" and number & 0x10:
        action = STORE if send.bits(17, 17) else LOAD
        return access(SCRATCH, action, action, HWORD, 1 << send.bits(13, 12), surface="scratch", is_spill=is_spill)
    if send.target == "dc0" and number == 7:
        return without_memory(SYNCHRONISATION, "fence")
    action = STORE if number & 8 else LOAD
    match number & 7:
        case 1 if number == 1 and send.target == "dc0" and send.platform >= XE_HPG and send.bits(13, 13):
            return _untyped(send, action, HWORD, 1 << send.bits(10, 8))
        case 0 | 1:
            return _untyped(send, action, OWORD, _OWORDS[send.bits(10, 8)], is_spill=is_spill)
        case 4:
            return _untyped(send, action, 1 << send.bits(11, 10), lanes=_lanes(send, send.bits(8, 8)))
        case 3 | 5 as scattered:
            size = 4 if scattered == 3 else 8
            return _untyped(send, action, size, 1 << send.bits(11, 10), _lanes(send, send.bits(8, 8)))
    return without_memory(OTHER, "unknown")


def data_cache_1_message(send: Send) -> InstructionKind:
    """Decode a message to ``dc1`` whose descriptor is immediate."""
    number = send.bits(18, 14)
    match number:
        case 0x01 | 0x09 | 0x11 | 0x19:
            lanes = _lanes(send, send.bits(13, 12) == 1)
            return _untyped(send, STORE if number & 8 else LOAD, 4, _channels(send), lanes, "quad")
        case 0x10 | 0x1A:
            return _scattered(send, LOAD if number == 0x10 else STORE)
        case 0x14 | 0x15:
            is_hword = send.bits(12, 11) == 3
            elements = 1 << send.bits(10, 8) if is_hword else _OWORDS[send.bits(10, 8)]
            return _untyped(send, LOAD if number == 0x14 else STORE, HWORD if is_hword else OWORD, elements)
        case 0x02 | 0x03 | 0x12 | 0x13:
            return _integer_atomic(send, number)
        case 0x1B | 0x1C | 0x1D | 0x1E:
            return _float_atomic(send, number)
        case 0x05 | 0x0D | 0x0E:
            action = STORE if number == 0x0D else LOAD
            return access(IMAGE, action, f"{action}_quad", 4, _channels(send), _lanes(send, 0), _surface(send))
        case 0x06 | 0x07 | 0x0B | 0x0C:
            size = 4 if number in (0x06, 0x0B) else 2
            operation = _INTEGER_ATOMICS[send.bits(11, 8)]
            return access(IMAGE, ATOMIC, f"atomic_{operation}", size, 1, _lanes(send, 0), _surface(send))
        case 0x04:
            answer = send.bytes_of(send.answer_registers)
            return access_of_size(IMAGE, LOAD, "load_media_block", answer, _surface(send))
        case 0x0A:
            # Pre-Xe, the first of the address registers is the header, and the data follow it.
            registers = send.data_registers or (send.address_registers or 1) - 1
            return access_of_size(IMAGE, STORE, "store_media_block", send.bytes_of(registers), _surface(send))
    return without_memory(OTHER, "unknown")


def _is_spill(send: Send) -> bool:
    """Return whether a message is a spill, as ``Access`` says: every block of scratch space, and, in kernels with stack
    calls, stateless oword blocks, neither of which anything else uses."""
    is_scratch_block = bool(send.bits(18, 18))
    is_stateless_block = send.bits(17, 14) in (0, 8) and send.bits(7, 0) == _STATELESS
    return send.target == "dc0" and (is_scratch_block or is_stateless_block)


def _surface(send: Send) -> str:
    table = send.bits(7, 0)
    return _SURFACES.get(table, f"bti[{table}]")


def _lanes(send: Send, is_16: int) -> int:
    """Return a message's lanes: 8 or 16, on 64-byte registers twice as many."""
    return send.lanes((16 if is_16 else 8) * (2 if send.platform >= XE_HPC else 1))


def _channels(send: Send) -> int:
    """Return the number of channels: descriptor[11:8] masks channels out."""
    return 4 - send.bits(11, 8).bit_count()


def _untyped(
    send: Send,
    action: str,
    element_bytes: int,
    elements: int = 1,
    lanes: int = 1,
    suffix: str = "",
    *,
    is_spill: bool = False,
) -> InstructionKind:
    surface = _surface(send)
    space = SLM if surface == "slm" else SCRATCH if is_spill else GLOBAL
    operation = f"{action}_{suffix}" if suffix else action
    return access(space, action, operation, element_bytes, elements, lanes, surface, is_spill=is_spill)


def _scattered(send: Send, action: str) -> InstructionKind:
    """Return a scattered access. Descriptor[9:8]: bytes, dwords, qwords, bytes with a status."""
    lanes, count = _lanes(send, send.bits(12, 12)), 1 << send.bits(11, 10)
    size = (1, 4, 8, 1)[send.bits(9, 8)]
    return _untyped(send, action, count, 1, lanes) if size == 1 else _untyped(send, action, size, count, lanes)


def _integer_atomic(send: Send, number: int) -> InstructionKind:
    is_flat_32_or_64 = number == 0x12  # Its SIMD bit says the width of the data.
    size = 2 if number in (0x03, 0x13) else 8 if is_flat_32_or_64 and send.bits(12, 12) else 4
    operation = send.bits(11, 8)
    if operation == 0:  # A compare and swap of 64 bits among the 32-bit ones.
        size = 8
    lanes = _lanes(send, not is_flat_32_or_64 and not send.bits(12, 12))
    return _atomic(send, _INTEGER_ATOMICS[operation], size, lanes)


def _float_atomic(send: Send, number: int) -> InstructionKind:
    operation = send.bits(10, 8)
    size = 8 if operation in (6, 7) else 4 if number in (0x1B, 0x1D) else 2
    is_flat = number in (0x1D, 0x1E)
    lanes = _lanes(send, send.bits(12, 12) if is_flat else not send.bits(12, 12))
    return _atomic(send, _FLOAT_ATOMICS[operation], size, lanes)


def _atomic(send: Send, operation: str, size: int, lanes: int) -> InstructionKind:
    surface = _surface(send)
    space = SLM if surface == "slm" else GLOBAL
    return access(space, ATOMIC, f"atomic_{operation}", size, 1, lanes, surface)

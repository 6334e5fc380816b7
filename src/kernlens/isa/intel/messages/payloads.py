"""The bytes of registers that a message's addresses, data and answer take: often less than the whole registers."""

from __future__ import annotations

from kernlens.dataclass import NamedTuple
from kernlens.isa.intel.device_table import XE3P
from kernlens.isa.intel.messages.message_decoder import decode_message
from kernlens.isa.intel.messages.send import Send
from kernlens.model.instruction_kind import LOAD, STORE

#: Bytes in a register, by Descriptor[11:9] of the load/store cache: d8, d16, d32, d64, d8u32, d16u32, d16u32h.
_ELEMENT_BYTES = (1, 2, 4, 8, 4, 4, 4, 0)
#: Bytes of an address, by Descriptor[8:7]: the surface's default, 16, 32, 64 bits.
_ADDRESS_BYTES = (0, 4, 4, 8)
_LOAD_STORE_CACHE = frozenset({"ugm", "ugml", "slm", "tgm"})
#: Descriptor[5:0] of messages whose address is one header: blocks of two dimensions, states, fences.
_QUADS = frozenset({0x02, 0x06, 0x20})
_WITH_HEADER = frozenset({0x03, 0x07, 0x1D, 0x1E, 0x1F})


class Payload(NamedTuple):
    """A bit for each byte, from the first register's first on; None where a register says how many there are."""

    addresses: int | None
    data: int | None
    answer: int | None
    address_registers: int = 0
    data_registers: int = 0

    def gathered(self, register_bytes: int) -> tuple[int, int]:
        """Return the addresses and behind them the data, as one row of registers, and how many registers these are."""
        addresses, data = self.addresses or 0, self.data or 0
        return addresses | data << self.address_registers * register_bytes, self.address_registers + self.data_registers


def payload_of(send: Send) -> Payload:
    """Return the bytes that ``send`` takes and fills. What its descriptor does not say counts in whole registers."""
    registers = send.address_registers or 0, send.data_registers or 0
    address, block, element, address_lanes = _shape(send)
    if block:
        data, answer = (_bytes(send, count, block) for count in (send.data_registers, send.answer_registers))
    else:
        data, answer = (
            _lanes(send, count, element, send.execution_size) for count in (send.data_registers, send.answer_registers)
        )
    return Payload(_lanes(send, send.address_registers, address, address_lanes), data, answer, *registers)


def _shape(send: Send) -> tuple[int, int, int, int]:
    """Return the bytes of an address, of a block, of an element of each lane (0: not known, or none), and the address count."""
    lanes = send.execution_size
    if send.descriptor is None or send.platform >= XE3P:  # Its descriptors have 64 bits.
        return 0, 0, 0, lanes
    if send.target in _LOAD_STORE_CACHE and send.bits(5, 0) not in _WITH_HEADER:
        address, element = _ADDRESS_BYTES[send.bits(8, 7)], _ELEMENT_BYTES[send.bits(11, 9)]
        if not send.bits(15, 15) or send.bits(5, 0) in _QUADS:
            return address, 0, element, lanes
        access = decode_message(send).access  # Transposed: the elements of one block, one behind the other.
        return address, element * (access.elements if access else 0), 0, 1
    if send.target in ("dc0", "dc1"):
        access = decode_message(send).access
        if access and access.action in (LOAD, STORE) and access.lanes == 1 and lanes > 1:
            return 0, access.size or 0, 0, lanes
    return 0, 0, 0, lanes


def _whole(send: Send, registers: int | None) -> int | None:
    return None if registers is None else (1 << registers * send.register_bytes) - 1


def _bytes(send: Send, registers: int | None, size: int) -> int | None:
    """Return the first ``size`` bytes of the registers, all if there are no more."""
    whole = _whole(send, registers)
    return whole if whole is None or not size else whole & (1 << size) - 1


def _lanes(send: Send, registers: int | None, element: int, lanes: int) -> int | None:
    """Return slices of an element a lane, each of which begins with a register."""
    whole, size = _whole(send, registers), element * lanes
    if not registers or not size:
        return whole
    slice_registers = -(-size // send.register_bytes)
    if registers % slice_registers:
        return whole
    bits = 0
    for first in range(0, registers, slice_registers):
        bits |= (1 << size) - 1 << first * send.register_bytes
    return bits

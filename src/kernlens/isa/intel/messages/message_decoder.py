"""The decoding of what a send instruction asks of its shared function."""

from __future__ import annotations

from kernlens.isa.intel.device_table import XE3P
from kernlens.isa.intel.messages.data_cache import data_cache_1_message, data_cache_message
from kernlens.isa.intel.messages.lsc import load_store_cache_message
from kernlens.isa.intel.messages.send import Send, access_of_size, without_memory
from kernlens.model.instruction_kind import CONTROL, IMAGE, LOAD, OTHER, SYNCHRONISATION, Access, InstructionKind

_DECODERS = {
    **dict.fromkeys(("ugm", "ugml", "slm", "tgm"), load_store_cache_message),
    **dict.fromkeys(("dc0", "dcro"), data_cache_message),
    "dc1": data_cache_1_message,
}
# Descriptor[3:0] of messages to the gateway; Xe-HPG and later end threads there, others at the thread spawner.
_END_OF_THREAD, _BARRIER = 0, 4


def decode_message(send: Send) -> InstructionKind:
    """Return what ``send`` does: a kind, and the access with its operation and size.

    Of a descriptor in a register nothing is known but that a sampler reads an image. Shared functions of graphics
    access nothing that is counted. Of messages of Xe3P nothing is known.
    """
    if send.platform >= XE3P:  # Its descriptors have 64 bits.
        return InstructionKind(OTHER, Access("unknown", size=None))
    if send.target == "smpl":
        # A sampler's descriptor does not say how large its answer is; the instruction does.
        return access_of_size(IMAGE, LOAD, "sample", send.bytes_of(send.answer_registers))
    if send.target == "ts":
        return without_memory(CONTROL, "end of thread")
    if send.descriptor is None:
        return InstructionKind(OTHER, Access("unknown", size=None))
    if send.target == "gtwy":
        return _gateway(send.bits(3, 0))
    decoder = _DECODERS.get(send.target)
    return decoder(send) if decoder else without_memory(OTHER, send.target)


def _gateway(operation: int) -> InstructionKind:
    if operation == _END_OF_THREAD:
        return without_memory(CONTROL, "end of thread")
    return without_memory(SYNCHRONISATION, "barrier" if operation == _BARRIER else "event")

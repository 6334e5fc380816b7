"""Messages of the load/store cache (Xe-HPG and later): ``ugm``, ``ugml``, ``slm`` and ``tgm``.

Source: libiga64's ``MessageDecoderLSC.cpp``; the operations are called as there.
"""

from __future__ import annotations

from kernlens.isa.intel.messages.send import Send, access, access_of_size, without_memory
from kernlens.model.instruction_kind import (
    ATOMIC,
    GLOBAL,
    IMAGE,
    LOAD,
    OTHER,
    PREFETCH,
    SCRATCH,
    SLM,
    STORE,
    SYNCHRONISATION,
    InstructionKind,
)

# Descriptor[5:0]
_OPERATIONS = {
    0x00: "load", 0x01: "load_strided", 0x02: "load_quad", 0x03: "load_block2d",
    0x04: "store", 0x05: "store_strided", 0x06: "store_quad", 0x07: "store_block2d",
    0x08: "atomic_iinc", 0x09: "atomic_idec", 0x0A: "atomic_load", 0x0B: "atomic_store", 0x0C: "atomic_iadd",
    0x0D: "atomic_isub", 0x0E: "atomic_smin", 0x0F: "atomic_smax", 0x10: "atomic_umin", 0x11: "atomic_umax",
    0x12: "atomic_icas", 0x13: "atomic_fadd", 0x14: "atomic_fsub", 0x15: "atomic_fmin", 0x16: "atomic_fmax",
    0x17: "atomic_fcas", 0x18: "atomic_and", 0x19: "atomic_or", 0x1A: "atomic_xor", 0x1B: "load_status",
    0x1C: "store_uncompressed", 0x1D: "ccs", 0x1E: "read_state", 0x1F: "fence", 0x20: "store_uncompressed_quad",
    0x28: "atomic_acadd", 0x29: "atomic_acsub", 0x2A: "atomic_acstore", 0x31: "load_quad_msrt", 0x32: "store_quad_msrt",
}  # fmt: skip
#: Bytes in memory, by Descriptor[11:9]: d8, d16, d32, d64, d8u32, d16u32, d16u32h.
_ELEMENT_BYTES = (1, 2, 4, 8, 1, 2, 2, 0)
#: By Descriptor[14:12].
_ELEMENTS = (1, 2, 3, 4, 8, 16, 32, 64)
#: By Descriptor[30:29].
_SURFACE_STATE, _TABLE = 2, 3
_SURFACES = ("flat", "bss", "ss", "bti")
_LOAD, _STORE = 0, 4
#: The subregister of a0 in which IGC keeps the surface of scratch space.
_SCRATCH_SURFACE = 2


def load_store_cache_message(send: Send) -> InstructionKind:
    """Decode a message whose descriptor is immediate."""
    operation = _OPERATIONS.get(send.bits(5, 0), "")
    if operation == "fence":
        return without_memory(SYNCHRONISATION, operation)
    if operation in ("", "ccs"):
        return without_memory(OTHER, operation or "unknown")
    by = send.bits(30, 29)
    surface = _SURFACES[by]
    if by == _TABLE and send.extended is not None:
        surface = f"bti[{send.extended >> 24}]"
    # IGC addresses buffers by bss, bti or flat, and a thread's own memory by ss.
    space = {"slm": SLM, "tgm": IMAGE}.get(send.target, SCRATCH if by == _SURFACE_STATE else GLOBAL)
    action = {"load": LOAD, "read": LOAD, "store": STORE, "atomic": ATOMIC}[operation.split("_")[0]]
    if action == LOAD and send.answer_registers == 0:  # A load to null.
        action = PREFETCH if space == GLOBAL else LOAD
    if operation in ("load_block2d", "store_block2d", "read_state"):
        # The addresses hold the shape.
        size = send.bytes_of(send.data_registers if action == STORE else send.answer_registers)
        size = None if action == PREFETCH else size
        return access_of_size(space, action, operation, size, surface)
    is_block = False
    if "quad" in operation:
        elements = send.bits(15, 12).bit_count()
    else:
        elements, is_block = _ELEMENTS[send.bits(14, 12)], bool(send.bits(15, 15))
    lanes = 1 if is_block else send.execution_size
    element_bytes = _ELEMENT_BYTES[send.bits(11, 9)]
    return access(space, action, operation, element_bytes, elements, lanes, surface, is_spill=_is_spill(send))


def _is_spill(send: Send) -> bool:
    """Return whether the message is a spill, as ``Access`` says: a block of scratch space with the surface in a0.2.
    Uniform private arrays look the same but for their cache control."""
    return (
        send.target == "ugm"
        and send.bits(5, 0) in (_LOAD, _STORE)
        and send.bits(30, 29) == _SURFACE_STATE
        and send.bits(15, 15) == 1
        and send.execution_size == 1
        and send.extended_register == _SCRATCH_SURFACE
        and send.bits(19, 17) == 0
    )

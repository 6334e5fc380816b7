"""The messages that save values that did not fit into the registers, and bring them back.

Nothing in a descriptor says it; these rules are what IGC's register allocator writes and nothing else in its code does.
They agree with the comments of its assembly dumps on every message of the spilling kernels in ``tests/corpus/spills.py``.
"""

from __future__ import annotations

from kernlens.isa.messages.send import Send

#: The surface of global memory in data-cache messages, coherent: ``MessageDecoder.hpp`` of libiga64.
_STATELESS = 0xFF
_LOAD, _STORE = 0, 4
_SURFACE_STATE = 2
#: The subregister of a0 in which IGC keeps the surface of scratch space.
_SCRATCH_SURFACE = 2


def is_spill_of_data_cache(send: Send) -> bool:
    """Return whether a message of the data cache is a spill: every block of scratch space, and, in kernels with stack
    calls, stateless oword blocks, neither of which anything else uses."""
    is_scratch_block = bool(send.bits(18, 18))
    is_stateless_block = send.bits(17, 14) in (0, 8) and send.bits(7, 0) == _STATELESS
    return send.target == "dc0" and (is_scratch_block or is_stateless_block)


def is_spill_of_load_store_cache(send: Send) -> bool:
    """Return whether the message is a spill: a block of scratch space with the surface in a0.2. Uniform private arrays
    look the same but for their cache control."""
    return (
        send.target == "ugm"
        and send.bits(5, 0) in (_LOAD, _STORE)
        and send.bits(30, 29) == _SURFACE_STATE
        and send.bits(15, 15) == 1
        and send.execution_size == 1
        and send.extended_register == _SCRATCH_SURFACE
        and send.bits(19, 17) == 0
    )

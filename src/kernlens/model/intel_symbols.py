"""Names that Intel's compiler and driver agree on, in every format."""

from __future__ import annotations

#: The compiler emits the code of all functions that are not kernels as if it were a kernel of this name.
PSEUDO_KERNEL = "Intel_Symbol_Table_Void_Program"

#: Symbols that the driver itself defines: no module exports them.
DRIVER_SYMBOLS = frozenset(
    (
        "__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0",
        "__INTEL_PER_THREAD_OFF",
        "__INTEL_SURFACE_STATE_SIZE",
        "__SubDeviceID",
    )
)

"""The kinds of AMD's instructions, by their mnemonics and, where these do not say it, their operands.

Source: AMD's instruction set documents "Vega" (gfx9), "RDNA 1" to "RDNA 4", "CDNA 1" to "CDNA 3": chapters "Scalar ALU
Operations" to "Data Share Operations". What a flat instruction accesses is global memory unless its address says otherwise at
run time. A ``buffer_`` instruction accesses what its descriptor says: the work-item's own memory where that is certain
(``gcn_scratch``), else global memory. No mnemonic says that an access spills a register.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kernlens.model.instruction_kind import (
    ATOMIC,
    CONTROL,
    FLOAT,
    GLOBAL,
    IMAGE,
    INTEGER,
    LOAD,
    MATH,
    MOVE,
    OTHER,
    PREFETCH,
    SCRATCH,
    SLM,
    STORE,
    SYNCHRONISATION,
    SYSTOLIC,
    Access,
    InstructionKind,
)

_KINDS = {
    name: InstructionKind(name) for name in (CONTROL, FLOAT, INTEGER, MATH, MOVE, OTHER, SYNCHRONISATION, SYSTOLIC)
}
#: Of vector and scalar instructions, what their mnemonics begin with; the first that fits counts.
_BY_BEGINNING = (
    (CONTROL, ("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call", "s_endpgm", "s_trap", "s_rfe", "s_subvector")),
    (
        SYNCHRONISATION,
        ("s_waitcnt", "s_wait_", "s_barrier", "s_sleep", "s_wakeup", "s_delay_alu", "s_sendmsg", "s_dcache", "s_icache",
         "s_gl1_inv", "s_get_barrier", "buffer_inv", "buffer_wb", "buffer_gl", "global_inv", "global_wb", "ds_gws"),
    ),
    (
        OTHER,
        ("s_nop", "s_clause", "s_inst_prefetch", "s_set_inst_prefetch", "s_prefetch_inst", "s_set_gpr_idx", "s_setprio",
         "s_ttrace", "s_sethalt", "s_setkill", "s_code_end",
         "s_setreg", "s_getreg", "s_memtime", "s_memrealtime", "s_incperf", "s_decperf",
         "s_version", "s_round_mode", "s_denorm_mode", "s_get_waveid", "s_alloc_vgpr", "s_icache_prefetch", "v_nop",
         "v_pipeflush", "v_clrexcp", "v_interp", "v_illegal", "exp", "lds_", "ds_nop", "ds_param", "ds_direct",
         "image_get", "s_atc_probe"),
    ),
    (MOVE, ("ds_swizzle", "ds_permute", "ds_bpermute")),
    (SYSTOLIC, ("v_mfma", "v_smfma", "v_wmma", "v_swmma", "v_dot")),
    (
        MATH,
        ("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos", "v_tanh", "v_s_rcp", "v_s_rsq", "v_s_sqrt",
         "v_s_exp", "v_s_log"),
    ),
    (
        MOVE,
        ("s_mov", "s_cmov", "s_getpc", "s_cvt", "v_mov", "v_readlane", "v_readfirstlane", "v_writelane", "v_accvgpr",
         "v_swap", "v_cvt", "v_permlane", "s_sext", "v_perm_", "v_pack"),
    ),
)  # fmt: skip
#: Of data: what fetches instructions accesses no memory of the kernel's.
_PREFETCHES = ("s_prefetch_data", "s_buffer_prefetch_data", "global_prefetch", "flat_prefetch")
_SCALAR_MEMORY = ("s_load", "s_buffer_load", "s_store", "s_buffer_store", "s_atomic", "s_buffer_atomic")
_SCALAR_SCRATCH = ("s_scratch_load", "s_scratch_store")
_MEMORIES = (
    ("ds_", SLM),
    ("image_", IMAGE),
    ("scratch_", SCRATCH),
    ("global_", GLOBAL),
    ("flat_", GLOBAL),
    ("buffer_", GLOBAL),
    ("tbuffer_", GLOBAL),
)
_FLOAT_TYPE = re.compile(r"_(?:b?f|fp)\d+")
#: What the mnemonic says of the size: ``dwordx4``, ``b64``, ``u8``, ``sbyte``, ``short``.
_WORDS = re.compile(r"_dword(?:x(\d+))?(?:_|$)")
_BITS = re.compile(r"_(?:d16_(?:hi_)?)?(?:[biuf]|bf|pk_b?f)(8|16|32|64|96|128|256|512)(?:_|$)")
_PACKED = re.compile(r"_pk_(?:add|min|max)_b?f16")
_SMALL = (("byte", 1), ("short", 2))
_UNKNOWN_SIZE = re.compile(r"_format_|image_|_block|_bvh_")
_STORES = re.compile(r"_(?:write|store)")
_LOADS = re.compile(r"_(?:read|load|sample|gather|bvh)")


@lru_cache(1 << 14)
def kind_of(mnemonic: str, lanes: int) -> InstructionKind:
    """Return the kind of an instruction of a wavefront of ``lanes`` work-items."""
    if mnemonic.startswith("v_dual_"):
        mnemonic = "v_" + mnemonic.removeprefix("v_dual_")
    for kind, beginnings in _BY_BEGINNING:
        if mnemonic.startswith(beginnings):
            return _KINDS[kind]
    if mnemonic.startswith(_PREFETCHES):
        return InstructionKind(GLOBAL, Access(mnemonic, PREFETCH, lanes=1 if mnemonic[0] == "s" else lanes, size=None))
    if mnemonic.startswith(_SCALAR_MEMORY):
        return _access(GLOBAL, mnemonic, 1)
    if mnemonic.startswith(_SCALAR_SCRATCH):
        return _access(SCRATCH, mnemonic, 1)
    for beginning, space in _MEMORIES:
        if mnemonic.startswith(beginning):
            return _access(space, mnemonic, lanes)
    if mnemonic.startswith(("v_", "s_")):
        return _KINDS[FLOAT if _FLOAT_TYPE.search(mnemonic) else INTEGER]
    return _KINDS[OTHER]


def _access(space: str, mnemonic: str, lanes: int) -> InstructionKind:
    action = STORE if _STORES.search(mnemonic) else LOAD if _LOADS.search(mnemonic) else ATOMIC
    elements = 2 if re.search(r"(?:read|write|load|store)2", mnemonic) else 1
    if "xchg2" in mnemonic or "storexchg_2addr" in mnemonic or "_2addr" in mnemonic:
        elements = 2
    size = _element_bytes(mnemonic, action)
    access = Access(
        operation=mnemonic,
        action=action,
        element_bytes=size or 0,
        elements=elements,
        lanes=lanes,
        surface=mnemonic.partition("_")[0],
        size=None if size is None else size * elements * lanes,
    )
    return InstructionKind(space, access)


def _element_bytes(mnemonic: str, action: str) -> int | None:
    """Return the bytes that each lane accesses; None where the mnemonic does not say it: formats are known at run time."""
    if _UNKNOWN_SIZE.search(mnemonic):
        return None
    words = _WORDS.search(mnemonic)
    if words:
        return 4 * int(words[1] or 1)
    if action == ATOMIC and _PACKED.search(mnemonic):
        return 4
    bits = _BITS.search(mnemonic)
    if bits:
        return int(bits[1]) // 8
    for word, size in _SMALL:
        if word in mnemonic:
            return size
    if action == ATOMIC:
        return 8 if mnemonic.endswith("_x2") or "_x2_" in mnemonic else 4
    return None

"""The kinds of AMD's instructions, and what they access."""

from __future__ import annotations

import pytest

from kernlens.isa.amd.gcn_kinds import kind_of


@pytest.mark.parametrize(
    ("mnemonics", "kind"),
    [
        ("v_add_f32_e32 v_fma_f64 v_pk_fma_f32 v_cmp_lt_f16_e64 v_dual_mul_f32 s_add_f32 v_div_fixup_f32", "float"),
        ("v_add_u32_e32 v_cmp_eq_i32_e64 s_and_b64 v_cndmask_b32_e64 s_lshl_b32 v_dual_lshlrev_b32", "integer"),
        ("v_rcp_f32_e32 v_sqrt_f64_e32 v_exp_f32_e32 v_s_rsq_f32", "math"),
        ("v_mov_b32_e32 s_movk_i32 v_cvt_f32_i32_e32 v_readfirstlane_b32 ds_bpermute_b32 v_dual_mov_b32", "move"),
        ("v_mfma_f32_32x32x8f16 v_wmma_f32_16x16x16_f16 v_dot4_i32_iu8", "systolic"),
        ("s_branch s_cbranch_execz s_endpgm s_setpc_b64 s_swappc_b64 s_call_b64", "control"),
        ("s_waitcnt s_wait_loadcnt s_barrier s_barrier_signal buffer_gl0_inv global_wb s_delay_alu", "synchronisation"),
        ("s_nop s_clause s_code_end exp s_setprio v_nop", "other"),
    ],
)
def test_kinds_without_memory(mnemonics: str, kind: str) -> None:
    for mnemonic in mnemonics.split():
        read = kind_of(mnemonic, 32)
        assert (read.name, read.access) == (kind, None), mnemonic


@pytest.mark.parametrize(
    ("mnemonic", "space", "action", "size"),
    [
        ("s_load_dwordx8", "global", "load", 32),
        ("s_load_b512", "global", "load", 64),
        ("s_buffer_load_dword", "global", "load", 4),
        ("global_load_dwordx4", "global", "load", 16 * 64),
        ("global_prefetch_b8", "global", "prefetch", None),
        ("s_prefetch_data", "global", "prefetch", None),
        ("s_buffer_prefetch_data", "global", "prefetch", None),
        ("global_load_ushort", "global", "load", 2 * 64),
        ("global_load_d16_hi_b16", "global", "load", 2 * 64),
        ("global_store_byte", "global", "store", 64),
        ("global_store_b96", "global", "store", 12 * 64),
        ("global_atomic_add", "global", "atomic", 4 * 64),
        ("global_atomic_add_x2", "global", "atomic", 8 * 64),
        ("global_atomic_add_u64", "global", "atomic", 8 * 64),
        ("global_atomic_pk_add_f16", "global", "atomic", 4 * 64),
        ("flat_load_dword", "global", "load", 4 * 64),
        ("buffer_store_dword", "global", "store", 4 * 64),
        ("buffer_load_format_xyzw", "global", "load", None),
        ("scratch_load_b32", "scratch", "load", 4 * 64),
        ("ds_read2_b64", "slm", "load", 16 * 64),
        ("ds_load_2addr_b32", "slm", "load", 8 * 64),
        ("ds_write_b128", "slm", "store", 16 * 64),
        ("ds_add_rtn_u32", "slm", "atomic", 4 * 64),
        ("ds_max_f64", "slm", "atomic", 8 * 64),
        ("image_sample_lz", "image", "load", None),
        ("image_store", "image", "store", None),
        ("image_atomic_add", "image", "atomic", None),
    ],
)
def test_what_is_accessed(mnemonic: str, space: str, action: str, size: int | None) -> None:
    kind = kind_of(mnemonic, 64)
    assert kind.access is not None
    assert (kind.name, kind.access.action, kind.access.size) == (space, action, size)
    assert not kind.access.is_spill

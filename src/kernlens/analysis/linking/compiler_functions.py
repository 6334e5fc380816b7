"""The functions that Intel's compiler has itself: SPIR-V that imports them needs no other module.

What the compiler never leaves as an import: intel-graphics-compiler, ``NeedsLinking`` in ``ProcessFuncAttributes.cpp``. The
families are the names in the compiler's libraries of built-in functions (``BiFModule``), as the symbol tables of IGC
1.0.12504 (NEO 22.43) and 2.40.14 (26.27) list them. The compiler compares whole names, the types of the arguments
included, and the rules here only what stands before those.
"""

from __future__ import annotations

import re

#: Never imports, whatever follows; a name that the compiler does not know fails the build.
_OWN = re.compile(r"__builtin_|__igcbuiltin_|printf$|_Z\d+(?:__builtin_bf16|__builtin_spirv|__spirv_)")
_LENGTH = re.compile(r"_Z(\d{1,3})")
_MATRIX = r"(?:i|u|f|bf)\d+_(?:i|u|f|bf)\d+_(?:split_)?matrix_mad_k\d+"
#: What follows ``_Z`` and the length of the name. An underscore ends a family of which only the beginning is compared.
_MANGLED = (
    "dot_acc_sat", "intel_(?:bfi|bfrev|sbfe|ubfe)", r"intel_convert_f32_to_bf16(?:_packed)?", r"intel_convert_bf16_to_f32",
    "intel_eu_thread_pause", "intel_get_(?:active_channel_mask|cycle_counter|(?:dual_)?(?:sub)?slice_id)",
    "intel_get_(?:control|flag|grf)_register", "intel_get_(?:eu|eu_thread|hw_thread)_id",
    "intel_profile_(?:aggregated|snapshot)", "intel_set_dbg_register", "intel_source_value",
    r"intel_sub_group_(?:media_)?block_(?:read|write)(?:_u[cils])?\d*",
    "intel_sub_group_(?:broadcast|(?:reduce|scan_exclusive|scan_inclusive)_(?:add|max|min))",
    "intel_sub_group_shuffle(?:_down|_up|_xor)?", f"intel_sub_group_{_MATRIX}", r"intel_work_group_va_\w*?",
)  # fmt: skip
_MANGLED_22_43 = (
    "intel_convert_(?:f32_to_tf32|tf32_to_f32)", r"intel_get_accelerator_mb_\w*?", r"intel_sub_group_(?:avc_|ime_ref_)\w*?",
    r"intel_sub_group_tf32_tf32_matrix_mad_k\d+_f32", r"intel_work_group_vme_\w*?",
)  # fmt: skip
_MANGLED_26_27 = (
    "clock_read_(?:hilo_)?(?:device|sub_group|work_group)", r"dot_(?:acc_sat_)?4x8_?packed_[su][su]_u?int",
    r"intel_atomic_fetch_(?:add|max|min|sub)_as_bfloat16(?:_explicit)?", r"intel_convert_\w*?_srnd", "intel_device_barrier",
    "intel_get_tile_id", "intel_is_device_barrier_valid", "intel_lfsr", "intel_sigmoid",
    "intel_convert_(?:f16_to_bf8|bf8_to_f16)", r"intel_sub_group_2d_block_\w*?",
    r"intel_sub_group_block_prefetch(?:_u[cils])?\d*", r"intel_sub_group_\w+?_(?:scaled_)?matrix_mad_k\d+(?:_b?f\d+)?",
)  # fmt: skip
_PLAIN_26_27 = (
    "__devicelib_(?:assert_fail|exit)",
    r"__devicelib_default_(?:work|sub)_group_(?:joint|private)_sort_\w+",
)


class CompilerFunctions:
    """The functions of one generation of the compiler. ``mangled`` and ``plain`` are families of names, as they are in
    C++'s encoding and without it."""

    def __init__(self, mangled: tuple[str, ...], plain: tuple[str, ...] = ()) -> None:
        self._mangled = re.compile("|".join(mangled))
        self._plain = re.compile("|".join(plain)) if plain else None

    def __contains__(self, name: str) -> bool:
        length = _LENGTH.match(name)
        if _OWN.match(name):
            return True
        if length is None:
            return self._plain is not None and self._plain.fullmatch(name) is not None
        return self._mangled.fullmatch(name, length.end(), length.end() + int(length[1])) is not None


FUNCTIONS_22_43 = CompilerFunctions(_MANGLED + _MANGLED_22_43)
FUNCTIONS_26_27 = CompilerFunctions(_MANGLED + _MANGLED_26_27, _PLAIN_26_27)

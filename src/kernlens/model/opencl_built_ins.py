"""The names of OpenCL C's built-in functions, for errors to offer, as clang's ``opencl-c.h`` declares them, and OpenCL C 3.0
lists those that compilers know by themselves (``printf``, pipes, the queue of the device). Vendors' own, and the families
``convert_T`` and ``as_T``, are not in the list.
"""

from __future__ import annotations

from functools import cache


def _listed(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_MATH = _listed("""
acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cbrt ceil copysign cos cosh cospi erf erfc exp exp10
exp2 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log10 log1p log2 logb
mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin sincos sinh sinpi sqrt
tan tanh tanpi tgamma trunc
""")
_FAST = _listed("""
cos divide exp exp10 exp2 log log10 log2 powr recip rsqrt sin sqrt tan
""")
_INTEGER = _listed("""
abs abs_diff add_sat bit_reverse bitfield_extract_signed bitfield_extract_unsigned bitfield_insert clz ctz hadd mad24
mad_hi mad_sat max min mul24 mul_hi popcount rhadd rotate sub_sat upsample
""")
_COMMON = _listed("""
all any bitselect clamp cross degrees distance dot fast_distance fast_length fast_normalize isequal isfinite isgreater
isgreaterequal isinf isless islessequal islessgreater isnan isnormal isnotequal isordered isunordered length mix
normalize radians select sign signbit smoothstep step
""")
_WORK_ITEM = _listed("""
get_enqueued_local_size get_enqueued_num_sub_groups get_global_id get_global_linear_id get_global_offset get_global_size
get_group_id get_local_id get_local_linear_id get_local_size get_max_sub_group_size get_num_groups get_num_sub_groups
get_sub_group_id get_sub_group_local_id get_sub_group_size get_work_dim
""")
_MEMORY = _listed("""
async_work_group_copy async_work_group_strided_copy atomic_work_item_fence barrier get_fence mem_fence prefetch
read_mem_fence shuffle shuffle2 sub_group_barrier to_global to_local to_private vec_step wait_group_events
work_group_barrier write_mem_fence printf
""")
_QUEUE = _listed("""
capture_event_profiling_info create_user_event enqueue_kernel enqueue_marker get_default_queue is_valid_event
is_valid_reserve_id ndrange_1D ndrange_2D ndrange_3D release_event retain_event set_user_event_status commit_read_pipe
commit_write_pipe get_pipe_max_packets get_pipe_num_packets read_pipe reserve_read_pipe reserve_write_pipe
work_group_commit_read_pipe work_group_commit_write_pipe work_group_reserve_read_pipe work_group_reserve_write_pipe
write_pipe
""")
_ATOMIC = _listed("""
compare_exchange_strong compare_exchange_weak exchange fetch_add fetch_and fetch_max fetch_min fetch_or fetch_sub
fetch_xor flag_clear flag_test_and_set load store
""")
_OLDER_ATOMIC = _listed("""
add and cmpxchg dec inc max min or sub xchg xor
""")
_SCANS = ("reduce", "scan_exclusive", "scan_inclusive")
_COMPONENTS = ("2", "3", "4", "8", "16")


@cache
def opencl_built_ins() -> tuple[str, ...]:
    """Return the names, in the order of the alphabet."""
    names = {*_MATH, *_INTEGER, *_COMMON, *_WORK_ITEM, *_MEMORY, *_QUEUE}
    names |= {f"{speed}_{name}" for speed in ("native", "half") for name in _FAST}
    names |= {f"atomic_{name}{ending}" for name in _ATOMIC for ending in ("", "_explicit")} | {"atomic_init"}
    names |= {f"{begin}_{name}" for begin in ("atomic", "atom") for name in _OLDER_ATOMIC}
    names |= {f"{access}_image{kind}" for access in ("read", "write") for kind in ("f", "h", "i", "ui")}
    names |= {
        f"get_image_{name}" for name in ("array_size", "channel_data_type", "channel_order", "depth", "dim", "height")
    }
    names |= {f"get_image_{name}" for name in ("num_mip_levels", "num_samples", "width")}
    names |= {
        f"{access}{half}{count}{rounding}"
        for access in ("vload", "vstore")
        for half in ("", "_half", "a_half")
        for count in ("", *_COMPONENTS)
        for rounding in ("", *(("_rte", "_rtn", "_rtp", "_rtz") if access == "vstore" and half else ()))
        if half == "_half" or count
    }
    for group in ("work_group", "sub_group"):
        names |= {f"{group}_{name}" for name in ("all", "any", "broadcast")}
        names |= {f"{group}_{scan}_{sum}" for scan in _SCANS for sum in ("add", "max", "min")}
    return tuple(sorted(names | set(_sub_group_names())))


def _sub_group_names() -> list[str]:
    """Return the names that extensions of OpenCL C 3.0 add for sub-groups."""
    of_bits = ("and", "or", "xor", "logical_and", "logical_or", "logical_xor")
    sums = ("add", "max", "min", "mul", *of_bits)
    return [
        *(f"sub_group_non_uniform_{scan}_{sum}" for scan in _SCANS for sum in sums),
        *(f"sub_group_clustered_reduce_{sum}" for sum in sums),
        *(f"sub_group_non_uniform_{name}" for name in ("all", "all_equal", "any", "broadcast")),
        *(f"sub_group_shuffle{ending}" for ending in ("", "_down", "_up", "_xor")),
        *(f"sub_group_ballot{ending}" for ending in ("", "_bit_count", "_bit_extract", "_find_lsb", "_find_msb")),
        *(f"sub_group_ballot_{scan}_scan" for scan in ("exclusive", "inclusive")),
        *(f"get_sub_group_{relation}_mask" for relation in ("eq", "ge", "gt", "le", "lt")),
        "sub_group_broadcast_first", "sub_group_elect", "sub_group_inverse_ballot", "sub_group_rotate",
        "sub_group_clustered_rotate",
        *(f"dot{acc}_4x8packed_{signs}_int" for acc in ("", "_acc_sat") for signs in ("ss", "su", "us")),
        "dot_4x8packed_uu_uint", "dot_acc_sat_4x8packed_uu_uint", "dot_acc_sat",
    ]  # fmt: skip


def misspelt_built_in(name: str) -> str | None:
    """Return the built-in function that a name which is none was likely meant to be; None if none is like it, or it is one."""
    from difflib import get_close_matches

    names = opencl_built_ins()
    if name in names or not 2 < len(name) <= 64:
        return None
    if name[:-1] in names:  # C's sinf, above all.
        return name[:-1]
    near = get_close_matches(name, names, 1, 0.8) if len(name) > 4 else []
    return near[0] if near else None

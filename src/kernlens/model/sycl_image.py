"""A device image of SYCL as its host describes it: target, options, kernels, and what it requires of a device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from kernlens.dataclass import dataclass, field

#: The sets of properties that are read here. Source: ``PropertySets.md`` of intel/llvm.
REQUIREMENTS, MISC = "SYCL/device requirements", "SYCL/misc properties"
EXPORTS, IMPORTS = "SYCL/exported symbols", "SYCL/imported symbols"
#: ``Format`` of a descriptor.
FORMATS = {0: "not stated", 1: "native", 2: "SPIR-V", 3: "LLVM bitcode", 4: "compressed"}
#: The names of the aspects by the numbers of ``sycl::aspect``. Source: ``sycl/info/aspects.def`` of intel-sycl-rt 2026.2.
ASPECTS = {
    1: "cpu", 2: "gpu", 3: "accelerator", 4: "custom", 5: "fp16", 6: "fp64", 9: "image", 10: "online_compiler",
    11: "online_linker", 12: "queue_profiling", 13: "usm_device_allocations", 14: "usm_host_allocations",
    15: "usm_shared_allocations", 17: "usm_system_allocations", 18: "ext_intel_pci_address", 19: "ext_intel_gpu_eu_count",
    20: "ext_intel_gpu_eu_simd_width", 21: "ext_intel_gpu_slices", 22: "ext_intel_gpu_subslices_per_slice",
    23: "ext_intel_gpu_eu_count_per_subslice", 24: "ext_intel_max_mem_bandwidth", 25: "usm_atomic_host_allocations",
    26: "usm_atomic_shared_allocations", 27: "atomic64", 28: "ext_intel_device_info_uuid", 29: "ext_oneapi_srgb",
    30: "ext_oneapi_native_assert", 31: "host_debuggable", 32: "ext_intel_gpu_hw_threads_per_eu",
    33: "ext_oneapi_cuda_async_barrier", 34: "ext_intel_free_memory", 35: "ext_intel_device_id",
    36: "ext_intel_memory_clock_rate", 37: "ext_intel_memory_bus_width", 38: "emulated", 39: "ext_intel_legacy_image",
    40: "ext_oneapi_bindless_images", 41: "ext_oneapi_bindless_images_shared_usm", 42: "ext_oneapi_bindless_images_1d_usm",
    43: "ext_oneapi_bindless_images_2d_usm", 44: "ext_oneapi_external_memory_import",
    45: "ext_oneapi_external_semaphore_import", 46: "ext_oneapi_mipmap", 47: "ext_oneapi_mipmap_anisotropy",
    48: "ext_oneapi_mipmap_level_reference", 49: "ext_intel_esimd", 50: "ext_oneapi_fragment", 51: "ext_oneapi_chunk",
    52: "ext_oneapi_tangle", 53: "ext_intel_matrix", 54: "ext_oneapi_is_composite", 55: "ext_oneapi_is_component",
    56: "ext_oneapi_graph", 57: "ext_oneapi_limited_graph", 58: "ext_oneapi_private_alloca", 59: "ext_oneapi_cubemap",
    60: "ext_oneapi_cubemap_seamless_filtering", 61: "ext_oneapi_bindless_sampled_image_fetch_1d_usm",
    62: "ext_oneapi_bindless_sampled_image_fetch_1d", 63: "ext_oneapi_bindless_sampled_image_fetch_2d_usm",
    64: "ext_oneapi_bindless_sampled_image_fetch_2d", 65: "ext_oneapi_bindless_sampled_image_fetch_3d",
    66: "ext_oneapi_queue_profiling_tag", 67: "ext_oneapi_virtual_mem", 68: "ext_oneapi_cuda_cluster_group",
    69: "ext_oneapi_image_array", 70: "ext_oneapi_unique_addressing_per_dim", 71: "ext_oneapi_bindless_images_sample_1d_usm",
    72: "ext_oneapi_bindless_images_sample_2d_usm", 73: "ext_oneapi_atomic16", 74: "ext_oneapi_virtual_functions",
    75: "ext_intel_spill_memory_size", 76: "ext_oneapi_bindless_images_gather",
    77: "ext_intel_current_clock_throttle_reasons", 78: "ext_intel_fan_speed", 79: "ext_intel_power_limits",
    80: "ext_oneapi_async_memory_alloc", 81: "ext_intel_device_info_luid", 82: "ext_intel_device_info_node_mask",
    83: "ext_oneapi_exportable_device_mem", 84: "ext_oneapi_clock_sub_group", 85: "ext_oneapi_clock_work_group",
    86: "ext_oneapi_clock_device", 87: "ext_oneapi_is_integrated_gpu", 88: "ext_oneapi_ipc_memory",
    89: "ext_oneapi_device_wait", 90: "ext_intel_xe_stack_count", 91: "ext_intel_xe_regions_per_stack",
    92: "ext_intel_xe_clusters_per_region", 93: "ext_intel_xe_cores_per_cluster", 94: "ext_intel_eus_per_xe_core",
    95: "ext_intel_max_lanes_per_hw_thread", 96: "ext_oneapi_ipc_physical_memory", 97: "ext_oneapi_register_host_memory",
    98: "ext_oneapi_per_event_profiling", 99: "ext_oneapi_ipc_event",
}  # fmt: skip

#: A property's value: a number, or a byte array without the size before it.
Value = int | bytes


@dataclass(frozen=True)
class SyclImage:
    """One descriptor. ``target`` is its device target (``spir64``, ``spir64_gen``), ``version`` and ``format`` are its own
    numbers, ``entries`` what it offers by name, ``properties`` its property sets by name."""

    target: str
    version: int
    format: int
    compile_options: str = ""
    link_options: str = ""
    entries: tuple[str, ...] = ()
    properties: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def number(self, name: str, of: str = MISC) -> int | None:
        """Return a property that is a number; None if it is not there."""
        value = self.properties.get(of, {}).get(name)
        return value if isinstance(value, int) else None

    def numbers(self, name: str, size: int = 4, of: str = REQUIREMENTS) -> tuple[int, ...]:
        """Return a property that is an array of numbers of ``size`` bytes; none if it is not there."""
        value = self.properties.get(of, {}).get(name)
        if not isinstance(value, bytes):
            return ()
        return tuple(int.from_bytes(value[at : at + size], "little") for at in range(0, len(value) - size + 1, size))

    def text(self, name: str, of: str = REQUIREMENTS) -> str | None:
        """Return a property that is a text; None if it is not there."""
        value = self.properties.get(of, {}).get(name)
        return value.rstrip(b"\0").decode("utf-8", "backslashreplace") if isinstance(value, bytes) else None

    @property
    def is_esimd(self) -> bool:
        """True if its kernels are for the vector compiler."""
        return bool(self.number("isEsimdImage"))

    @property
    def aspects(self) -> tuple[int, ...]:
        """The aspects that a device must have, as numbers of ``sycl::aspect``."""
        return self.numbers("aspects")

    @property
    def sub_group_size(self) -> int | None:
        """The sub-group size that a device must have; None for any."""
        return self.number("reqd_sub_group_size", REQUIREMENTS)

    @property
    def work_group_size(self) -> tuple[int, ...]:
        """The size of work-groups that its kernels need, in the order of the range's dimensions; empty for any."""
        return self.numbers("reqd_work_group_size_uint64_t", 8) or self.numbers("reqd_work_group_size")

    @property
    def compile_target(self) -> str | None:
        """The architecture that it was compiled for ahead of time (``intel_gpu_pvc``); None where it is not stated."""
        return self.text("compile_target")

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """The entries that are kernels: exported functions are entries, too."""
        exported = self.properties.get(EXPORTS, {})
        return tuple(name for name in self.entries if name not in exported)

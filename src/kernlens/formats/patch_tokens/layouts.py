"""The kinds of patch token, and how the bytes of one become a dataclass.

Source: ``patch_list.h`` and ``patch_shared.h`` of intel-graphics-compiler (``PATCH_TOKEN`` and the ``SPatch*``
structures named below) and, for entries of tables, ``RelocationInfo.h`` (``GenSymEntry``, ``GenRelocEntry``,
``HostAccessEntry``). Everything is little-endian and packed. Structures have grown over the versions, mostly at their
end: a field that an older writer did not have is None, what a newer one appended stays in ``payload``.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import ClassVar, dataclass_transform

from kernlens.dataclass import dataclass

#: Numbers of tokens that other modules look for (``PATCH_TOKEN``).
LOCAL_SURFACE = 15
SCRATCH_SLOT_0 = 18
THREAD_PAYLOAD = 22
EXECUTION_ENVIRONMENT = 23
ARGUMENT_DESCRIPTION = 26
KERNEL_ATTRIBUTES = 27
PRIVATE_MEMORY = 38
GLOBAL_MEMORY = 41
CONSTANT_MEMORY = 42
SYMBOL_TABLE = 53
RELOCATION_TABLE = 54
SCRATCH_SLOT_1 = 55

#: ``PayloadParameter.kind`` values that other modules look for (``DATA_PARAMETER_TOKEN``).
PARAMETER_KERNEL_ARGUMENT = 1
PARAMETER_LOCAL_MEMORY_SIZES = 8


@dataclass_transform(frozen_default=True)
class _Fields:
    """Makes a class's annotations its fields, as a frozen dataclass does. (Thirty dataclasses take 15 ms to define, more
    than everything else that listing a file's kernels imports.)"""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *values: object) -> None:
        self.__dict__.update(zip(self._fields, values, strict=False))

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields if name not in ("payload", "contents"))
        return f"{type(self).__name__}({', '.join(shown)})"


class PatchToken(_Fields):
    """One item of a patch list. ``offset`` is where it starts in the list, ``payload`` what follows its 8-byte head
    (for tokens 41 and 42 the inline bytes too). A token of unknown number is of this very class."""

    number: int
    offset: int
    payload: memoryview


class StateSip(PatchToken):
    """2, SPatchStateSIP."""

    system_kernel_offset: int


class SamplerStateArray(PatchToken):
    """5, SPatchSamplerStateArray: offsets within the dynamic state heap."""

    heap_offset: int
    count: int
    border_color_offset: int


class BindingTable(PatchToken):
    """8, SPatchBindingTableState: offsets within the surface state heap."""

    heap_offset: int
    count: int
    surface_state_offset: int


class BufferArgument(PatchToken):
    """11, SPatchGlobalMemoryObjectKernelArgument: a buffer reached through a surface state."""

    argument: int
    heap_offset: int
    location: int
    location_count: int
    is_emulation: int


class ImageArgument(PatchToken):
    """12, SPatchImageMemoryObjectKernelArgument."""

    argument: int
    kind: int
    heap_offset: int
    location: int
    location_count: int
    writeable: int
    transformable: int
    needs_bindless_handle: int
    is_emulation: int
    binding_table_offset: int | None = None


class LocalSurface(PatchToken):
    """15, SPatchAllocateLocalSurface: ``size`` bytes of shared local memory declared in the kernel."""

    heap_offset: int
    size: int


class SamplerArgument(PatchToken):
    """16, SPatchSamplerKernelArgument."""

    argument: int
    kind: int
    heap_offset: int
    location: int
    location_count: int
    needs_bindless_handle: int
    texture_mask: int
    is_emulation: int
    binding_table_offset: int | None = None


class PayloadParameter(PatchToken):
    """17, SPatchDataParameterBuffer: ``size`` bytes that the driver writes at ``offset_in_payload`` of each thread's
    cross-thread payload. ``kind`` is a DATA_PARAMETER_TOKEN, ``source_offset`` the offset within the value."""

    kind: int
    argument: int
    offset_in_payload: int
    size: int
    source_offset: int
    location: int
    location_count: int
    is_emulation: int
    is_scalar_cast_to_pointer: int | None = None


class ScratchSlot(PatchToken):
    """18 (slot 0) and 55 (slot 1), SPatchMediaVFEState: scratch bytes per thread, rounded up to a power of 2."""

    heap_offset: int
    bytes_per_thread: int


class InterfaceDescriptorLoad(PatchToken):
    """19, SPatchMediaInterfaceDescriptorLoad."""

    descriptor_offset: int


class InterfaceDescriptor(PatchToken):
    """21, SPatchInterfaceDescriptorData: offsets within the dynamic, kernel and surface state heaps."""

    heap_offset: int
    sampler_state_offset: int
    kernel_offset: int
    binding_table_offset: int


class ThreadPayload(PatchToken):
    """22, SPatchThreadPayload: what a thread finds in its registers when it starts.

    ``skip_per_thread_load`` and ``skip_ffid_setup`` are byte offsets in the code, behind parts of the prologue that the
    driver may leave out.
    """

    header_present: int
    local_id_x_present: int
    local_id_y_present: int
    local_id_z_present: int
    local_id_flattened_present: int
    indirect_payload_storage: int
    unused_per_thread_constant_present: int
    get_local_id_present: int
    get_group_id_present: int
    get_global_offset_present: int
    stage_in_grid_origin_present: int
    stage_in_grid_size_present: int
    skip_per_thread_load: int | None = None
    skip_ffid_setup: int | None = None
    pass_inline_constants: int | None = None
    rt_stack_id_present: int | None = None
    generate_local_id: int | None = None
    emit_local_mask: int | None = None
    walk_order: int | None = None
    tile_y: int | None = None


class ExecutionEnvironment(PatchToken):
    """23, SPatchExecutionEnvironment. ``barriers`` is encoded: 0 to 7 mean 0, 1, 2, 4, 8, 16, 24, 32 barriers.

    SIMDInfo and RequireDisableEUFusion, whose offsets differ between writers of one version number, stay in ``payload``.
    """

    required_size_x: int
    required_size_y: int
    required_size_z: int
    simd: int
    compiled_sub_groups: int
    barriers: int
    has_sample: int | None
    disable_mid_thread_preemption: int
    compiled_simd8: int
    compiled_simd16: int
    compiled_simd32: int
    has_device_enqueue: int
    may_access_undeclared_resource: int
    uses_fences_for_images: int
    uses_stateless_spill: int
    uses_multi_scratch_spaces: int | None
    is_coherent: int
    is_initializer: int
    is_finalizer: int
    sub_group_forward_progress: int
    compiled_for_large_buffers: int
    registers: int | None = None
    walk_order_dimensions: int | None = None
    has_global_atomics: int | None = None
    has_dpas: int | None = None
    has_ray_tracing_calls: int | None = None
    threads_required: int | None = None
    stateless_writes: int | None = None
    indirect_stateless_accesses: int | None = None
    uses_bindless: int | None = None
    has_stack_calls: int | None = None


class PayloadSize(PatchToken):
    """25, SPatchDataParameterStream: bytes of cross-thread payload."""

    size: int


class ArgumentDescription(PatchToken):
    """26, SPatchKernelArgumentInfo: an argument as the source declares it, in the compiler's spelling (``__global``,
    ``__read_only``, ``NONE``); ``type_name`` reads like ``float*;8``, the size in bytes after the semicolon."""

    argument: int
    address_qualifier: str
    access_qualifier: str
    name: str
    type_name: str
    type_qualifier: str


class KernelAttributes(PatchToken):
    """27, SPatchKernelAttributesInfo, like ``intel_reqd_sub_group_size(16) reqd_work_group_size(16,4,1)``."""

    text: str


class PrintfString(PatchToken):
    """28, SPatchString: a format string of ``printf``."""

    index: int
    text: str


class StatelessArgument(PatchToken):
    """30 global, 31 constant, 46 device queue (SPatchStateless*KernelArgument): a pointer in the payload."""

    argument: int
    heap_offset: int
    offset_in_payload: int
    size: int
    location: int
    location_count: int
    is_emulation: int


class IndexedSurface(PatchToken):
    """33 printf, 36 event pool, 43 global, 44 constant memory (SPatchAllocateStateless*Surface*): a pointer to it."""

    index: int
    heap_offset: int
    offset_in_payload: int
    size: int


class PrivateMemory(PatchToken):
    """38, SPatchAllocateStatelessPrivateSurface. ``bytes_per_thread`` counts for a work-item if ``is_simt_thread``,
    else for a hardware thread (None: an older writer, which did not say). With 0 the base address is still passed."""

    heap_offset: int
    offset_in_payload: int
    size: int
    bytes_per_thread: int
    is_simt_thread: int | None = None


class ProgramMemory(PatchToken):
    """41 global, 42 constant (SPatchAllocate*MemorySurfaceProgramBinaryInfo): ``contents`` is the initial image."""

    kind: int | None
    index: int
    contents: memoryview


class PointerInitializer(PatchToken):
    """47 in global, 48 in constant memory (SPatch*PointerProgramBinaryInfo): the pointer at ``site`` holds an offset
    in buffer ``target_index`` of ``target_kind`` (0 global, 1 constant); the driver adds that buffer's address."""

    index: int
    site: int
    target_kind: int
    target_index: int


@dataclass(frozen=True, slots=True)
class SymbolEntry:
    """GenSymEntry: ``kind`` is 0 none, 1 undefined, 2 function, 3 global variable, 4 constant, 5 sampler, 6 kernel."""

    kind: int
    offset: int
    size: int
    name: str


class SymbolTable(PatchToken):
    """53, SPatchFunctionTableInfo."""

    entries: tuple[SymbolEntry, ...]


@dataclass(frozen=True, slots=True)
class RelocationEntry:
    """GenRelocEntry: ``offset`` is within the kernel heap."""

    kind: int
    offset: int
    symbol: str


class RelocationTable(PatchToken):
    """54, SPatchFunctionTableInfo."""

    entries: tuple[RelocationEntry, ...]


class PayloadSurface(PatchToken):
    """45 default device queue, 56 synchronisation buffer, 58 ray tracing buffer: a pointer that the driver supplies."""

    heap_offset: int
    offset_in_payload: int
    size: int


class HostAccessTable(PatchToken):
    """57, SPatchGlobalHostAccessTableInfo: (name on the device, name on the host) of global variables."""

    entries: tuple[tuple[str, str], ...]

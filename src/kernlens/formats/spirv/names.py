"""Names of SPIR-V's enumerants, as far as compute modules use them; a number without a name is shown as the number.

Source: SPIR-V Specification, section 3 "Binary Form": 3.31 Capability, 3.3 Execution Model, 3.7 Storage Class, 3.2
Source Language, 3.4 Addressing Model, 3.5 Memory Model; the registry's ``spir-v.xml`` for generators.
"""

from __future__ import annotations


def _numbered(names: str, first: int = 0) -> dict[int, str]:
    """Return the names by their numbers, which count from ``first``; a question mark stands for a number without a name."""
    return {number: name for number, name in enumerate(names.split(), first) if name != "?"}


CAPABILITIES = {
    **_numbered(
        "Matrix Shader Geometry Tessellation Addresses Linkage Kernel Vector16 Float16Buffer Float16 Float64 Int64 "
        "Int64Atomics ImageBasic ImageReadWrite ImageMipmap ? Pipes Groups DeviceEnqueue LiteralSampler AtomicStorage Int16"
    ),
    **_numbered("GenericPointer Int8 ? ? ? Sampled1D Image1D ? SampledBuffer ImageBuffer", 38),
    **_numbered("SubgroupDispatch NamedBarrier PipeStorage GroupNonUniform GroupNonUniformVote", 58),
    **_numbered("GroupNonUniformArithmetic GroupNonUniformBallot GroupNonUniformShuffle", 63),
    **_numbered("GroupNonUniformShuffleRelative GroupNonUniformClustered GroupNonUniformQuad", 66),
    **_numbered("SubgroupShuffleINTEL SubgroupBufferBlockIOINTEL SubgroupImageBlockIOINTEL", 5568),
    5579: "SubgroupImageMediaBlockIOINTEL",
}
EXECUTION_MODELS = _numbered("Vertex TessellationControl TessellationEvaluation Geometry Fragment GLCompute Kernel")
STORAGE_CLASSES = {
    **_numbered("UniformConstant Input Uniform Output Workgroup CrossWorkgroup Private Function Generic PushConstant"),
    **_numbered("AtomicCounter Image StorageBuffer", 10),
    **{5605: "CodeSectionINTEL", 5936: "DeviceOnlyINTEL", 5937: "HostOnlyINTEL"},
}
SOURCE_LANGUAGES = _numbered("Unknown ESSL GLSL OpenCL_C OpenCL_CPP HLSL CPP_for_OpenCL SYCL")
ADDRESSING_MODELS = _numbered("Logical Physical32 Physical64")
MEMORY_MODELS = _numbered("Simple GLSL450 OpenCL Vulkan")
LINKAGE_KINDS = _numbered("Export Import LinkOnceODR")
GENERATORS = {
    6: "Khronos LLVM/SPIR-V Translator",
    7: "Khronos SPIR-V Tools Assembler",
    8: "Khronos Glslang Reference Front End",
    17: "Khronos SPIR-V Tools Linker",
}

#: OpenCL C's words for the storage classes of pointers.
ADDRESS_SPACES = {0: "constant", 4: "local", 5: "global", 7: "private", 8: "generic"}


def name_of(table: dict[int, str], number: int) -> str:
    """Return the enumerant's name, or its number in decimal."""
    return table.get(number) or str(number)

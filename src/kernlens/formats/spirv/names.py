"""Names of SPIR-V's enumerants, as far as compute modules use them; a number without a name is shown as the number.

Source: SPIR-V Specification, section 3 "Binary Form": 3.31 Capability, 3.3 Execution Model, 3.7 Storage Class, 3.2
Source Language, 3.4 Addressing Model, 3.5 Memory Model; the registry's ``spir-v.xml`` for generators.
"""

from __future__ import annotations

_NUMBERED = (
    "Matrix Shader Geometry Tessellation Addresses Linkage Kernel Vector16 Float16Buffer Float16 Float64 Int64 "
    "Int64Atomics ImageBasic ImageReadWrite ImageMipmap ? Pipes Groups DeviceEnqueue LiteralSampler AtomicStorage Int16"
)
CAPABILITIES = {number: name for number, name in enumerate(_NUMBERED.split()) if name != "?"} | {
    38: "GenericPointer",
    39: "Int8",
    43: "Sampled1D",
    44: "Image1D",
    46: "SampledBuffer",
    47: "ImageBuffer",
    58: "SubgroupDispatch",
    59: "NamedBarrier",
    60: "PipeStorage",
    61: "GroupNonUniform",
    62: "GroupNonUniformVote",
    63: "GroupNonUniformArithmetic",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    66: "GroupNonUniformShuffleRelative",
    67: "GroupNonUniformClustered",
    68: "GroupNonUniformQuad",
    5568: "SubgroupShuffleINTEL",
    5569: "SubgroupBufferBlockIOINTEL",
    5570: "SubgroupImageBlockIOINTEL",
    5579: "SubgroupImageMediaBlockIOINTEL",
}

EXECUTION_MODELS = dict(
    enumerate(
        ["Vertex", "TessellationControl", "TessellationEvaluation", "Geometry", "Fragment", "GLCompute", "Kernel"]
    )
)

STORAGE_CLASSES = dict(
    enumerate(
        [
            "UniformConstant",
            "Input",
            "Uniform",
            "Output",
            "Workgroup",
            "CrossWorkgroup",
            "Private",
            "Function",
            "Generic",
            "PushConstant",
            "AtomicCounter",
            "Image",
            "StorageBuffer",
        ]
    )
) | {5605: "CodeSectionINTEL", 5936: "DeviceOnlyINTEL", 5937: "HostOnlyINTEL"}

SOURCE_LANGUAGES = dict(
    enumerate(["Unknown", "ESSL", "GLSL", "OpenCL_C", "OpenCL_CPP", "HLSL", "CPP_for_OpenCL", "SYCL"])
)
ADDRESSING_MODELS = dict(enumerate(["Logical", "Physical32", "Physical64"]))
MEMORY_MODELS = dict(enumerate(["Simple", "GLSL450", "OpenCL", "Vulkan"]))
LINKAGE_KINDS = dict(enumerate(["Export", "Import", "LinkOnceODR"]))

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

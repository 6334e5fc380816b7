"""The reasons why Intel's compilers for OpenCL would make nothing of a SPIR-V module. They say it themselves in no
words that help, or end with a program of no kernels: llvm-spirv passes over what it cannot read.

Source: SPIR-V Specification, sections 2.4 "Logical Layout of a Module" and 2.16.1 "Universal Validation Rules"; OpenCL SPIR-V
Environment Specification, section 2 (addressing models and memory model).
"""

from __future__ import annotations

from kernlens.errors import FormatError
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.formats.spirv.words import read_words, walk

_OP_FUNCTION = 54
_OP_FUNCTION_END = 56
_FUNCTIONS, _ENDS = range(2)


def why_unfit(data: memoryview) -> str | None:
    """Return the reason that keeps a module from being compiled for OpenCL, in a clause; None if none is known."""
    try:
        module = read_spirv(data)
        words, _ = read_words(data)
        functions, ends = walk(words, {_OP_FUNCTION: (5, _FUNCTIONS), _OP_FUNCTION_END: (1, _ENDS)}, 2)
    except FormatError as error:
        return str(error)
    if module.memory_model is None:
        return "the module has no memory model: it is cut off or damaged"
    if module.memory_model != "OpenCL" or module.addressing_model == "Logical":
        capabilities = "Shader" if "Shader" in module.capabilities else ", ".join(module.capabilities[:3]) or "none"
        return (
            f"it is SPIR-V for a graphics API such as Vulkan (memory model {module.memory_model}, addressing model"
            f" {module.addressing_model}, capability {capabilities}); kernlens compiles SPIR-V for OpenCL, as clang and"
            " llvm-spirv make it of OpenCL C or SYCL"
        )
    if len(ends) < len(functions):
        return "the module ends within a function: it is cut off"
    held = {words[at + 2] for at in functions}
    missing = [entry.name for entry in module.entry_points if entry.id not in held]
    if missing:
        return f"the module does not hold the function of its entry point {missing[0]}: it is cut off or damaged"
    return None

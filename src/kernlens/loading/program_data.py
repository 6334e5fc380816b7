"""The constants and initialised variables of a program, as its binary has them for the driver to load."""

from __future__ import annotations

#: Sections of a zebin and of NVIDIA's ELF that hold them. Constant bank 0 is that of the arguments, which a launch fills.
_SECTIONS = {"zebin": (".data",), "cubin": (".nv.constant", ".nv.global.init"), "amd-code-object": (".rodata", ".data")}
_ARGUMENTS = ".nv.constant0"


def program_data(format_name: str, binary: memoryview) -> dict[str, bytes] | None:
    """Return the bytes of each part, without those that are empty; None of a format whose data is not read. Raises FormatError
    for a damaged binary."""
    if format_name == "patch-tokens":
        from kernlens.formats.patch_tokens.program_binary import read_patch_tokens

        return read_patch_tokens(binary).contents
    if format_name not in _SECTIONS:
        return None
    from kernlens.formats.elf.elf_file import read_elf

    elf = read_elf(binary, format=format_name)
    data = {
        section.name: bytes(section.data)
        for section in elf.sections
        if section.name.startswith(_SECTIONS[format_name]) and not section.name.startswith(_ARGUMENTS)
    }
    if format_name == "amd-code-object" and ".rodata" in data:
        data[".rodata"] = _without_descriptors(binary, data[".rodata"])
    return {name: content for name, content in data.items() if content.strip(b"\0")}


def _without_descriptors(binary: memoryview, content: bytes) -> bytes:
    """Return ``.rodata`` with zeros in the place of kernel descriptors, which are no data of the program (LLVM's User Guide for
    AMDGPU Backend, "Kernel Descriptor")."""
    from kernlens.formats.amdgpu.code_object import read_code_object
    from kernlens.formats.elf.elf_file import read_elf

    section = read_elf(binary).section(".rodata")
    left = bytearray(content)
    for symbol in read_code_object(binary).symbols if section is not None else ():
        if section is not None and symbol.section == ".rodata" and symbol.name.endswith(".kd"):
            start = symbol.value - section.address
            if 0 <= start < len(left):
                left[start : start + symbol.size] = bytes(len(left[start : start + symbol.size]))
    return bytes(left)

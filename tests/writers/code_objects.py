"""The writers of AMD's code objects and of clang's offload bundles, small ones in memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tests.writers.elf import FUNC, GLOBAL, LOCAL, NOTYPE, OBJECT, SHT_NOTE, ElfWriter, note
from tests.writers.messagepack import packed

GFX1030, GFX90A = 0x36, 0x3F
#: ``s_endpgm``, ``s_nop 0``, ``s_code_end``.
END, NOP, CODE_END = (struct.pack("<I", word) for word in (0xBF810000, 0xBF800000, 0xBF9F0000))
TEXT_ADDRESS, RODATA_ADDRESS = 0x1900, 0x800
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"


def metadata(kernels: Sequence[Mapping[str, object]], target: str = "amdgcn-amd-amdhsa--gfx1030") -> dict[str, object]:
    """Return a code object's metadata, to be packed."""
    return {"amdhsa.version": [1, 1], "amdhsa.target": target, "amdhsa.kernels": list(kernels)}


def kernel(name: str, **figures: object) -> dict[str, object]:
    """Return a kernel's metadata; names of figures are without their first dot."""
    return {".name": name, ".symbol": f"{name}.kd", **{f".{key}": value for key, value in figures.items()}}


def code_object(
    kernels: Mapping[str, bytes],
    stated: object,
    *,
    flags: int = GFX1030,
    abi_version: int = 2,
    osabi: int = 64,
    has_functions: bool = True,
    sizes: Mapping[str, int] | None = None,
    sections: Mapping[str, bytes] | None = None,
    properties: int = 0,
    labels: int = 0,
) -> bytes:
    """Return a linked code object of these kernels' code, each at a multiple of 256 bytes. ``stated`` is what its note holds,
    None for no note; ``sizes`` replace those of symbols, ``sections`` are there besides;
    ``properties`` are those of the descriptors, ``labels`` the number of labels in the code, one for each instruction."""
    writer = ElfWriter(machine=224, type=3, abi_version=abi_version, flags=flags)
    if stated is not None:
        description = stated if isinstance(stated, bytes) else packed(stated)
        writer.add(".note", note(32, description, b"AMDGPU\0"), type=SHT_NOTE)
    text, descriptors, starts = bytearray(), bytearray(), {}
    for name, code in kernels.items():
        text += bytes(-len(text) % 256)
        starts[name] = len(text)
        distance = TEXT_ADDRESS + len(text) - (RODATA_ADDRESS + len(descriptors))
        descriptors += struct.pack("<16xq32xH6x", distance, properties)
        text += code
    rodata = writer.add(".rodata", bytes(descriptors), flags=2, address=RODATA_ADDRESS)
    code_section = writer.add(".text", bytes(text), flags=6, address=TEXT_ADDRESS)
    symbols = []
    for index, (name, start) in enumerate(starts.items()):
        size = (sizes or {}).get(name, len(kernels[name]))
        if has_functions:
            symbols.append((name, TEXT_ADDRESS + start, size, GLOBAL, FUNC, code_section))
        symbols.append((f"{name}.kd", RODATA_ADDRESS + 64 * index, 64, GLOBAL, OBJECT, rodata))
    symbols += [(f"BB{number}", TEXT_ADDRESS + 4 * number, 0, LOCAL, NOTYPE, code_section) for number in range(labels)]
    writer.add_symbols(symbols)
    for name, data in (sections or {}).items():
        writer.add(name, data)
    content = bytearray(writer.build())
    content[7] = osabi
    return bytes(content)


def bundle(images: Mapping[str, bytes], *, align: int = 4096) -> bytes:
    """Return a plain bundle of images by their ids."""
    table_size = len(MAGIC) + 8 + sum(24 + len(name) for name in images)
    table, content = bytearray(MAGIC + struct.pack("<Q", len(images))), bytearray()
    first = table_size + -table_size % align
    for name, image in images.items():
        content += bytes(-len(content) % align)
        table += struct.pack("<QQQ", first + len(content), len(image), len(name)) + name.encode()
        content += image
    return bytes(table) + bytes(first - table_size) + bytes(content)


def packed_bundle(plain: bytes, stored: bytes, *, version: int = 2, method: int = 0) -> bytes:
    """Return the packed form of ``plain``, of which ``stored`` is what the method made."""
    head = struct.pack("<4sHH", b"CCOB", version, method)
    if version == 1:
        return head + struct.pack("<I8x", len(plain)) + stored
    layout = "<II8x" if version == 2 else "<QQ8x"
    size = len(head) + struct.calcsize(layout) + len(stored)
    return head + struct.pack(layout, size, len(plain)) + stored

"""The kind of a file, from its first bytes; and a sentence for what it is not."""

from __future__ import annotations

import struct

from kernlens.errors import FormatError, KernlensError
from kernlens.formats.spirv.magic import is_spirv

#: Bytes by which a file is known.
START = 20
#: Bytes of a file that tell text from machine code, which has zeros among them.
_TELLING = 4096

_NEO_MACHINE, _KERNEL_DEBUG_MACHINE, _ZEBIN_MACHINE, _AMD_MACHINE = 0, 182, 205, 224
_DEBUG_ELF_TYPE = 2
#: As much of the magic of clang's offload bundles as there is in a file's first bytes.
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"[:START]

#: Raw instructions can begin with the bytes of a shorter magic by chance.
SURE = 3

#: First bytes of files that people give by mistake, and what to call them.
_STRANGERS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive (unpack it first)",
    b"\x1f\x8b": "gzip data (unpack it first)",
    b"\x28\xb5\x2f\xfd": "zstd data (unpack it first)",
    b"\xfd7zXZ": "xz data (unpack it first)",
    b"MZ": "a Windows executable",
    b"!<thin>\n": "a thin ar archive, which holds no members itself",
}


#: What a user may give instead.
READABLE = "kernlens reads device binaries, the libraries that hold them, SPIR-V, and recordings (.klens)"


def identify(content: memoryview) -> str | None:
    """Return the Container kind of ``content`` by its first bytes, ``recording`` for a .klens file; None if unknown."""
    start = bytes(content[:START])
    if start.startswith(b"!<arch>\n"):
        return "ar"
    if start.startswith(b"\x7fELF"):
        return _elf_kind(start)
    if start.startswith(b"CTNI"):
        return _ctni_kind(start)
    if is_spirv(start):
        return "spirv"
    if start.startswith((_BUNDLE, b"CCOB")):
        return "clang-bundle"
    if start[:4] in (b"BC\xc0\xde", b"\xde\xc0\x17\x0b"):
        return "llvm-bitcode"
    if start.startswith(b"poclbin\0"):
        return "poclbin"
    if start.startswith(b"SQLite format 3"):
        return "recording"
    return None


def kind_of(path: str, what: str = "file") -> tuple[str | None, bytes]:
    """Return the kind of a file, and its first bytes. Raises what ``open_regular`` raises, for a file called ``what``."""
    from kernlens.toolchain.source_reading import open_regular

    with open_regular(path, what) as file:
        start = file.read(_TELLING)
    return identify(memoryview(start)), start


def _elf_kind(start: bytes) -> str:
    if len(start) < 20:
        raise FormatError(f"the file ends after {len(start)} bytes, inside the ELF header", format="elf", offset=0)
    file_type, machine = struct.unpack_from("<HH", start, 16)
    if machine == _ZEBIN_MACHINE:
        return "zebin-debug" if file_type == _DEBUG_ELF_TYPE else "zebin"
    if machine == _KERNEL_DEBUG_MACHINE:
        return "kernel-debug-elf"
    if machine == _AMD_MACHINE:
        return "amd-code-object"
    return "neo-elf" if machine == _NEO_MACHINE else "host-elf"


def _ctni_kind(start: bytes) -> str:
    """Return the kind of what begins with CTNI. Programs and debug data share that magic: word 2 is a program's render
    core, but debug data's size, always 0 in fact."""
    if len(start) < 20:
        raise FormatError(f"the file ends after {len(start)} bytes, inside the header", format="patch-tokens", offset=0)
    _, _, second, third, _ = struct.unpack_from("<5I", start)
    return "patch-tokens" if second and third in (4, 8) else "debug-data"


def unknown_input(path: str, content: memoryview) -> KernlensError:
    """Return the error for content that ``identify`` does not know; it says what it looks like and what would help."""
    return no_instructions(path, content, 0) or KernlensError(
        f"{path} has no known magic number; if it is raw machine code, add --device D (kernlens devices lists them)"
    )


def no_instructions(path: str, content: memoryview, sure: int = SURE) -> KernlensError | None:
    """Return the error for content that cannot be raw instructions, which a magic of ``sure`` bytes or more tells; None if
    it can."""
    if not len(content):
        return KernlensError(f"{path} is empty; the command that should have written it failed: run it again")
    start = bytes(content[:4096])
    for magic, name in _STRANGERS.items():
        if len(magic) >= sure and start.startswith(magic):
            return KernlensError(f"{path} is {name}, not a GPU binary; {READABLE}")
    if _is_text(start):
        return KernlensError(
            f"{path} is a text file, not a GPU binary; to compile a source: kernlens compile {path} --device D"
        )
    return None


def _is_text(start: bytes) -> bool:
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 4:
            return False
        text = start[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\r\n\f" for character in text)

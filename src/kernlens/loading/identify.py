"""The kind of a file, from its first bytes; and a sentence for what it is not."""

from __future__ import annotations

import os
import struct

from kernlens.errors import FormatError, KernlensError
from kernlens.model.containers import CONTAINERS

#: Bytes by which a file is known: PTX has comments before the directive that tells it.
START = 2048
#: The fewest bytes of a file that anything could be read of.
LEAST = 20
#: Bytes of a file that tell text from machine code, which has zeros among them.
_TELLING = 4096

#: Magic, as much of it as there is in a file's first bytes, and its kind; and the kind of ELF files by machine and type.
_BY_MAGIC = {magic[:LEAST]: kind.name for kind in CONTAINERS.values() for magic in kind.magic}
_BY_MACHINE = {(machine, kind.elf_type): kind.name for kind in CONTAINERS.values() for machine in kind.machines}

#: The kind of PTX, and the bytes that it may begin with; of large files with others nothing else is looked at.
PTX = "ptx"
_BEFORE_PTX = frozenset(b"/.\n\t \r")
_CACHE_MAGIC = b"\x41\x00\x00\x00"

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
    b"\0asm": "a WebAssembly module",
    b"MTLB": "a Metal library, for Apple's GPUs",
    b"DXBC": "a DirectX shader (DXBC or DXIL)",
}
#: What ELF files are for whose machine is no host's and no GPU's that is read, by ``e_machine``.
_MACHINES = {
    247: "a program for the Linux kernel's BPF machine",
    251: "a program for NEC's vector engine",
}


#: What a user may give instead.
READABLE = "kernlens reads device binaries, the libraries that hold them, SPIR-V, and recordings (.klens)"


def identify(content: memoryview, size: int | None = None) -> str | None:
    """Return the Container kind of ``content`` by its first bytes, ``recording`` for a .klens file; None if unknown. ``size``
    is that of the whole file, if these are only its first bytes."""
    start = bytes(content[:LEAST])
    if start.startswith(b"\x7fELF"):
        return _elf_kind(start)
    if start.startswith(b"CTNI"):
        return _ctni_kind(start)
    known = next((kind for magic, kind in _BY_MAGIC.items() if start.startswith(magic)), None)
    return known or _cuda_kind(content, len(content) if size is None else size)


def _cuda_kind(content: memoryview, size: int) -> str | None:
    start = bytes(content[:4])
    if start == _CACHE_MAGIC:
        from kernlens.formats.compute_cache import HEADER_SIZE, is_cache_entry

        return "compute-cache" if is_cache_entry(bytes(content[:HEADER_SIZE]), size) else None
    if start and start[0] in _BEFORE_PTX:
        from kernlens.formats.ptx.ptx_text import is_ptx

        return PTX if is_ptx(bytes(content[:START])) else None
    return None


def kind_of(path: str, what: str = "file", folder: str | None = None) -> tuple[str | None, bytes]:
    """Return the kind of a file, and its first bytes. Raises what ``open_regular`` raises, for a file called ``what``; of a
    file that the user has named with the others of a ``folder`` what ``open_beside`` raises."""
    from kernlens.toolchain.sources.source_reading import open_beside, open_regular

    with open_regular(path, what) if folder is None else open_beside(path, folder) as file:
        start = file.read(_TELLING)
        size = os.fstat(file.fileno()).st_size
    return identify(memoryview(start), size), start


def _elf_kind(start: bytes) -> str:
    if len(start) < LEAST:
        raise FormatError(f"the file ends after {len(start)} bytes, inside the ELF header", format="elf", offset=0)
    file_type, machine = struct.unpack_from("<HH", start, 16)
    return _BY_MACHINE.get((machine, file_type)) or _BY_MACHINE.get((machine, None), "host-elf")


def _ctni_kind(start: bytes) -> str:
    """Return the kind of what begins with CTNI. Programs and debug data share that magic: word 2 is a program's render
    core, but debug data's size, always 0 in fact."""
    if len(start) < 20:
        raise FormatError(f"the file ends after {len(start)} bytes, inside the header", format="patch-tokens", offset=0)
    _, _, second, third, _ = struct.unpack_from("<5I", start)
    return "patch-tokens" if second and third in (4, 8) else "debug-data"


def foreign(content: memoryview, kind: str) -> str | None:
    """Return what a file is that is known, and of which nothing can be read; None if something might be."""
    if kind == "llvm-bitcode":
        return "LLVM bitcode, which is not compiled for a GPU yet"
    return _MACHINES.get(int.from_bytes(content[18:20], "little")) if kind == "host-elf" else None


def unknown_input(path: str, content: memoryview) -> KernlensError:
    """Return the error for content that ``identify`` does not know; it says what it looks like and what would help."""
    return no_instructions(path, content, 0) or KernlensError(
        f"{path} has no known magic number; if it is raw machine code, add --device D (kernlens devices lists them)"
    )


def stranger(start: bytes, sure: int = SURE) -> str | None:
    """Return what a file is that begins like one that people give by mistake, with a magic of ``sure`` bytes or more."""
    return next((name for magic, name in _STRANGERS.items() if len(magic) >= sure and start.startswith(magic)), None)


def no_instructions(path: str, content: memoryview, sure: int = SURE) -> KernlensError | None:
    """Return the error for content that cannot be raw instructions, which a magic of ``sure`` bytes or more tells; None if
    it can."""
    if not len(content):
        return KernlensError(f"{path} is empty; the command that should have written it failed: run it again")
    start = bytes(content[:4096])
    if name := stranger(start, sure):
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

"""The notes of a zebin: its device and the versions of what wrote it.

Source: ``IGC/ZEBinWriter/zebin/spec/elf.md`` of intel-graphics-compiler, "ELF note type for INTELGT"; the notes' layout
is the System V ABI's: sizes of name and description, type (u32 each), name, description, both padded to 4 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernlens.errors import FormatError, LinkError
from kernlens.model.binary import Section
from kernlens.model.device import DeviceId, IpVersion

_HEADER = struct.Struct("<III")
_WORD = struct.Struct("<I")
_OWNER = b"IntelGT"

_PRODUCT_FAMILY = 1
_RENDER_CORE = 2
_TARGET_METADATA = 3
_ZEBIN_VERSION = 4
_VISA_ABI_VERSION = 5
_PRODUCT_CONFIG = 6

#: Bits 23..21 of the target metadata.
_GENERATORS = {1: "IGC", 2: "nGEN"}


@dataclass(frozen=True, slots=True)
class ZebinNotes:
    """What the notes say; a field is None where there is no such note.

    ``zebin_version`` is as written (``"1.73"``), ``generator`` what wrote the file (``IGC``, ``nGEN``).
    """

    device_id: DeviceId
    zebin_version: str | None = None
    visa_abi_version: int | None = None
    generator: str | None = None


def read_notes(sections: Iterable[Section]) -> ZebinNotes:
    """Read the notes that IntelGT owns; of two of a type the last counts. Raises FormatError for cut-off notes."""
    words: dict[int, int] = {}
    version = None
    for section in sections:
        for kind, description in _notes(section):
            if kind == _ZEBIN_VERSION:
                version = description.rstrip(b"\0").decode("ascii", "backslashreplace")
            elif len(description) >= 4:
                words[kind] = _WORD.unpack_from(description)[0]
    metadata = words.get(_TARGET_METADATA)
    config = words.get(_PRODUCT_CONFIG)
    return ZebinNotes(
        device_id=DeviceId(
            product_family=words.get(_PRODUCT_FAMILY),
            render_core=words.get(_RENDER_CORE) or None,  # Older compilers write 0.
            ip=None if config is None else IpVersion.unpack(config),
            stepping=None if metadata is None else _stepping(metadata),
        ),
        zebin_version=version,
        visa_abi_version=words.get(_VISA_ABI_VERSION),
        generator=None if metadata is None else _GENERATORS.get(metadata >> 21 & 7),
    )


def merge_notes(modules: Sequence[tuple[str, Section]]) -> bytes:
    """The notes of several modules, (name, section), as one: each type once.

    Raises LinkError if two disagree, that is are for different devices or made by different compilers; the target
    metadata alone may differ, and its first version stays.
    """
    found: dict[int, tuple[str, bytes]] = {}
    for name, section in modules:
        for kind, description in _notes(section):
            first, known = found.setdefault(kind, (name, description))
            if known != description and kind != _TARGET_METADATA:
                raise LinkError(
                    f"{name} is not for the same device and compiler as {first}: {_difference(kind)} differs"
                )
    owner = _OWNER + b"\0"
    return b"".join(
        _HEADER.pack(len(owner), len(description), kind) + owner + description + bytes(-len(description) % 4)
        for kind, (_, description) in sorted(found.items())
    )


def _difference(kind: int) -> str:
    names = {
        _PRODUCT_FAMILY: "the product family",
        _RENDER_CORE: "the render core",
        _ZEBIN_VERSION: "zebin's version",
        _PRODUCT_CONFIG: "the device's IP version",
    }
    return names.get(kind, f"note {kind}")


def _stepping(metadata: int) -> int | None:
    """The least revision that the program runs on (bits 12..8); None unless bit 13 says that the revision matters."""
    return metadata >> 8 & 0x1F if metadata >> 13 & 1 else None


def _notes(section: Section) -> list[tuple[int, bytes]]:
    """Type and description of each note in a section that IntelGT owns."""
    found = []
    data = section.data
    at = 0
    while at < len(data):
        if at + _HEADER.size > len(data):
            raise _error(section, at, "a note's header is cut off")
        name_size, description_size, kind = _HEADER.unpack_from(data, at)
        name_at = at + _HEADER.size
        description_at = name_at + _padded(name_size)
        end = description_at + description_size
        if end > len(data):
            raise _error(section, at, f"a note of {end - at} bytes does not fit into the section of {len(data)}")
        if bytes(data[name_at : name_at + name_size]).rstrip(b"\0") == _OWNER:
            found.append((kind, bytes(data[description_at:end])))
        at = description_at + _padded(description_size)
    return found


def _padded(size: int) -> int:
    return size + 3 & ~3


def _error(section: Section, at: int, message: str) -> FormatError:
    return FormatError(message, format="zebin", section=section.name, offset=section.offset + at)

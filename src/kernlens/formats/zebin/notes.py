"""The notes of a zebin: its device and the versions of what wrote it.

Source: ``IGC/ZEBinWriter/zebin/spec/elf.md`` of intel-graphics-compiler, "ELF note type for INTELGT"; the notes' layout
is the System V ABI's (``Elf64Nhdr`` in ``elf/elf64_structures``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.elf.elf64_structures import NHDR_LAYOUT, Elf64Nhdr
from kernlens.model.binary import Section
from kernlens.model.device import DeviceId, IpVersion

_WORD = struct.Struct("<I")
_OWNER = b"IntelGT"

#: Types of notes.
_PRODUCT_FAMILY, _RENDER_CORE, _TARGET_METADATA, _ZEBIN_VERSION, _VISA_ABI_VERSION, _PRODUCT_CONFIG = range(1, 7)

#: The first zebin that IGC 2 wrote; also the last of IGC 1 (tags v2.1.1 and igc-1.0.17791.18 of intel-graphics-compiler).
_FIRST_OF_IGC_2 = (1, 49)
#: Bits 23..21 of the target metadata.
_GENERATORS = {1: "IGC", 2: "nGEN"}


@dataclass(frozen=True, slots=True)
class ZebinNotes:
    """The content of a zebin's notes; a field is None where there is no such note. ``zebin_version`` is as written
    (``"1.73"``), ``generator`` what wrote the file (``IGC``, ``nGEN``)."""

    device_id: DeviceId
    zebin_version: str | None = None
    visa_abi_version: int | None = None
    generator: str | None = None

    @property
    def compiler_version(self) -> tuple[int, ...]:
        """The first number of IGC's version, as far as that of the zebin tells: (1,), else ()."""
        numbers = version_numbers(self.zebin_version)
        return (1,) if numbers and numbers < _FIRST_OF_IGC_2 and self.generator != "nGEN" else ()


def version_numbers(version: object) -> tuple[int, ...]:
    """Return (1, 73) for ``"1.73"``, and an empty tuple, older than all, for text that is no version."""
    parts = str(version).split(".")
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts) else ()


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
            # The least revision that the program runs on, bits 12..8, where bit 13 says that it matters.
            stepping=metadata >> 8 & 0x1F if metadata and metadata >> 13 & 1 else None,
        ),
        zebin_version=version,
        visa_abi_version=words.get(_VISA_ABI_VERSION),
        generator=None if metadata is None else _GENERATORS.get(metadata >> 21 & 7),
    )


def _notes(section: Section) -> list[tuple[int, bytes]]:
    """Return the type and the description of each note in a section that IntelGT owns."""
    notes = []
    data = section.data
    offset = 0
    while offset < len(data):
        if offset + NHDR_LAYOUT.size > len(data):
            raise _error(section, offset, "a note's header is cut off")
        header = Elf64Nhdr._make(NHDR_LAYOUT.unpack_from(data, offset))
        name_start = offset + NHDR_LAYOUT.size
        description_start = name_start + _padded(header.n_namesz)
        end = description_start + header.n_descsz
        if end > len(data):
            raise _error(
                section, offset, f"a note of {end - offset} bytes does not fit into the section of {len(data)}"
            )
        if bytes(data[name_start : name_start + header.n_namesz]).rstrip(b"\0") == _OWNER:
            notes.append((header.n_type, bytes(data[description_start:end])))
        offset = description_start + _padded(header.n_descsz)
    return notes


def _padded(size: int) -> int:
    return size + 3 & ~3


def _error(section: Section, offset: int, message: str) -> FormatError:
    """Make the error; ``offset`` is within ``section``."""
    return FormatError(message, format="zebin", section=section.name, offset=section.offset + offset)

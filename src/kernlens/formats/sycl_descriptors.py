"""The descriptors of SYCL's device images, by which a host executable or library registers them with the SYCL runtime.

Sources: intel/llvm's ``sycl/source/detail/compiler.hpp`` and ``device_binary_image.cpp``, ``SYCLOffloadWrapper.cpp``. Checked
on the libraries of the PyPI packages dpctl 0.22, dpnp 0.20, onemkl-sycl-blas and daal-gpu 2026.2, whose descriptors are of
version 3: without the two pointers to a manifest that versions 1 and 2 have. Nothing but the host's code leads to a descriptor
in a stripped library: its first word, its target and its image tell it from other data.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

from kernlens.dataclass import dataclass
from kernlens.formats.elf.loaded_memory import LoadedMemory
from kernlens.model.allowance import Allowance
from kernlens.model.binary import Section
from kernlens.model.sycl_image import SyclImage, Value

_FORMAT = "sycl-descriptor"
#: A descriptor's first word: version 1 to 3, kind 4 (SYCL), format 0 to 4, 4 bytes of padding.
_HEAD = re.compile(rb"[\x01-\x03]\x00\x04[\x00-\x04]\x00\x00\x00\x00")
_WORD = 8
#: The pointers before those to the image, by version: target, two kinds of options, and a manifest's two.
_BEFORE_IMAGE = {1: 5, 2: 5, 3: 3}
#: What a target may be: ``compiler.hpp`` lists them.
_TARGET = re.compile(r"<unknown>|(spir|nvptx|amdgcn|native_cpu|llvm_|intel_)[\w.:-]{0,120}")
_SHF_WRITE, _SHF_EXECINSTR = 1, 4
_EXECUTABLE = 2
#: An entry of a kernel: address, name, size, flags; the newer form has 8 bytes of zero and a version and a kind first.
_OLD_ENTRY, _NEW_ENTRY = 32, 56
_NEW_ENTRY_HEAD = struct.pack("<QHHI", 0, 1, 8, 0)
_OLD_NAME, _NEW_NAME = 8, 24
_SET_SIZE, _PROPERTY_SIZE = 24, 32
_NUMBER, _BYTES, _TEXT = 1, 2, 3
#: The bytes before a byte array's value.
_SIZE_PREFIX = 8
#: What a property may hold.
_LARGEST_VALUE = 1 << 20
#: Bytes of a value that cost as much as an entry.
_LARGEST_ENTRY = 128


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor. Its image lies at ``start`` of the section, and has ``size`` bytes there."""

    section: Section
    start: int
    size: int
    image: SyclImage


def read_descriptors(memory: LoadedMemory, type: int, allowance: Allowance) -> Iterator[Descriptor]:
    """Yield the descriptors in a host file of ``e_type`` ``type``, by address. What of one does not lie in the file is left out
    of it. Raises TooManyError if there are more entries and properties than an honest file of its size has."""
    for section in memory.sections:
        if _may_hold_descriptors(section, type):
            start = memory.places[section.index]
            for match in _HEAD.finditer(section.data):
                if not (start + match.start()) % _WORD:
                    reader = _Reader(memory, start + match.start(), allowance)
                    if (descriptor := reader.descriptor()) is not None:
                        yield descriptor


def _may_hold_descriptors(section: Section, type: int) -> bool:
    """Return whether a section may hold pointers: those of a file that is loaded anywhere are written when it is."""
    if section.flags & _SHF_EXECINSTR:
        return False
    return bool(section.flags & _SHF_WRITE) or type == _EXECUTABLE


class _Reader:
    """The reader of what may be a descriptor."""

    def __init__(self, memory: LoadedMemory, address: int, allowance: Allowance) -> None:
        self.memory = memory
        self.address = address
        self.allowance = allowance

    def descriptor(self) -> Descriptor | None:
        head = self.memory.bytes_at(self.address, _WORD)
        if head is None or not _HEAD.match(head):  # of a section that was loaded over this one
            return None
        version, format = head[0], head[3]
        count = _BEFORE_IMAGE[version]
        pointers = [self.memory.pointer_at(self.address + _WORD * place) for place in range(1, count + 7)]
        target, compile_options, link_options, *_ = pointers[:count]
        start, end, *tables = pointers[count:]
        name = self.memory.text_at(target or 0)
        if name is None or not _TARGET.fullmatch(name) or start is None or end is None or start >= end:
            return None
        place = self.memory.place(start)
        if place is None or self.memory.bytes_at(start, end - start) is None:
            return None
        self.allowance.count(1, "image descriptor", format=_FORMAT)
        image = SyclImage(
            target=name,
            version=version,
            format=format,
            compile_options=self.memory.text_at(compile_options or 0) or "",
            link_options=self.memory.text_at(link_options or 0) or "",
            entries=tuple(self._entries(tables[0] or 0, tables[1] or 0)),
            properties=dict(self._property_sets(tables[2] or 0, tables[3] or 0)),
        )
        return Descriptor(*place, end - start, image)

    def _entries(self, begin: int, end: int) -> Iterator[str]:
        first = self.memory.bytes_at(begin, len(_NEW_ENTRY_HEAD))
        is_new = first is not None and bytes(first) == _NEW_ENTRY_HEAD
        name_place = _NEW_NAME if is_new else _OLD_NAME
        for address in self._table(begin, end, _NEW_ENTRY if is_new else _OLD_ENTRY):
            name = self.memory.text_at(self.memory.pointer_at(address + name_place) or 0)
            if name is not None:
                yield name

    def _property_sets(self, begin: int, end: int) -> Iterator[tuple[str, Mapping[str, Value]]]:
        for address in self._table(begin, end, _SET_SIZE):
            name, first, last = (self.memory.pointer_at(address + _WORD * place) or 0 for place in range(3))
            text = self.memory.text_at(name)
            if text is not None:
                yield text, dict(self._properties(first, last))

    def _properties(self, begin: int, end: int) -> Iterator[tuple[str, Value]]:
        for address in self._table(begin, end, _PROPERTY_SIZE):
            name = self.memory.text_at(self.memory.pointer_at(address) or 0)
            value = self._value(address)
            if name is not None and value is not None:
                yield name, value

    def _value(self, address: int) -> Value | None:
        """Return a property's value; None for one of another type, or that does not lie in the file."""
        content = self.memory.bytes_at(address + 2 * _WORD, 2 * _WORD)
        if content is None:
            return None
        kind, size = struct.unpack("<I4xQ", content)
        if kind == _NUMBER:
            return int(size & 0xFFFFFFFF)
        if kind not in (_BYTES, _TEXT) or size > _LARGEST_VALUE:
            return None
        value = self.memory.bytes_at(self.memory.pointer_at(address + _WORD) or 0, size)
        if value is None:
            return None
        self.allowance.count(size // _LARGEST_ENTRY, "property bytes", format=_FORMAT)
        return bytes(value[_SIZE_PREFIX:] if kind == _BYTES else value)

    def _table(self, begin: int, end: int, size: int) -> range:
        """Return the addresses of a table's entries; none if it does not lie in the file."""
        if end <= begin or self.memory.bytes_at(begin, end - begin) is None:
            return range(0)
        self.allowance.count((end - begin) // size, "entries of image descriptors", format=_FORMAT)
        return range(begin, end - size + 1, size)

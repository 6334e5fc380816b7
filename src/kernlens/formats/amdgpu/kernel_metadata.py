"""The metadata of a code object's kernels: what the compiler states of each.

Source: LLVM's "User Guide for AMDGPU Backend", "Code Object V3 Metadata" and its later versions: a note of type 32, owned by
"AMDGPU", that holds a map in MessagePack.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.elf.elf64_structures import NHDR_LAYOUT, Elf64Nhdr
from kernlens.formats.messagepack import Value, unpack
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import Section
from kernlens.model.kernel import KernelArgument

FORMAT = "amd-code-object"
_OWNER, _METADATA = b"AMDGPU", 32
#: Notes of code object 2, whose metadata is YAML, and whose kernels have another descriptor.
_OLD_OWNER = b"AMD"
#: What the compiler passes besides what the source names.
_HIDDEN = "hidden_"


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """The metadata of one kernel. ``symbol`` is that of its descriptor. Numbers are None where the compiler does not state
    them; registers are those of a work-item (VGPR, AGPR) and of a wavefront (SGPR), spills are counted in registers."""

    name: str
    symbol: str
    wavefront_size: int | None = None
    vgpr_count: int | None = None
    agpr_count: int | None = None
    sgpr_count: int | None = None
    vgpr_spill_count: int | None = None
    sgpr_spill_count: int | None = None
    group_segment_bytes: int | None = None
    private_segment_bytes: int | None = None
    kernarg_segment_bytes: int | None = None
    max_flat_workgroup_size: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    uses_dynamic_stack: bool | None = None
    arguments: tuple[KernelArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeObjectMetadata:
    """The metadata of a whole code object. ``version`` is that of the metadata, (1, 1) in code object 4, ``target`` what it
    was compiled for (``amdgcn-amd-amdhsa--gfx90a:xnack-``), empty before code object 4."""

    version: tuple[int, ...]
    target: str
    kernels: tuple[KernelMetadata, ...]

    @property
    def processor(self) -> str:
        """The processor and its features, the last part of the target."""
        return self.target.rpartition("--")[2]


def read_metadata(notes: Section, allowance: Allowance) -> CodeObjectMetadata | None:
    """Read the metadata in a section of notes; None if there is none. Raises FormatError for damaged notes and metadata, and
    for the metadata of code object 2."""
    for owner, kind, description in _notes(notes):
        if owner == _OWNER and kind == _METADATA:
            return _metadata(unpack(description, allowance), notes, allowance)
        if owner == _OLD_OWNER:
            raise FormatError(
                "this is code object 2, which compilers wrote up to 2019; kernlens reads code objects 3 to 6",
                format=FORMAT,
                section=notes.name,
            )
    return None


def _notes(section: Section) -> Iterator[tuple[bytes, int, memoryview]]:
    data, position = section.data, 0
    while position < len(data):
        try:
            header = Elf64Nhdr._make(NHDR_LAYOUT.unpack_from(data, position))
        except struct.error:
            raise _cut(section, position) from None
        name = position + NHDR_LAYOUT.size
        description = name + (header.n_namesz + 3 & ~3)
        end = description + header.n_descsz
        if end > len(data):
            raise _cut(section, position)
        owner = bytes(data[name : name + header.n_namesz]).rstrip(b"\0")
        yield owner, header.n_type, data[description:end]
        position = end + 3 & ~3


def _cut(section: Section, offset: int) -> FormatError:
    return FormatError("a note is cut off", format=FORMAT, section=section.name, offset=section.offset + offset)


def _metadata(packed: Value, notes: Section, allowance: Allowance) -> CodeObjectMetadata:
    if not isinstance(packed, dict):
        raise FormatError("the metadata is not a map", format=FORMAT, section=notes.name, offset=notes.offset)
    version, kernels, target = (packed.get(f"amdhsa.{key}") for key in ("version", "kernels", "target"))
    entries = [entry for entry in kernels if isinstance(entry, dict)] if isinstance(kernels, list) else []
    allowance.count(len(entries), "kernels", format=FORMAT, section=notes.name, weight=KERNEL_WEIGHT)
    numbers = version if isinstance(version, list) else []
    return CodeObjectMetadata(
        version=tuple(number for number in numbers if isinstance(number, int)),
        target=target if isinstance(target, str) else "",
        kernels=tuple(_kernel(entry) for entry in entries),
    )


def _kernel(entry: Mapping[str | int, Value]) -> KernelMetadata:
    name, symbol = _text(entry, ".name") or "", _text(entry, ".symbol") or ""
    dynamic = entry.get(".uses_dynamic_stack")
    return KernelMetadata(
        name=name or symbol.removesuffix(".kd"),
        symbol=symbol or f"{name}.kd",
        wavefront_size=_number(entry, ".wavefront_size"),
        vgpr_count=_number(entry, ".vgpr_count"),
        agpr_count=_number(entry, ".agpr_count"),
        sgpr_count=_number(entry, ".sgpr_count"),
        vgpr_spill_count=_number(entry, ".vgpr_spill_count"),
        sgpr_spill_count=_number(entry, ".sgpr_spill_count"),
        group_segment_bytes=_number(entry, ".group_segment_fixed_size"),
        private_segment_bytes=_number(entry, ".private_segment_fixed_size"),
        kernarg_segment_bytes=_number(entry, ".kernarg_segment_size"),
        max_flat_workgroup_size=_number(entry, ".max_flat_workgroup_size"),
        required_work_group_size=_sizes(entry.get(".reqd_workgroup_size")),
        uses_dynamic_stack=dynamic if isinstance(dynamic, bool) else None,
        arguments=_arguments(entry.get(".args")),
    )


def _arguments(packed: Value) -> tuple[KernelArgument, ...]:
    """Return the arguments that the source names, by number; those that the compiler adds are left out."""
    entries = [entry for entry in packed if isinstance(entry, dict)] if isinstance(packed, list) else []
    stated = [entry for entry in entries if not (_text(entry, ".value_kind") or "").startswith(_HIDDEN)]
    return tuple(
        KernelArgument(
            index=index,
            name=_text(entry, ".name"),
            type_name=_text(entry, ".type_name"),
            address_space=_address_space(entry),
            access=_text(entry, ".access"),
            type_qualifier=" ".join(
                word for word in ("const", "restrict", "volatile", "pipe") if entry.get(f".is_{word}")
            )
            or None,
            size=_number(entry, ".size"),
        )
        for index, entry in enumerate(stated)
    )


def _address_space(entry: Mapping[str | int, Value]) -> str | None:
    stated = _text(entry, ".address_space")
    if stated is None and _text(entry, ".value_kind") == "by_value":
        return "private"
    return stated


def _text(entry: Mapping[str | int, Value], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) else None


def _number(entry: Mapping[str | int, Value], key: str) -> int | None:
    """Return a count or size: what is negative, or needs more than 32 bits, is none."""
    value = entry.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32 else None


def _sizes(packed: Value) -> tuple[int, int, int] | None:
    if not isinstance(packed, list) or len(packed) != 3:
        return None
    x, y, z = (number if isinstance(number, int) and 0 <= number < 1 << 32 else 0 for number in packed)
    return (x, y, z) if x and y and z else None

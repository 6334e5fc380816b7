"""The structures of ``ze_api.h`` that the binding passes to the driver, under the specification's names.

Every structure starts with its type (``stype``) and a pointer to the next one; ``make`` fills both in.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import (
    POINTER,
    Structure,
    addressof,
    c_char,
    c_char_p,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    cast,
)
from typing import Any, ClassVar, TypeVar

ZE_MODULE_FORMAT_IL_SPIRV = 0
ZE_MODULE_FORMAT_NATIVE = 1
ZE_MODULE_PROPERTY_FLAG_IMPORTS = 1
ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF = 0


class ZeStructure(Structure):
    """A structure that begins with ``stype`` and ``pNext``. ``STYPE`` is its type in ``ze_structure_type_t``; its own fields
    follow these two."""

    STYPE: ClassVar[int] = 0
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p)]


AnyStructure = TypeVar("AnyStructure", bound=ZeStructure)


def make(kind: type[AnyStructure], **fields: Any) -> AnyStructure:
    """Return a structure of ``kind`` with its type and ``fields`` set and the rest zero."""
    structure = kind(stype=kind.STYPE)
    for name, value in fields.items():
        setattr(structure, name, value)
    return structure


def _numbers(names: str) -> list[tuple[str, type[c_uint32]]]:
    """Return the fields of these names as uint32_t."""
    return [(name, c_uint32) for name in names.split()]


class ze_driver_properties_t(ZeStructure):  # noqa: N801
    STYPE = 0x1
    _fields_ = [("uuid", c_uint8 * 16), ("driverVersion", c_uint32)]


class ze_driver_extension_properties_t(Structure):  # noqa: N801
    _fields_ = [("name", c_char * 256), ("version", c_uint32)]


class ze_device_properties_t(ZeStructure):  # noqa: N801
    STYPE = 0x3
    _fields_ = [
        *_numbers("type vendorId deviceId flags subdeviceId coreClockRate"),
        ("maxMemAllocSize", c_uint64),
        *_numbers("maxHardwareContexts maxCommandQueuePriority numThreadsPerEU physicalEUSimdWidth"),
        *_numbers("numEUsPerSubslice numSubslicesPerSlice numSlices"),
        ("timerResolution", c_uint64),
        *_numbers("timestampValidBits kernelTimestampValidBits"),
        ("uuid", c_uint8 * 16),
        ("name", c_char * 256),
    ]


class ze_device_ip_version_ext_t(ZeStructure):  # noqa: N801
    STYPE = 0x1000F
    _fields_ = [("ipVersion", c_uint32)]


class ze_context_desc_t(ZeStructure):  # noqa: N801
    STYPE = 0xD
    _fields_ = [("flags", c_uint32)]


class ze_module_constants_t(Structure):  # noqa: N801
    _fields_ = [("numConstants", c_uint32), ("pConstantIds", POINTER(c_uint32)), ("pConstantValues", POINTER(c_void_p))]


class ze_module_desc_t(ZeStructure):  # noqa: N801
    STYPE = 0x1B
    _fields_ = [
        ("format", c_uint32),
        ("inputSize", c_size_t),
        ("pInputModule", c_void_p),
        ("pBuildFlags", c_char_p),
        ("pConstants", POINTER(ze_module_constants_t)),
    ]


class ze_module_program_exp_desc_t(ZeStructure):  # noqa: N801
    STYPE = 0x00020002
    _fields_ = [
        ("count", c_uint32),
        ("inputSizes", POINTER(c_size_t)),
        ("pInputModules", POINTER(c_void_p)),
        ("pBuildFlags", POINTER(c_char_p)),
        ("pConstants", POINTER(POINTER(ze_module_constants_t))),
    ]


def module_constants(values: Iterable[tuple[int, int]]) -> ze_module_constants_t:
    """Return specialisation constants, (number, bits) each, for as long as the structure lives. The driver reads as many
    bytes of a value as the constant's type has."""
    pairs = dict(values)
    count = len(pairs)
    held = (c_uint64 * count)(*pairs.values())
    pointers = (c_void_p * count)(*(addressof(held) + 8 * index for index in range(count)))
    structure = ze_module_constants_t(
        count, cast((c_uint32 * count)(*pairs), POINTER(c_uint32)), cast(pointers, POINTER(c_void_p))
    )
    structure.held = held
    return structure


class ze_module_properties_t(ZeStructure):  # noqa: N801
    STYPE = 0x1C
    _fields_ = [("flags", c_uint32)]


class ze_linkage_inspection_ext_desc_t(ZeStructure):  # noqa: N801
    STYPE = 0x10007
    _fields_ = [("flags", c_uint32)]


class ze_kernel_desc_t(ZeStructure):  # noqa: N801
    STYPE = 0x1D
    _fields_ = [("flags", c_uint32), ("pKernelName", c_char_p)]


class ze_kernel_properties_t(ZeStructure):  # noqa: N801
    STYPE = 0x1E
    _fields_ = [
        *_numbers("numKernelArgs requiredGroupSizeX requiredGroupSizeY requiredGroupSizeZ requiredNumSubGroups"),
        *_numbers("requiredSubgroupSize maxSubgroupSize maxNumSubgroups localMemSize privateMemSize spillMemSize"),
        ("uuid", c_uint8 * 32),
    ]

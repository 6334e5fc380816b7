"""ze_info: the part of a zebin that describes its kernels and their arguments.

Source: ``IGC/ZEBinWriter/zebin/spec/zeinfo.md`` and ``version.md`` of intel-graphics-compiler; sizes are bytes. Checked
on files of version 1.20 (Debian 12's compiler) and 1.73.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.zebin import ze_info_text
from kernlens.formats.zebin.notes import version_numbers
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources, general_registers

#: From this version on, ``private_size`` and ``spill_size`` stand in execution_env unless they are 0.
_SIZES_SINCE = (1, 39)
_ACCESS = {"readonly": "read_only", "writeonly": "write_only", "readwrite": "read_write"}
#: The spellings of an argument's absent values.
_NOTHING = ("", "NONE", None)


@dataclass(frozen=True)
class ZeInfo:
    """One ze_info document. ``version`` is as written (``"1.73"``), None if absent. ``kernels`` are by name in the
    document's order, the pseudo-kernel that holds a module's functions included."""

    version: str | None
    kernels: Mapping[str, ZeInfoKernel] = field(repr=False)
    functions: tuple[str, ...] = ()
    #: Device name of a global variable -> the name that the host knows it by.
    host_access: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ZeInfoKernel:
    """One entry of ``kernels`` with its entry of ``kernels_misc_info`` (empty if there is none)."""

    name: str
    version: tuple[int, ...]
    entry: Mapping[str, Any] = field(repr=False)
    misc: Mapping[str, Any] = field(repr=False)

    @cached_property
    def resources(self) -> KernelResources:
        """The resources that the kernel takes of the machine. Raises FormatError for values of another type.
        ``prologue_bytes`` covers the load of per-thread data only; the kernel's ``_entry`` symbol covers all of it."""
        environment = self._mapping("execution_env")
        attributes = self._mapping("user_attributes")
        simd = _integer(environment, "simd_size", None)
        buffers = self._list("per_thread_memory_buffers")
        memory = _ThreadMemory(self.version, environment, buffers, simd)
        return KernelResources(
            simd=simd,
            register_files=general_registers(_integer(environment, "grf_count", None)),
            spill_bytes=memory.spill,
            scratch_bytes=memory.total,
            private_bytes=memory.private,
            stack_bytes=memory.stack,
            slm_bytes=_integer(environment, "slm_size", 0),
            barriers=_integer(environment, "barrier_count", 0),
            required_work_group_size=_triple(environment, "required_work_group_size")
            or _triple(attributes, "reqd_work_group_size"),
            required_sub_group_size=_integer(environment, "required_sub_group_size", 0)
            or _integer(attributes, "intel_reqd_sub_group_size", 0)
            or None,
            prologue_bytes=_integer(environment, "offset_to_skip_per_thread_data_load", 0),
            thread_private_bytes=_thread_private_bytes(buffers, simd),
            largest_scratch_bytes=max(_sizes(buffers, "scratch"), default=0),
            is_unfused=environment.get("require_disable_eufusion") is True,
            is_bindless=any(
                each.get("addrmode") == "bindless" and each.get("addrspace") != "sampler"
                for each in self._list("payload_arguments")
            ),
        )

    @cached_property
    def arguments(self) -> tuple[KernelArgument, ...]:
        """The kernel's own arguments by index; names and types only where the compiler was asked to keep them."""
        arguments: dict[int, KernelArgument] = {}
        for entry in self._list("payload_arguments"):
            index = _integer(entry, "arg_index", None)
            if index is not None and entry.get("arg_type") in ("arg_byvalue", "arg_bypointer"):
                arguments[index] = _payload_argument(index, entry, arguments.get(index))
        for entry in _mappings(self.misc, "args_info"):
            index = _integer(entry, "index", None)
            if index is not None:
                arguments[index] = _named_argument(index, entry, arguments.get(index))
        return tuple(arguments[index] for index in sorted(arguments))

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self.entry.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise damage(f"{key} of kernel {self.name} is not a mapping")
        return value

    def _list(self, key: str) -> Sequence[Mapping[str, Any]]:
        return _mappings(self.entry, key)


class _ThreadMemory:
    """The memory of a hardware thread in bytes; None where ze_info does not state it."""

    def __init__(
        self,
        version: tuple[int, ...],
        environment: Mapping[str, Any],
        buffers: Sequence[Mapping[str, Any]],
        simd: int | None,
    ) -> None:
        self._buffers = [(buffer.get("usage"), _thread_bytes(buffer, simd)) for buffer in buffers]
        absent = 0 if version >= _SIZES_SINCE else None
        spilled = _integer(environment, "spill_size", absent)
        spilled = self._sum("spill_fill_space") if spilled is None else spilled
        private = _integer(environment, "private_size", absent)
        #: Variables and arrays of all work-items; arguments of functions too.
        self.private = self._sum("private_space") if private is None else private
        # ze_info counts the frames of functions among the spills.
        has_calls = environment.get("has_stack_calls") is True
        self.stack = spilled if has_calls else 0
        self.spill = None if has_calls and spilled else spilled
        sizes = [size for _, size in self._buffers]
        # The buffers are rounded up; should they be too small for what is said to lie in them, that counts.
        parts = (self.private or 0) + (spilled or 0)
        self.total = None if None in sizes else max(sum(size for size in sizes if size is not None), parts)

    def _sum(self, usage: str) -> int | None:
        """Return the size of the buffers for this use; None where an old compiler's only buffer has all uses."""
        if any(each == "single_space" for each, _ in self._buffers):
            return None
        sizes = [size for each, size in self._buffers if each == usage]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def _thread_bytes(buffer: Mapping[str, Any], simd: int | None) -> int | None:
    """Return the size of a buffer for a hardware thread, which has one for each work-item if ``is_simt_thread`` says so."""
    size = _integer(buffer, "size", 0) or 0
    if not size or buffer.get("is_simt_thread") is not True:
        return size
    return size * simd if simd else None


def read_ze_info(text: memoryview) -> ZeInfo:
    """Read the contents of a ``.ze_info`` section. Raises FormatError, with the line, for text that is no ze_info."""
    try:
        document = ze_info_text.parse(bytes(text).rstrip(b"\0").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise damage(f"it is not UTF-8 text: {error.reason}", error.start) from error
    if not isinstance(document, dict):
        raise damage("it contains no mapping")
    version = document.get("version")
    numbers = version_numbers(version)
    misc = {str(entry.get("name")): entry for entry in _mappings(document, "kernels_misc_info")}
    kernels = {}
    for entry in _mappings(document, "kernels"):
        name = _name(entry, "name")
        kernels[name] = ZeInfoKernel(name, numbers, entry, misc.get(name, {}))
    return ZeInfo(
        version=None if version is None else str(version),
        kernels=kernels,
        functions=tuple(_name(entry, "name") for entry in _mappings(document, "functions")),
        host_access={
            _name(entry, "device_name"): _name(entry, "host_name")
            for entry in _mappings(document, "global_host_access_table")
        },
    )


def _sizes(buffers: Sequence[Mapping[str, Any]], kind: str) -> list[int]:
    return [_integer(buffer, "size", 0) or 0 for buffer in buffers if buffer.get("type") == kind]


def _thread_private_bytes(buffers: Sequence[Mapping[str, Any]], simd: int | None) -> int | None:
    """Return the bytes of a hardware thread in global memory; None where they are counted for lanes of an unknown number."""
    buffers = [buffer for buffer in buffers if buffer.get("type") == "global"]
    if simd is None and any(buffer.get("is_simt_thread") is True for buffer in buffers):
        return None
    lanes = [(simd or 1) if buffer.get("is_simt_thread") is True else 1 for buffer in buffers]
    return sum(size * count for size, count in zip(_sizes(buffers, "global"), lanes, strict=True))


def _payload_argument(index: int, entry: Mapping[str, Any], earlier: KernelArgument | None) -> KernelArgument:
    """Return an argument from its payload entries: a structure has one per element, a stateful buffer one of size 0."""
    by_value = entry.get("arg_type") == "arg_byvalue"
    known_size = (earlier and earlier.size) or 0
    size = _integer(entry, "size", 0) or 0
    if by_value:
        size += max(_integer(entry, "source_offset", 0) or 0, 0)
    return KernelArgument(
        index=index,
        address_space="private" if by_value else _text_or_none(entry.get("addrspace")),
        access=None if by_value else _ACCESS.get(str(entry.get("access_type"))),
        size=max(size, known_size) or None,
    )


def _named_argument(index: int, entry: Mapping[str, Any], earlier: KernelArgument | None) -> KernelArgument:
    """Return an argument from args_info, whose types read ``float*;8``: a name and a size. ``access`` is then the
    source's qualifier, not what the compiler found out about the kernel's use of a buffer."""
    type_name, _, size = str(entry.get("type_name") or "").partition(";")
    earlier = earlier or KernelArgument(index)
    return KernelArgument(
        index=index,
        name=_text_or_none(entry.get("name")),
        type_name=type_name or None,
        address_space=_qualifier(entry.get("address_qualifier")) or earlier.address_space,
        access=_qualifier(entry.get("access_qualifier")),
        type_qualifier=_text_or_none(entry.get("type_qualifiers")),
        size=int(size) if size.isascii() and size.isdigit() and len(size) < 19 else earlier.size,
    )


def _qualifier(value: Any) -> str | None:
    """Return a qualifier without its underscores: ``read_only`` for ``__read_only``."""
    text = _text_or_none(value)
    return text and text.removeprefix("__")


def _text_or_none(value: Any) -> str | None:
    return None if value in _NOTHING else str(value)


def _integer(mapping: Mapping[str, Any], key: str, default: int | None) -> int | None:
    value = mapping.get(key, default)
    if value is None or type(value) is int:
        return value
    raise damage(f"{key} is {value!r}, expected a number")


def _triple(mapping: Mapping[str, Any], key: str) -> tuple[int, int, int] | None:
    """Return three numbers, None if they are absent or all 0."""
    value = mapping.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3 or any(type(number) is not int for number in value):
        raise damage(f"{key} is {value!r}, expected three numbers")
    return (value[0], value[1], value[2]) if any(value) else None


def _mappings(mapping: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = mapping.get(key)
    return [] if value is None else list_of_mappings(key, value)


def list_of_mappings(key: str, value: Any) -> list[dict[str, Any]]:
    """Return the value of ``key``. Raises FormatError if it is not a list of mappings."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise damage(f"{key} is not a list of mappings")
    return value


def _name(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    if value is None or isinstance(value, (dict, list)):
        raise damage(f"an entry has no {key}")
    return str(value)


def damage(message: str, offset: int | None = None) -> FormatError:
    """Return the error of a text that cannot be what the compiler wrote."""
    return FormatError(message, format="ze_info", section=".ze_info", offset=offset)

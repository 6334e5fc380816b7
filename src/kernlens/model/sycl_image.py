"""A device image of SYCL as its host describes it: target, options, kernels, and what it requires of a device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from kernlens.dataclass import dataclass, field

#: The sets of properties that are read here. Source: ``PropertySets.md`` of intel/llvm.
REQUIREMENTS, MISC = "SYCL/device requirements", "SYCL/misc properties"
EXPORTS, IMPORTS = "SYCL/exported symbols", "SYCL/imported symbols"
#: ``Format`` of a descriptor.
FORMATS = {0: "not stated", 1: "native", 2: "SPIR-V", 3: "LLVM bitcode", 4: "compressed"}
#: The bytes before the value of a byte array, which say its size in bits.
_PREFIX = 8

#: A property's value: a number, or a byte array without the size before it.
Value = int | bytes


@dataclass(frozen=True)
class SyclImage:
    """One descriptor. ``target`` is its device target (``spir64``, ``spir64_gen``), ``version`` and ``format`` are its own
    numbers, ``entries`` what it offers by name, ``properties`` its property sets by name."""

    target: str
    version: int
    format: int
    compile_options: str = ""
    link_options: str = ""
    entries: tuple[str, ...] = ()
    properties: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def number(self, name: str, of: str = MISC) -> int | None:
        """Return a property that is a number; None if it is not there."""
        value = self.properties.get(of, {}).get(name)
        return value if isinstance(value, int) else None

    def numbers(self, name: str, size: int = 4, of: str = REQUIREMENTS) -> tuple[int, ...]:
        """Return a property that is an array of numbers of ``size`` bytes; none if it is not there."""
        value = self.properties.get(of, {}).get(name)
        if not isinstance(value, bytes):
            return ()
        return tuple(int.from_bytes(value[at : at + size], "little") for at in range(0, len(value) - size + 1, size))

    def text(self, name: str, of: str = REQUIREMENTS) -> str | None:
        """Return a property that is a text; None if it is not there."""
        value = self.properties.get(of, {}).get(name)
        return value.rstrip(b"\0").decode("utf-8", "backslashreplace") if isinstance(value, bytes) else None

    @property
    def is_esimd(self) -> bool:
        """True if its kernels are for the vector compiler."""
        return bool(self.number("isEsimdImage"))

    @property
    def aspects(self) -> tuple[int, ...]:
        """The aspects that a device must have, as numbers of ``sycl::aspect``."""
        return self.numbers("aspects")

    @property
    def sub_group_size(self) -> int | None:
        """The sub-group size that a device must have; None for any."""
        return self.number("reqd_sub_group_size", REQUIREMENTS)

    @property
    def work_group_size(self) -> tuple[int, ...]:
        """The size of work-groups that its kernels need, in the order of the range's dimensions; empty for any."""
        return self.numbers("reqd_work_group_size_uint64_t", 8) or self.numbers("reqd_work_group_size")

    @property
    def compile_target(self) -> str | None:
        """The architecture that it was compiled for ahead of time (``intel_gpu_pvc``); None where it is not stated."""
        return self.text("compile_target")

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """The entries that are kernels: exported functions are entries, too."""
        exported = self.properties.get(EXPORTS, {})
        return tuple(name for name in self.entries if name not in exported)

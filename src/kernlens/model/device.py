"""Devices: how a header or a note names its target, and how users do."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class IpVersion:
    """Graphics IP version, printed ``12.55.8``.

    Packed as in the hardware's GMD_ID register and in zebin's product-configuration note: bits 31..22 architecture,
    21..14 release, 5..0 revision.
    """

    architecture: int
    release: int
    revision: int

    @classmethod
    def unpack(cls, packed: int) -> IpVersion:
        """Return the version that a packed number says."""
        return cls(packed >> 22 & 0x3FF, packed >> 14 & 0xFF, packed & 0x3F)

    def pack(self) -> int:
        """Return the version as one number, packed as above."""
        return self.architecture << 22 | self.release << 14 | self.revision

    def __str__(self) -> str:
        return f"{self.architecture}.{self.release}.{self.revision}"


@dataclass(frozen=True, slots=True)
class IntelNumbers:
    """The numbers of a product of Intel's.

    ``iga_platform`` is libiga64's ``iga_gen_t`` value; ``product_family`` and ``render_core`` are the driver's numbers
    (compute-runtime's ``PRODUCT_FAMILY`` and ``GFXCORE_FAMILY``) as found in notes and patch-token headers.
    """

    iga_platform: int
    product_family: int
    render_core: int
    ip: IpVersion | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One product, as users name it: ``dg2``, ``gfx1030``, ``sm_90``, ``x86-64``.

    ``title`` is the marketing name, ``aliases`` further names that compilers or users give it. ``vendor`` is who makes it,
    ``isa`` its instruction set (``gen``, ``amdgcn``, ``sass``, ``x86-64``), by which a decoder is chosen. ``intel`` has the
    numbers of Intel's products.
    """

    name: str
    title: str
    vendor: str
    isa: str
    intel: IntelNumbers | None = None
    aliases: tuple[str, ...] = ()

    @property
    def ip(self) -> IpVersion | None:
        """The graphics IP version; None where it is not known, and of products that have none."""
        return self.intel.ip if self.intel is not None else None

    @property
    def has_messages(self) -> bool:
        """True if instructions reach memory by messages to shared functions, which have descriptors."""
        return self.intel is not None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Device {self.name}: {self.title}{f', {self.ip}' if self.ip else ''}>"


@dataclass(frozen=True, slots=True)
class DeviceId:
    """The target of a binary, as its header or notes state it; a field is None where the file does not say it."""

    product_family: int | None = None
    render_core: int | None = None
    ip: IpVersion | None = None
    stepping: int | None = None

    def __str__(self) -> str:
        if self.product_family is not None:
            return f"product family {self.product_family:#x}" + (f", IP version {self.ip}" if self.ip else "")
        if self.ip is not None:
            return f"IP version {self.ip}"
        return "nothing said" if self.render_core is None else f"render core {self.render_core:#x}"

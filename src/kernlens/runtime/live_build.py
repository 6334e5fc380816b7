"""What a live program or module holds for one device: the bytes and texts from which a Program is put together.

The same form for OpenCL and Level Zero, and small enough to come out of a child process as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernlens.model.kernel import KernelArgument


@dataclass(frozen=True, slots=True)
class LiveKernelBinary:
    """A kernel as the driver tells it.

    ``binary`` is the machine code with its padding, from before relocation; ``code`` the same without padding. Each is
    None where the driver does not give it, and ``reason`` says why. ``origin`` names the query that gave ``binary``.
    """

    name: str
    binary: bytes | None = field(default=None, repr=False)
    code: bytes | None = field(default=None, repr=False)
    origin: str | None = None
    simd: int | None = None
    spill_bytes: int | None = None
    private_bytes: int | None = None
    slm_bytes: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    arguments: tuple[KernelArgument, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LiveBuild:
    """One build for one device. ``api`` is ``opencl`` or ``level-zero``.

    ``binary`` is the driver's program binary, ``debug`` its debug data, ``source`` the source text, ``spirv`` the
    module it was made from. What is None has its reason in ``reasons`` under the field's name. ``device`` is the
    driver's name of the device, ``device_ip`` its IP version as ``12.55.8`` where the driver says it, ``pci_id`` its
    PCI number (0 where a simulated device has none).
    """

    api: str
    name: str
    device: str
    driver_version: str
    binary: bytes | None = field(repr=False)
    debug: bytes | None = field(default=None, repr=False)
    source: str | None = field(default=None, repr=False)
    spirv: bytes | None = field(default=None, repr=False)
    options: str | None = None
    log: str | None = field(default=None, repr=False)
    device_ip: str | None = None
    pci_id: int | None = None
    kernels: tuple[LiveKernelBinary, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

"""Intel's devices as the SYCL runtime sees them.

The aspects and sub-group sizes are those that ``sycl::device`` of intel-sycl-rt 2026.2 answers on Level Zero for each device
that NEO 26.27 simulates; ``tests/corpus/sycl_choice.py`` asks again. A device that is not simulated has those of the simulated
one of its generation whose features are the same; where there is none they are not known. Names of architectures: intel/llvm's
``architectures.def``.
"""

from __future__ import annotations

from kernlens.isa.devices import known_device
from kernlens.isa.intel.device_table import XE_HPC
from kernlens.model.device import Device
from kernlens.model.sycl_device import SyclDevice

#: Names of architectures that are not the device's own.
_ARCHITECTURES = {
    "dg2": "acm_g10", "dg2-g11": "acm_g11", "dg2-g12": "acm_g12", "mtl": "mtl_u", "bmg": "bmg_g21", "lnl": "lnl_m",
    "ptl": "ptl_h",
}  # fmt: skip
#: The simulated device whose aspects another one has.
_LIKE = {
    **dict.fromkeys(("rkl", "adl-s", "adl-p", "adl-n"), "tgllp"), **dict.fromkeys(("dg2-g11", "dg2-g12"), "dg2"),
    "mtl-h": "mtl", "pvc-vg": "pvc", "bmg-g31": "bmg", **dict.fromkeys(("ptl-u", "wcl"), "ptl"),
}  # fmt: skip
_FP64, _LEGACY_IMAGE, _MATRIX, _GRAPH, _INTEGRATED = 6, 39, 53, 56, 87
_ALL = frozenset((
    2, 5, *range(10, 16), *range(19, 24), 27, 28, 30, 32, *range(34, 38), 44, 45, 49, 50, 51, 52, 57, 58, *range(61, 68), 69,
    74, 75, 77, 80, 83, 84, *range(88, 96),
))  # fmt: skip
#: What the second version of the runtime's adapter, which it takes from Xe2 on, has besides.
_NEWER = frozenset(range(96, 100))
_ASPECTS = {
    "tgllp": _ALL | {_LEGACY_IMAGE, _INTEGRATED},
    "dg2": _ALL | {_LEGACY_IMAGE, _MATRIX},
    "mtl": _ALL | {_FP64, _LEGACY_IMAGE, _INTEGRATED},
    "pvc": _ALL | {_FP64, _MATRIX, _GRAPH},
    "bmg": _ALL | {_FP64, _LEGACY_IMAGE, _MATRIX, _GRAPH} | _NEWER,
    "lnl": _ALL | {_FP64, _LEGACY_IMAGE, _MATRIX, _GRAPH, _INTEGRATED} | _NEWER,
    "ptl": _ALL | {_FP64, _LEGACY_IMAGE, _MATRIX, _GRAPH, _INTEGRATED} | _NEWER,
}


def sycl_device_named(name: str) -> SyclDevice | None:
    """Return what the SYCL runtime sees of the device that is called so; None of other vendors' and unknown ones."""
    known = known_device(name)
    return sycl_device(known) if known is not None else None


def sycl_device(device: Device) -> SyclDevice | None:
    """Return what the SYCL runtime sees of a device; None of other vendors'."""
    if device.intel is None or device.ip is None:
        return None
    product = device.name
    is_pvc = product in ("pvc", "pvc-vg") or product.startswith("pvc-")
    sizes = (16, 32) if device.intel.iga_platform >= XE_HPC else (8, 16, 32)
    return SyclDevice(
        name=product,
        architecture=f"intel_gpu_{_ARCHITECTURES.get(product, product).replace('-', '_')}",
        sub_group_sizes=frozenset(sizes),
        aspects=_ASPECTS.get(_LIKE.get(product, product)),
        has_own_register_mode=is_pvc,
    )

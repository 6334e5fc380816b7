"""The SYCL runtime's choice: of several device images the one that it runs on a device, and the options that it builds it with.

Source: intel/llvm's ``program_manager.cpp`` (``appendCompileOptionsFromImage``, ``getBinImageFromMultiMap``,
``checkDevSupportDeviceRequirements``) and the Level Zero adapter of Unified Runtime (``urDeviceSelectBinary``,
``urPlatformGetBackendOption``). ``tests/corpus/sycl_choice.py`` compares with the runtime of intel-sycl-rt 2026.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernlens.dataclass import dataclass
from kernlens.model.sycl_device import SyclDevice
from kernlens.model.sycl_image import ASPECTS, REQUIREMENTS, SyclImage

_SPIRV, _AHEAD_OF_TIME = "spir64", "spir64_gen"
#: ``register_alloc_mode_enum``, and the sizes of the register file that ``sycl-grf-size`` names.
_AUTOMATIC, _LARGE = 0, 2
_LARGE_SIZES = {256: "-ze-opt-large-register-file", 512: "-ze-opt-register-file-size=512"}
#: The version of descriptors whose runtimes read no register mode.
_WITHOUT_REGISTER_MODE = 3
_AUTOMATIC_OPTION = "-ze-intel-enable-auto-large-GRF-mode"
#: Options of the image that the runtime replaces, by what the Level Zero adapter has for them.
_REPLACED = {
    "-ftarget-compile-fast": "-igc_opts 'PartitionUnit=1,SubroutineThreshold=50000'",
    "-foffload-fp32-prec-div": "-ze-fp32-correctly-rounded-divide-sqrt",
    "-foffload-fp32-prec-sqrt": "-ze-fp32-correctly-rounded-divide-sqrt",
}
_REGISTER_MODE = re.compile(r"-ftarget-register-alloc-mode=(?P<device>[^ :]*):?(?P<option>[^ ]*)")
#: Requirements that are not held against the device here.
_UNCHECKED = ("joint_matrix", "joint_matrix_mad")


@dataclass(frozen=True, slots=True)
class SyclChoice:
    """The outcome for one kernel and device. ``index`` is the place of the chosen image, None if there is none; ``reason`` says
    why the kernel does not run, empty if it does; ``options`` are the runtime's for the image; ``unchecked`` names requirements
    of which it is not known whether the device meets them."""

    index: int | None
    options: str = ""
    reason: str = ""
    unchecked: tuple[str, ...] = ()


def build_options(image: SyclImage, device: SyclDevice) -> str:
    """Return the options that the runtime builds an image with for a device, on Level Zero."""
    words = [image.compile_options]
    if image.is_esimd:
        words.append("-vc-codegen -disable-finalizer-msg")
    words.append(_register_option(image))
    level = image.number("optLevel")
    if not image.is_esimd and level is not None and level <= 3:
        words.append("-ze-opt-disable" if level == 0 else "-ze-opt-level=2")
    text = " ".join(words)
    for option, replacement in _REPLACED.items():
        text = text.replace(option, replacement)

    def mode(match: re.Match[str]) -> str:
        return match["option"] if match["device"] == "pvc" and device.has_own_register_mode else ""

    return " ".join(f"{_REGISTER_MODE.sub(mode, text)} {image.link_options}".split())


def _register_option(image: SyclImage) -> str:
    mode, size = image.number("sycl-register-alloc-mode"), image.number("sycl-grf-size")
    if mode is not None and image.version < _WITHOUT_REGISTER_MODE:
        size = {_LARGE: 256, _AUTOMATIC: 0}.get(mode)
    if size == 0:
        return _AUTOMATIC_OPTION
    if size == 256 and image.is_esimd:
        return "-doubleGRF"
    return _LARGE_SIZES.get(size or 0, "")


def why_not(image: SyclImage, device: SyclDevice) -> str:
    """Return why the runtime refuses to run an image that it chose on a device; empty if it does not."""
    if device.aspects is not None:
        missing = [ASPECTS.get(aspect, str(aspect)) for aspect in image.aspects if aspect not in device.aspects]
        if missing:
            return f"it requires the aspect {' and '.join(missing)}, which {device.name} does not have"
    total = 1
    for size in image.work_group_size:
        total *= size
    if image.work_group_size and total > device.largest_work_group:
        return (
            f"it requires work-groups of {total:,} work-items; {device.name} has {device.largest_work_group:,} at most"
        )
    lanes = image.sub_group_size
    if lanes is not None and not image.is_esimd and lanes not in device.sub_group_sizes:
        sizes = ", ".join(map(str, sorted(device.sub_group_sizes)))
        return f"it requires sub-groups of {lanes} work-items; {device.name} has {sizes}"
    return ""


def choose(images: Sequence[SyclImage], device: SyclDevice) -> SyclChoice:
    """Return the runtime's choice among the images of a file that hold one kernel, in the file's order."""
    fitting = [index for index, image in enumerate(images) if _is_for(image, device)]
    if not fitting:
        targets = ", ".join(dict.fromkeys(image.compile_target or image.target for image in images))
        return SyclChoice(None, reason=f"its images are for {targets}, none for {device.architecture}")
    ahead_of_time = [index for index in fitting if images[index].target == _AHEAD_OF_TIME]
    # It takes the image that was registered last.
    index = (ahead_of_time or fitting)[-1]
    image = images[index]
    unchecked = [name for name in _UNCHECKED if name in image.properties.get(REQUIREMENTS, {})]
    if device.aspects is None and image.aspects:
        unchecked.append(f"aspect {', '.join(ASPECTS.get(aspect, str(aspect)) for aspect in image.aspects)}")
    options = build_options(image, device)
    return SyclChoice(index, options, why_not(image, device), tuple(unchecked))


def _is_for(image: SyclImage, device: SyclDevice) -> bool:
    if image.compile_target is not None:
        return image.compile_target == device.architecture
    return image.target in (_SPIRV, _AHEAD_OF_TIME)

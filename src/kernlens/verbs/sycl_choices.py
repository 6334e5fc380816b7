"""The SYCL runtime's choice for each kernel of a host file: which of its images runs on a device, with what, or why none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.analysis.kernel_names import kernels_meant
from kernlens.analysis.sycl_choice import choose
from kernlens.isa.devices import device as device_named
from kernlens.isa.intel.sycl_support import sycl_device
from kernlens.model.sycl_device import KernelChoice

if TYPE_CHECKING:
    from kernlens.model.device import Device
    from kernlens.model.program import Program


def sycl_choices(programs: Sequence[Program], name: str, kernel_names: Sequence[str] = ()) -> list[KernelChoice]:
    """Return the runtime's choice for each kernel that the images of a host file offer, or for those of these names.
    There is none for a device that is not of Intel's, and of programs without a descriptor. Raises NotFoundError for an unknown
    device, UnknownKernelError for a kernel that is in no image."""
    target = device_named(name)
    seen = sycl_device(target)
    images = {id(program.image): program.image for program in programs if program.image is not None}
    if seen is None or not images:
        return []
    programs_of: dict[int, list[Program]] = {}
    for program in programs:
        programs_of.setdefault(id(program.image), []).append(program)
    holders: dict[str, list[int]] = {}
    for key, image in images.items():
        for kernel in image.kernels:
            holders.setdefault(kernel, []).append(key)
    asked = [kernel for each in kernel_names for kernel in kernels_meant(each, dict.fromkeys(holders))]
    choices = []
    for kernel in dict.fromkeys(asked) if kernel_names else holders:
        keys = holders[kernel]
        choice = choose([images[key] for key in keys], seen)
        if choice.index is None:
            choices.append(KernelChoice(kernel, None, "", choice.reason))
            continue
        inside = programs_of[keys[choice.index]]
        refusal, note = ("", "") if choice.reason else _of_native(inside, target)
        reason = choice.reason or refusal
        if choice.unchecked:
            note = "; ".join(filter(None, (note, f"not checked: {', '.join(choice.unchecked)}")))
        choices.append(KernelChoice(kernel, inside[0].name, choice.options, reason, note))
    return choices


def _of_native(programs: Sequence[Program], target: Device) -> tuple[str, str]:
    """Return why the driver refuses the chosen image, which may be compiled ahead of time, and what it does with it else."""
    native = [program for program in programs if program.format != "spirv"]
    if not native or any(program.is_for(target) for program in native):
        return "", ""
    names = ", ".join(dict.fromkeys(str(program.device) for program in native))
    if any(program.spirv for program in programs):
        return "", f"the image's code is for {names}: the driver compiles the SPIR-V in it"
    return f"the image's code is for {names}, and the driver does not go on to another image", ""

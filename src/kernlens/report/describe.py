"""Devices, kernels, files and sizes in words: the phrases that every text report shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.width import Name, one_line

if TYPE_CHECKING:
    from kernlens.model.code_function import CodeFunction

#: Functions in a kernel's code that a line names.
MOST_FUNCTIONS = 8


def plural(count: int, noun: str) -> str:
    """Return the count with the noun: ``1 kernel``, ``1,581 kernels``, ``2 launches``."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{ending}"


def sizes_of_launch(global_size: Sequence[int], local_size: Sequence[int] | None) -> str:
    """Return the sizes of a launch in words: ``64 x 2 work-items in groups of 8 x 1``."""
    groups = "groups that the driver chooses" if local_size is None else f"groups of {sizes_text(local_size)}"
    return f"{sizes_text(global_size)} work-items in {groups}"


def sizes_text(sizes: Sequence[int]) -> str:
    """Return sizes as a text: ``64 x 2``."""
    return " x ".join(f"{each:,}" for each in sizes)


def recorded_constants(constants: Mapping[int, int]) -> str:
    """Return the end of a sentence: ``, with specialization constants 0=0x5, 1=0x3``; empty if there are none."""
    values = ", ".join(f"{number}={bits:#x}" for number, bits in sorted(constants.items()))
    return f", with specialization constants {values}" if values else ""


def device_words(program: Program) -> str:
    """Return the device with its IP version, ``dg2 (12.55.8)``; what the header says if no such device is known."""
    if program.device:
        ip = program.device_id.ip if program.device_id and program.device_id.ip else program.device.ip
        return f"{program.device.name} ({ip})" if ip else program.device.name
    return f"unknown device ({program.device_id})" if program.device_id else "no device yet"


def function_name(function: CodeFunction) -> str:
    """Return the name of a function in a kernel's code, made from its offset if nothing names it."""
    return kernel_title(function.name) if function.name else f"function at {function.offset:#06x}"


def kernel_words(kernel: Kernel) -> str:
    """Return a kernel's name as its source has it; words for the pseudo kernel."""
    return "code of functions" if kernel.name == PSEUDO_KERNEL else Name(kernel_title(kernel.name))


def kernel_heading(program: Program, kernel: Kernel, title: str = "") -> str:
    """Return the kernel's name, which the width of a terminal may shorten, and its program's ``title``: name and device if
    there is none. A function that several kernels call is called one."""
    what = "" if kernel.is_entry else "  function, no kernel"
    behind = f"{what}  {title or f'{program.name} on {device_words(program)}'}"
    return f"{one_line(kernel_title(kernel.name), len(behind))}{behind}"


def short_names(paths: Collection[str]) -> dict[str, str]:
    """Return each source file's last part, which ``--line`` takes, or all of its path where two end alike."""
    last = {path: path.rsplit("/", 1)[-1] for path in paths}
    names = Counter(last.values())
    return {path: name if names[name] == 1 else path for path, name in last.items()}

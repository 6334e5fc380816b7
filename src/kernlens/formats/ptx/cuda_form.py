"""The form of an OpenCL kernel's PTX that a launch through CUDA's driver interface takes.

NVIDIA's OpenCL driver gives kernels what CUDA does not: the environment registers, whose meanings were told from what its
compiler makes of the functions that ask for sizes (the PTX ISA leaves them to drivers). ``%envreg0`` to ``2`` are the offset
of the work-groups, ``3`` to ``5`` the global offset, ``6`` to ``8`` the numbers of work-groups, ``9`` the work dimension. And
it places local memory and constant buffers that are arguments (``.ptr .shared``, ``.ptr .const``). In the form for CUDA the
launch's values stand in the text, local memory is a part of the dynamic shared memory, and a constant buffer is a variable of
the module. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.formats.ptx.ptx_text import PtxModule

_SHARED, _CONSTANT = "kernlens_shared", "kernlens_constant_{}"
#: Bytes of constant variables that a module may have, and of shared memory that any GPU may give to a work-group.
_MOST_CONSTANT, _MOST_SHARED = 1 << 16, 1 << 20
#: The largest type's size, and the least that local memory is aligned to.
_LARGEST, _LEAST = 128, 16
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>[a-z]+)(?P<bits>\d*)"
    r"(?P<pointer>\s+\.ptr(?:\s+\.(?P<space>[a-z]+))?(?:\s+\.align\s+(?P<align>\d{1,4}))?)?"
    r"\s+(?P<name>[\w$]+)(?:\[(?P<count>\d{1,9})\])?"
)
#: The registers of the global offset, which is 0 through CUDA.
_OFFSETS = {3, 4, 5}
_REGISTER = re.compile(r"%envreg(\d+)")
_LOAD = re.compile(r"ld\.param\.[bu]64(\s+%[\w$]+\s*,\s*)\[\s*([\w$]+)\s*\]")
_NAME = re.compile(r"[\w$]+")
_OBJECTS = {"texref": "an image", "surfref": "an image", "samplerref": "a sampler"}
#: Variables of the module that only kernels with images read.
_REFERENCES = re.compile(r"^[ \t]*(?:\.\w+[ \t]+)*\.(?:texref|surfref|samplerref)[^;]*;", re.MULTILINE)
_REQUIRED = re.compile(r"\.reqntid\s+(\d{1,5})(?:\s*,\s*(\d{1,5}))?(?:\s*,\s*(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """Sizes of a launch in one to three dimensions, its offset, and by the number of the argument the bytes of local memory,
    and of the buffers of ``__constant`` arguments."""

    global_size: Sequence[int]
    local_size: Sequence[int]
    global_offset: Sequence[int]
    local: Mapping[int, int]
    buffers: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class CudaForm:
    """A kernel in the form for CUDA: its text, the bytes of dynamic shared memory, the bytes of each parameter, and by the
    number of the argument the variables that hold constant buffers. ``is_needed`` is False if OpenCL's machine code does the
    same through CUDA."""

    text: str
    is_needed: bool
    shared: int
    parameters: tuple[int, ...]
    constants: Mapping[int, str]


def required_local_size(module: PtxModule, kernel: str) -> tuple[int, ...] | None:
    """Return the local size that a kernel demands of its launches (``reqd_work_group_size``), None if it demands none."""
    head, _, _ = _parts(module, kernel)[1].partition("{")
    required = _REQUIRED.search(head)
    return None if required is None else tuple(int(size or "1") for size in required.groups())


def cuda_form(module: PtxModule, kernel: str, values: LaunchValues) -> CudaForm:
    """Return a kernel in the form for CUDA. Raises NotFoundError if the text has no such kernel, UnsupportedError if it takes
    images or samplers, or reads what is not known."""
    before, entry, after = _parts(module, kernel)
    head, brace, body = entry.partition("{")
    parameters = list(_PARAMETER.finditer(head))
    for number, each in enumerate(parameters):
        if (kind := _OBJECTS.get(each["type"])) is not None:
            raise UnsupportedError(f"argument {number} is {kind}")
    moved, shared = _local_places(parameters, values)
    constants = {number: _CONSTANT.format(number) for number, each in enumerate(parameters) if each["space"] == "const"}
    moved |= constants
    places = {parameters[number]["name"]: place for number, place in moved.items()}
    body = _LOAD.sub(lambda match: f"mov.u64{match[1]}{places[match[2]]}" if match[2] in places else match[0], body)
    left = places.keys() & set(_NAME.findall(body))
    for number in moved:
        if parameters[number]["name"] in left:
            raise UnsupportedError(f"argument {number} is read in a way that is not known")
    head = _PARAMETER.sub(lambda match: match[0].replace(match["pointer"] or "\0", "", 1), head)
    text = before + _variables(constants, values, shared) + head + brace + body + after
    registers = {int(match[1][:9]) for match in _REGISTER.finditer(text)}
    is_needed = bool(moved) or not registers <= _OFFSETS or any(values.global_offset)
    text = _REGISTER.sub(lambda match: _register(int(match[1][:9]), values), text)
    return CudaForm(text, is_needed, shared, tuple(map(_size, parameters)), constants)


def _parts(module: PtxModule, kernel: str) -> tuple[str, str, str]:
    """Return the text before a kernel, the kernel, and the text behind it, with blank lines in place of other kernels, and
    without what only these read."""
    entry = next((each for each in module.entries if each.name == kernel), None)
    if entry is None:
        names = ", ".join(each.name for each in module.entries[:20]) or "none"
        raise NotFoundError(f"the PTX has no kernel {kernel}; it has: {names}")
    lines = list(module.lines)
    for other in module.entries:
        if other is not entry:
            lines[other.first - 1 : other.last] = [""] * (other.last - other.first + 1)
    first, last = entry.first - 1, entry.last
    parts = ["".join(f"{line}\n" for line in part) for part in (lines[:first], lines[first:last], lines[last:])]
    before, after = (_REFERENCES.sub(lambda match: "\n" * match[0].count("\n"), part) for part in parts[::2])
    return before, parts[1], after


def _local_places(parameters: Sequence[re.Match[str]], values: LaunchValues) -> tuple[dict[int, str], int]:
    """Return where local memory of arguments lies in the dynamic shared memory, and the bytes of that."""
    places, end = {}, 0
    for number, each in enumerate(parameters):
        if each["space"] != "shared":
            continue
        if number not in values.local:
            raise UnsupportedError(f"argument {number} is local memory, and the launch gave it none")
        alignment = max(_LEAST, min(_LARGEST, int(each["align"] or _LARGEST)))
        end = -(-end // alignment) * alignment
        places[number] = f"{_SHARED}+{end}"
        end += values.local[number]
    if end > _MOST_SHARED:
        raise UnsupportedError(f"{end:,} bytes of local memory are more than any GPU has")
    return places, end


def _variables(constants: Mapping[int, str], values: LaunchValues, shared: int) -> str:
    """Return the variables of the form, on no line of their own."""
    words = f".extern .shared .align {_LARGEST} .b8 {_SHARED}[]; " if shared else ""
    sizes = {number: values.buffers.get(number, 0) for number in constants}
    if sum(sizes.values()) > _MOST_CONSTANT:
        raise UnsupportedError(
            f"constant buffers of {sum(sizes.values()):,} bytes: CUDA has room for {_MOST_CONSTANT:,}"
        )
    return words + "".join(
        f".const .align {_LARGEST} .b8 {name}[{max(1, sizes[number])}]; " for number, name in constants.items()
    )


def _register(number: int, values: LaunchValues) -> str:
    """Return the value of an environment register as a literal."""

    def each(sizes: Sequence[int], filler: int) -> list[int]:
        return [*sizes, *[filler] * (3 - len(sizes))]

    groups = [size // local for size, local in zip(values.global_size, values.local_size, strict=True)]
    known = [0, 0, 0, *each(values.global_offset, 0), *each(groups, 1), len(values.global_size)]
    if number >= len(known):
        raise UnsupportedError(f"%envreg{number} is not known")
    if known[number] >> 32:
        raise UnsupportedError(f"%envreg{number} would be {known[number]:,}, which has more than 32 bits")
    return str(known[number])


def _size(parameter: re.Match[str]) -> int:
    return max(1, int(parameter["bits"] or "8") // 8) * int(parameter["count"] or "1")

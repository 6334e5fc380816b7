"""The SPIR-V modules in a file of any kind: a host library's device images, a recording's, a module itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

from kernlens import log
from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.formats.spirv.specialization import read_spec_constants, specialized
from kernlens.loading.open import open_file
from kernlens.model.spirv import SpecConstant
from kernlens.model.sycl_image import MISC, SyclImage


@dataclass(frozen=True)
class SpirvImage:
    """A module in a file: what to call it, the name of its program there, the names of its kernels, its content, and the
    options that a recording, or Triton's cache, says it was built with. Specialization constants that were recorded have
    their values in the content; ``recorded_constants`` are their bits by number. ``described`` is what a SYCL host says of
    the image."""

    title: str
    name: str
    kernels: tuple[str, ...]
    content: memoryview
    options: str = ""
    recorded_constants: Mapping[int, int] = field(default_factory=dict)
    described: SyclImage | None = None

    @cached_property
    def constants(self) -> Mapping[int, SpecConstant]:
        """Its specialisation constants by number."""
        return read_spec_constants(self.content)

    def specialized(self, values: Mapping[int, str]) -> SpirvImage:
        """Return the module with these values, as a user writes them, of the constants that it has. Raises
        KernlensError for a value that is none of its constant's type."""
        bits = constant_values(self.constants, values, self.title)
        return replace(self, content=memoryview(specialized(self.content, bits))) if bits else self


def constant_values(declared: Mapping[int, SpecConstant], constants: Mapping[int, str], name: str) -> dict[int, int]:
    """Return the bits of specialisation constants by number, from their values as a user writes them; those that are not
    declared are passed over. Raises KernlensError, with the module's ``name``, for a value that is none of its type."""
    bits = {}
    for number, text in constants.items():
        if number in declared:
            try:
                bits[number] = declared[number].bits(text)
            except ValueError as error:
                raise KernlensError(
                    f"{name}: {text!r} is no value of specialisation constant {declared[number]}"
                ) from error
    return bits


def spirv_images(path: str) -> list[SpirvImage]:
    """Return the modules of a file in its order, equal ones with equal options and constants once; those that are
    damaged are passed over as long as one is not. Raises UnsupportedError if there is none, FormatError if all are
    damaged."""
    images: dict[tuple[object, ...], SpirvImage] = {}
    damage: FormatError | None = None
    contents = open_file(path)
    is_module = [container.kind for container in contents.containers] == ["spirv"]
    for program in contents.some_programs():
        if not program.spirv:
            continue
        try:
            module = program.spirv_module
        except FormatError as error:
            log.debug("loading", "%s in %s is passed over: %s", program.name, path, error)
            damage = damage or error
            continue
        kernels = tuple(entry.name for entry in module.entry_points) if module else ()
        title = path if is_module else f"{path}:{program.name}"
        build = program.build
        options = (build.options or "").strip() if build.created or build.toolchain else ""
        constants = build.constants
        content = memoryview(specialized(program.spirv, constants)) if constants else program.spirv
        key = hashlib.sha256(content).digest(), options, *_decisive(program.image)
        images.setdefault(key, SpirvImage(title, program.name, kernels, content, options, constants, program.image))
    if not images and any(container.kind == "llvm-bitcode" for container in contents.containers):
        raise UnsupportedError(f"{path} is LLVM bitcode; translate it to SPIR-V first: llvm-spirv-15 {path} -o X.spv")
    if not images and any(program.format == "llvm-bitcode" for program in contents.programs):
        raise UnsupportedError(
            f"{path} is a library of LLVM bitcode, which no compiler here takes: clLinkProgram links it into a program"
        )
    if not images:
        raise damage or UnsupportedError(
            f"{path} contains no SPIR-V that can be compiled; kernlens inspect {path} shows what it contains"
        )
    return list(images.values())


def _decisive(image: SyclImage | None) -> tuple[object, ...]:
    """Return what the options depend on that the SYCL runtime builds an image with."""
    if image is None:
        return ()
    return image.compile_options, image.link_options, *sorted(image.properties.get(MISC, {}).items())

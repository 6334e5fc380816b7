"""SPIR-V that lies in host files, recordings and device binaries: each module becomes a file that can be compiled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.kernel_names import kernels_meant, matching
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError, UnknownKernelError
from kernlens.loading import open_file
from kernlens.loading.identify import kind_of
from kernlens.model.build import HeldParts
from kernlens.model.spirv import check_constants
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.includes import existing_source
from kernlens.toolchain.sources.source_settings import NO_SETTINGS, SourceSettings, settings_for
from kernlens.verbs.sources.spread import spread

if TYPE_CHECKING:
    from kernlens.loading.spirv_images import SpirvImage
    from kernlens.model.build import Build
    from kernlens.toolchain.parallel_compiles import CompileJob

#: What is compiled as it is, unless kernels or constants are chosen; what is no known kind is a source.
_WHOLE = (None, "spirv")


class ChoiceError(KernlensError):
    """A choice of kernels and constants that does not fit the files: a source is compiled whole, a library only in part."""


@dataclass(frozen=True, slots=True)
class Compilable:
    """The ``files`` to compile, in the order of the sources. ``images`` are modules of other files, in the ``folder``."""

    files: Sequence[str]
    images: Mapping[str, SpirvImage]
    folder: str

    def settings(self, file: Path) -> SourceSettings:
        """Return what the nearest ``kernlens.toml`` has for a file; nothing for an image, whose options were recorded."""
        return NO_SETTINGS if str(file) in self.images else settings_for(file)

    def job(self, job: CompileJob, *, unconfined: bool = False) -> CompileJob:
        """Return the compile of a file; of an image with the options that a recording has of it, or that the SYCL runtime
        builds it with, before the job's own. As somebody else may have chosen these, the compiler can read nothing else of
        this machine unless it is ``unconfined``."""
        image = self.images.get(str(job.source))
        if image is None:
            return job
        described = _sycl_options(image, job.device)
        options = " ".join(words for words in (image.options, described, job.options) if words)
        return replace(job, options=options, is_foreign=not unconfined)

    def recorded_notes(self) -> list[str]:
        """Return sentences on the constants and options that were recorded, and are used again."""
        from kernlens.report.describe import recorded_constants

        constants = dict.fromkeys(recorded_constants(image.recorded_constants) for image in self.images.values())
        options = dict.fromkeys(image.options for image in self.images.values() if image.options)
        return [
            *(f"the SPIR-V is compiled as it was recorded{words}" for words in constants if words),
            *(f"the recorded options {recorded} are used again, before those given here" for recorded in options),
        ]

    def notes(self, jobs: Sequence[CompileJob]) -> list[str]:
        """Return sentences on what the SYCL runtime adds to the options of these compiles, and which it would not make."""
        devices: dict[str, dict[str, None]] = {}
        refused: dict[tuple[str, str], list[str]] = {}
        for job in jobs:
            image = self.images.get(str(job.source))
            if image is None or image.described is None:
                continue
            if options := _sycl_options(image, job.device):
                devices.setdefault(options, {})[job.device] = None
            if reason := _sycl_refusal(image, job.device):
                refused.setdefault((job.device, reason), []).append(image.name)
        options_of = (f"{options} ({', '.join(names)})" for options, names in devices.items())
        notes = [f"the options that the SYCL runtime passes come before those given here: {'; '.join(options_of)}"]
        names_of = (
            f"{name}{f' and {len(names) - 1} more' if len(names) > 1 else ''} on {device}: {reason}"
            for (device, reason), names in refused.items()
            for name in names[:1]
        )
        return (notes if devices else []) + [f"the SYCL runtime does not run {words}" for words in names_of]

    def titled(self, build: Build) -> Build:
        """Return a Build with the name of the module that it was made of, in place of the temporary file's."""
        image = self.images.get(build.path)
        if image is None:
            return build

        def renamed(text: str) -> str:
            return text.replace(build.path, image.title).replace(f"{self.folder}/", "").replace(self.folder, "")

        assert isinstance(build.parts, HeldParts)
        return replace(
            build,
            name=image.name,
            path=image.title,
            command=renamed(build.command),
            reason=renamed(build.reason) if build.reason else None,
            parts=replace(build.parts, log=renamed(build.log)),
        )


def _sycl_options(image: SpirvImage, device: str) -> str:
    from kernlens.analysis.sycl_choice import build_options
    from kernlens.isa.intel.sycl_support import sycl_device_named

    target = sycl_device_named(device)
    return build_options(image.described, target) if image.described is not None and target is not None else ""


def _sycl_refusal(image: SpirvImage, device: str) -> str:
    from kernlens.analysis.sycl_choice import why_not
    from kernlens.isa.intel.sycl_support import sycl_device_named

    target = sycl_device_named(device)
    return why_not(image.described, target) if image.described is not None and target is not None else ""


@contextmanager
def compilable(
    sources: Sequence[str | os.PathLike[str]], kernel_names: Sequence[str], constants: Mapping[int, str]
) -> Iterator[Compilable]:
    """Give the files to compile while the context lasts: OpenCL C, of folders too, and SPIR-V as they are, and of other files
    each module that holds a kernel of these names or patterns, with these values of specialization constants, as a user writes
    them.

    Raises UnknownKernelError if there is no such kernel, ChoiceError for a source of which kernels or constants are chosen
    and a file of several modules of which none is, UnsupportedError for a file without SPIR-V.
    """
    paths = spread(sources, even_mixed=True)
    kinds = {path: _kind(path) for path in paths}
    is_chosen = bool(kernel_names or constants)
    if is_chosen and None in kinds.values():
        source = next(path for path, kind in kinds.items() if kind is None)
        raise ChoiceError(
            f"--kernel and --spec-constant are for SPIR-V, but {source} is a source, which is compiled as a whole"
        )
    holders = [path for path in paths if is_chosen or kinds[path] not in _WHOLE]
    chosen = _chosen(holders, kernel_names, constants)
    with temporary_folder() as folder:
        files: dict[str, list[str]] = {path: [] if path in chosen else [path] for path in paths}
        images: dict[str, SpirvImage] = {}
        for path, image in [(path, image) for path, own in chosen.items() for image in own]:
            file = Path(folder, f"{len(images)}.spv")
            file.write_bytes(image.content)
            files[path].append(str(file))
            images[str(file)] = image
        yield Compilable([file for path in paths for file in files[path]], images, folder)


def _without_spirv(asked: str, paths: Iterable[str]) -> NotFoundError | None:
    """Return the error on a kernel that is there as machine code, and in no SPIR-V module; None if it is not there."""
    for path in paths:
        for program in open_file(path).programs:
            if names := matching(asked, program.kernels.keys()):
                return NotFoundError(
                    f"{kernel_title(names[0])} is in {path} as machine code for {program.device}, and in no SPIR-V module,"
                    " so it cannot be compiled"
                )
    return None


def _kind(path: str) -> str | None:
    kind, _ = kind_of(path, "source file")
    if kind is None:
        existing_source(path)  # which refuses what is no text
    return kind


def _chosen(
    paths: Sequence[str], kernel_names: Sequence[str], constants: Mapping[int, str]
) -> dict[str, list[SpirvImage]]:
    """Return the modules to compile of each path."""
    from kernlens.loading.spirv_images import spirv_images

    held: dict[str, list[SpirvImage]] = {}
    for path in dict.fromkeys(paths):
        held[path] = spirv_images(path)
        if len(held[path]) > 1 and not kernel_names:
            by_program = ""
            if len({image.kernels for image in held[path]}) < len(held[path]) and kind_of(path)[0] == "recording":
                by_program = (
                    f"; kernlens recording prune {quote(path)} --keep {quote(held[path][0].name)} -o one.klens takes"
                )
                by_program += " one of those whose kernels have the same names"
            raise ChoiceError(
                f"{path} contains {len(held[path]):,} SPIR-V modules; choose with --kernel K, a kernel's name or a pattern"
                f" ('*' for all){by_program}"
            )
    images = [image for own in held.values() for image in own]
    if kernel_names:
        known = {name: None for image in images for name in image.kernels}
        try:
            names = {name for asked in kernel_names for name in kernels_meant(asked, known)}
        except UnknownKernelError as error:
            raise _without_spirv(str(error.name), held) or error from None
        held = {path: [image for image in own if not names.isdisjoint(image.kernels)] for path, own in held.items()}
    if constants:
        check_constants(
            constants, (each for own in held.values() for image in own for each in image.constants.values())
        )
    return {path: [image.specialized(constants) for image in own] for path, own in held.items()}

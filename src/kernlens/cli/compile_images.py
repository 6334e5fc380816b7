"""``kernlens compile LIB --kernel K``: SPIR-V that lies in host files, recordings and device binaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernlens.analysis.kernel_names import kernels_meant
from kernlens.cli.options import check_constants, constant_of
from kernlens.cli.output import print_message
from kernlens.errors import UnsupportedError
from kernlens.loading.identify import identify
from kernlens.report.describe import recorded_constants

if TYPE_CHECKING:
    from kernlens.loading.spirv_images import SpirvImage
    from kernlens.model.build import Build

#: Bytes of a file that tell whether it is text.
_START = 4096
#: What is compiled as it is, unless kernels or constants are chosen; what is no known kind is a source.
_WHOLE = (None, "spirv")


@contextmanager
def compilable(
    sources: Sequence[str], kernel_names: Sequence[str], specialize: Sequence[str]
) -> Iterator[tuple[dict[str, str], Callable[[Build], Build]]]:
    """Gives the files to compile, with the options that a recording has of each, and what gives a Build the name of the
    module in place of its file's: sources as they are, and of other files each module that holds a kernel that is asked for,
    while the context lasts.

    Raises UnknownKernelError if there is no such kernel, UnsupportedError for a file without SPIR-V.
    """
    from kernlens.toolchain.process import temporary_folder

    kinds = {source: _kind(source) for source in sources}
    is_chosen = bool(kernel_names or specialize)
    if is_chosen and None in kinds.values():
        source = next(source for source, kind in kinds.items() if kind is None)
        raise click.UsageError(
            f"--kernel and --specialize are for SPIR-V, and {source} is a source, compiled as a whole"
        )
    held = [source for source, kind in kinds.items() if is_chosen or kind not in _WHOLE]
    images = _chosen(held, kernel_names, specialize)
    with temporary_folder() as folder:
        titles: dict[str, SpirvImage] = {}
        for number, image in enumerate(images):
            file = Path(folder, f"{number}.spv")
            file.write_bytes(image.content)
            titles[str(file)] = image

        def titled(build: Build) -> Build:
            image = titles.get(build.path)
            return build if image is None else _titled(build, image, folder)

        for words in dict.fromkeys(recorded_constants(image.recorded_constants) for image in images):
            if words:
                print_message(f"kernlens: the SPIR-V is compiled as it was recorded{words}")
        whole = {source: "" for source in sources if source not in held}
        yield whole | {file: image.options for file, image in titles.items()}, titled


def _kind(path: str) -> str | None:
    from kernlens.toolchain.source_reading import open_regular

    with open_regular(path, "source file") as file:
        start = file.read(_START)
    kind = identify(memoryview(start))
    if kind is None and b"\0" in start:
        raise UnsupportedError(
            f"{path} is neither OpenCL C nor SPIR-V: it holds zero bytes, which no source does; if it is text, save it as UTF-8"
        )
    return kind


def _chosen(paths: Sequence[str], kernel_names: Sequence[str], specialize: Sequence[str]) -> list[SpirvImage]:
    from kernlens.loading.spirv_images import spirv_images

    images = []
    for path in paths:
        held = spirv_images(path)
        if len(held) > 1 and not kernel_names:
            raise click.UsageError(
                f"{path} holds {len(held):,} SPIR-V modules; choose with --kernel K, a kernel's name or a pattern"
                " ('*' for all)"
            )
        images += held
    if kernel_names:
        known = {name: None for image in images for name in image.kernels}
        wanted = {name for asked in kernel_names for name in kernels_meant(asked, known)}
        images = [image for image in images if not wanted.isdisjoint(image.kernels)]
    values = dict(map(constant_of, specialize))
    if values:
        check_constants(values, (constant for image in images for constant in image.constants.values()))
    return [image.specialized(values) for image in images]


def _titled(build: Build, image: SpirvImage, folder: str) -> Build:
    from kernlens.model.build import HeldParts

    def renamed(text: str) -> str:
        return text.replace(build.path, image.title).replace(f"{folder}/", "").replace(folder, "")

    assert isinstance(build.parts, HeldParts)
    return replace(
        build,
        name=image.name,
        path=image.title,
        command=renamed(build.command),
        reason=renamed(build.reason) if build.reason else None,
        parts=replace(build.parts, log=renamed(build.log)),
    )

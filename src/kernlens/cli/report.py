"""``kernlens report``: what ``serve`` shows, in one HTML file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kernlens import __version__
from kernlens.cli.options import (
    device_option,
    file_option,
    kernel_option,
    own_lines_option,
    own_roots,
    path_argument,
    select,
    source_root_option,
    unconfined_option,
    verb,
)
from kernlens.cli.output import print_message, print_pieces
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernlens.cli.options import Selection
    from kernlens.loading import Contents
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program


@verb("kernlens report blur.klens -o blur.html")
@path_argument()
@click.option("-o", "--output", metavar="FILE", required=True, type=click.Path(dir_okay=False), help="The page.")
@kernel_option()
@click.option("--redact", type=click.Choice(["source"]), help="Leave source text out, wherever it stands.")
@click.option(
    "--stages/--no-stages",
    default=None,
    help="Compile programs again whose stages were not kept, to show them; or show no stages. Else those that were kept.",
)
@file_option("The source, where the line table does not name it.", "--source")
@source_root_option()
@own_lines_option()
@device_option()
@unconfined_option()
def command(
    path: str,
    output: str,
    kernel_names: tuple[str, ...],
    redact: str | None,
    stages: bool | None,
    source: str | None,
    source_roots: tuple[str, ...],
    is_own: bool,
    device: str | None,
    unconfined: bool,
) -> None:
    """Write one HTML file that shows source, stages and machine code side by side; it needs no network and no server."""
    from kernlens.loading import open_file

    contents = open_file(path, device=device, source_roots=source_roots, source=source)
    pieces = report_page(
        contents,
        kernel_names,
        device,
        stages=stages,
        is_redacted=redact is not None,
        own_roots=own_roots(source_roots),
        is_own=is_own,
        unconfined=unconfined,
    )
    print_pieces(pieces, output)
    contents.check()


def report_page(
    contents: Contents,
    kernel_names: Sequence[str] = (),
    device: str | None = None,
    *,
    stages: bool | None = None,
    is_redacted: bool = False,
    own_roots: Sequence[str] = (),
    is_own: bool = False,
    unconfined: bool = False,
) -> Iterator[str]:
    """Yield the page of these contents in pieces. ``stages``: compile programs again that have none (True), show none
    (False), or show what was saved; ``own_roots`` and ``is_own`` are ``explore_document``'s, ``unconfined`` that of
    ``second_build_of_recording``. Raises what ``select`` raises."""
    from kernlens.report.explore import explore_document
    from kernlens.report.explore.single_file import page, viewer_script

    selection: Selection = []
    if contents.programs or not contents.failed:
        selection = select(contents.machine_code(), kernel_names, device)
    if stages:
        selection = [_with_stages(program, kernels, unconfined) for program, kernels in selection]
    programs = [program for program, _ in selection]
    failed = [] if kernel_names else [build for build in contents.failed if _is_for(build, device)]
    whole = explore_document(
        programs,
        title=os.path.basename(os.path.normpath(contents.path)),
        version=__version__,
        kernels=[[kernel.name for kernel in kernels] for _, kernels in selection],
        failed=failed,
        redaction=_redaction(programs, failed) if is_redacted else None,
        has_stages=stages is not False,
        own_roots=own_roots,
        is_own=is_own,
    )
    return page(whole, viewer_script())


def _is_for(build: Build, device: str | None) -> bool:
    """Return whether a build is for the device of that name, or alias; None: any."""
    from kernlens.isa.devices import known_device

    return device in (None, build.device) or known_device(build.device) == known_device(device or "")


def _with_stages(program: Program, kernels: list[Kernel], unconfined: bool) -> tuple[Program, list[Kernel]]:
    """Return the program compiled again with its stages; as it is if it has some, or cannot be."""
    from kernlens.pipeline.second_build_of_recording import second_build_of_recording

    if program.build.snapshots:
        return program, kernels
    try:
        again = next(
            each for each in second_build_of_recording(program.build, unconfined=unconfined).programs if each.kernels
        )
    except (KernlensError, StopIteration) as error:
        reason = str(error) or "the compiler gave no program"
        print_message(f"kernlens: the stages of {program.name} are not shown: {reason}")
        return program, kernels
    again = replace(again, name=program.name)
    return again, [again.kernels[kernel.name] for kernel in kernels if kernel.name in again.kernels]


class _Redaction:
    """An overwriter of source lines in texts."""

    def __init__(self) -> None:
        from kernlens.recording.redaction import Redaction

        self.lines = Redaction()

    def text(self, text: str) -> str:
        return self.lines.apply(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def log(self, log: str) -> str:
        return self.lines.apply_to_log(log.encode("utf-8", "replace")).decode("utf-8", "replace")


def _redaction(programs: Sequence[Program], failed: Sequence[Build]) -> _Redaction:
    redaction = _Redaction()
    for program in programs:
        redaction.lines.learn(source.text for source in program.sources)
    for build in (*(program.build for program in programs), *failed):
        redaction.lines.learn_of(build)
    return redaction

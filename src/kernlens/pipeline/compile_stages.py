"""The compile of a program, kept at every stage: what ``kernlens.stages`` and second builds of recordings stand on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from kernlens.dataclass import dataclass, in_short
from kernlens.errors import UnsupportedError
from kernlens.model.build import Build
from kernlens.model.columns import Table, Tabular
from kernlens.model.line_choice import LineChoice
from kernlens.model.source_path import NAMES_OF_THE_NAMELESS, end_alike, is_nameless
from kernlens.model.stage import Snapshot, choose
from kernlens.model.stage_map import ProgramLine, StageMap
from kernlens.toolchain.device_compilers import is_compiled_by_clang, own_toolchain
from kernlens.toolchain.sources.recorded_sources import STAND_IN
from kernlens.toolchain.toolchains import DEFAULT
from kernlens.toolchain.toolchains import toolchain as find_toolchain

if TYPE_CHECKING:
    from kernlens.model.program import Program


@dataclass(frozen=True)
class Pipeline(Tabular, Sequence[Snapshot]):
    """A sequence of one build's snapshots, in pipeline order, with the programs and source maps made from them.
    ``written_below`` is the temporary folder that recorded sources were written to; paths of lines leave it out."""

    build: Build
    written_below: str = ""

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The build's snapshots, in pipeline order."""
        return self.build.snapshots

    @property
    def table(self) -> Table:
        """The snapshots, single passes too, with the bytes of each and the seconds until it was complete."""
        kinds = {
            "stage": str,
            "kernel": str,
            "form": str,
            "attempt": int,
            "bytes": int,
            "seconds": float,
            "failure": str,
        }
        rows = (
            (each.stage, each.kernel, each.form, each.attempt, each.size, each.seconds, each.failure)
            for each in self.snapshots
        )
        return Table.of_rows(kinds, rows)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self)[1:-1])}</p>{self.table._repr_html_()}"

    def __len__(self) -> int:
        return len(self.snapshots)

    def __repr__(self) -> str:
        reason = "" if self.build.ok else f" reason={self.build.reason!r}"
        return in_short(
            f"<Pipeline source={self.build.source!r} device={self.build.device} snapshots={len(self)}{reason}>"
        )

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Snapshot, ...]: ...
    def __getitem__(self, index: int | slice) -> Snapshot | tuple[Snapshot, ...]:
        return self.snapshots[index]

    def choose(self, stage: str, kernel: str | None = None, form: str | None = None) -> tuple[Snapshot, ...]:
        """Return the snapshots of one stage (see ``model.stage.choose``): one, or one per kernel."""
        return choose(self.snapshots, stage, kernel, form)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The programs in the binary, or the SPIR-V's if there is no binary, with these snapshots.

        Empty if the build is not by one of Intel's GPU compilers.
        """
        from kernlens.loading import open_build

        return open_build(self.build)

    @cached_property
    def stage_maps(self) -> tuple[StageMap, ...]:
        """The source map of each stage that has one; those of the machine code come last."""
        from kernlens.loading.stage_maps import stage_maps, under_name, without_folder

        programs = [program for program in self.programs if program.kernels]
        maps = stage_maps(self.snapshots, programs)
        if self.written_below:
            maps = tuple(without_folder(each, self.written_below) for each in maps)
        return tuple(under_name(each, self.build.source) for each in maps)

    def line(self, line: int, path: str | None = None) -> ProgramLine:
        """Follow one source line through all stages: ``pipeline.line(42).stages``."""
        return self.followed(LineChoice(path, line))

    def followed(self, choice: LineChoice) -> ProgramLine:
        """Follow the line of a user's choice through all stages."""
        return ProgramLine(self.meant_line(choice), self.stage_maps)

    def meant_line(self, choice: LineChoice) -> LineChoice:
        """Return a user's choice of a line as it is meant here, where the build's own source may have no name."""
        own = next((each for each in self.build.sources if not each.path or is_nameless(each.path)), None)
        if own is None:
            return choice
        names = (*NAMES_OF_THE_NAMELESS, self.build.source, self.build.name, f"{self.build.name}.cl")
        path = f"/{STAND_IN}" if self.written_below and not own.path else self.build.source
        return choice.in_source(path or NAMES_OF_THE_NAMELESS[0], names, own.text)

    def files_unlike(self, choice: LineChoice) -> list[str]:
        """Return the files that stages have lines of, if the choice's is none of them."""
        meant = self.meant_line(choice)
        paths = sorted({path for each in self.stage_maps for path, _ in each.lines})
        return [] if any(map(meant.names, paths)) else paths

    def source_text(self, path: str, line: int) -> str | None:
        """Return the text of a source line; None if its source is not at hand."""
        for source in self.build.sources:
            if end_alike(source.path, path):
                lines = source.text.split("\n")
                return lines[line - 1] if 1 <= line <= len(lines) else None
        return None


def compile_stages(
    source: str | os.PathLike[str],
    device: str,
    *,
    options: str = "",
    toolchain: str = DEFAULT,
    all_passes: bool = False,
) -> Pipeline:
    """Compile like ``kernlens.stages``; a source that does not compile gives a Build that is not ``ok``, with the stages so
    far."""
    from kernlens.pipeline import igc
    from kernlens.pipeline.amd_stages import amd_snapshots
    from kernlens.pipeline.compilers import COMPILES

    path = Path(source)
    if is_compiled_by_clang(device):
        chosen = find_toolchain(toolchain) if toolchain else own_toolchain(device)
        return Pipeline(amd_snapshots(path, device, options, chosen, all_passes=all_passes))
    if device not in COMPILES:
        return Pipeline(igc.snapshots(path, device, options, find_toolchain(toolchain), all_passes))
    if all_passes:
        raise UnsupportedError(f"the compiler for {device} does not show its single passes; leave --all-passes out")
    return Pipeline(COMPILES[device](path, options))

"""``kernlens report``: what ``serve`` shows, in one HTML file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, print_json, print_lines, print_pieces
from kernlens.cli.sources import Sources, tell
from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.model.trips import Trips

_RULES = (Rule("--stages", excludes=("--redact",), why="shows texts that hold the source"),)


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    output: str = option.file("HTML file to write.", "-o", "--output", required=True, dir_okay=False)
    kernels: tuple[str, ...] = option.kernels()
    redact: str | None = option.value(
        "Remove all source text from the page, and the stages.", "--redact", type=option.Choice(["source"])
    )
    has_paths: bool = option.flag(
        "Keep absolute paths on the page: your home folder and those of sources and options.", "--paths"
    )
    stages: bool | None = option.value(
        "Recompile programs without saved stages to show their stages; or show no stages.  [default: show saved stages]",
        "--stages/--no-stages",
        default=None,
    )
    source: str | None = option.own_source()
    source_roots: tuple[str, ...] = option.source_root()
    is_own: bool = option.own_lines()
    samples: str | None = option.samples()
    sources: Sources = option.together(Sources)
    trips: Trips | None = option.trips()
    unconfined: bool = option.unconfined()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens report blur.klens -o blur.html", rules=_RULES)
def command(asked: Asked) -> None:
    """Write one HTML file with source, stages and machine code side by side. It needs no network and no server."""
    from kernlens.cli.samples import read_samples, tell_unmatched
    from kernlens.verbs.report import report_page

    contents = asked.sources.opened(asked.path, source_roots=asked.source_roots, source=asked.source)
    if asked.trips is not None:
        from kernlens.verbs.weighed import weighed_contents

        contents = weighed_contents(contents, asked.trips)
    sampled = read_samples(asked.samples)
    if sampled is not None:
        tell_unmatched(asked.samples, sampled, contents.programs)
    with Progress("decoding", quiet=asked.as_json, later=True) as progress:
        pieces = report_page(
            contents,
            asked.kernels,
            asked.sources.chosen,
            stages=asked.stages,
            is_redacted=asked.redact is not None,
            own_roots=option.own_roots(asked.source_roots),
            is_own=asked.is_own,
            sampled=sampled,
            unconfined=asked.unconfined,
            has_paths=asked.has_paths,
            tell=tell,
            on_progress=progress.show,
        )
        print_pieces(pieces, asked.output)
    size = os.stat(asked.output).st_size
    if asked.as_json:
        print_json({"schema": 1, "page": asked.output, "size": size})
    else:
        print_lines([f"written: {asked.output} ({size:,} bytes)"])
    contents.check()

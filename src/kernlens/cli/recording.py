"""``kernlens recording``: the contents of recordings, and recordings made of them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernlens.analysis.kernel_names import is_named
from kernlens.cli import completion, option
from kernlens.cli.output import print_json, print_lines, print_message
from kernlens.errors import FormatError, KernlensError, likeliest
from kernlens.report.table import table

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.recording.editing import Written
    from kernlens.recording.inventory import StoredProgram
    from kernlens.report.table import Cell


@click.group("recording", cls=option.HelpingGroup, epilog="\b\nExample:\n  kernlens recording list blur.klens")
@option.diagnostic
def command() -> None:
    """List, merge, prune and redact recordings.

    kernlens writes a changed recording to a new file, which then replaces the old one. If the command is interrupted, the
    old recording stays as it was. The new file contains no trace of removed parts.
    """


def _output_option(required: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    meaning = "Write to this recording instead of changing the input."
    if required:
        meaning = "Recording to write. kernlens overwrites an existing one."
    return click.option("-o", "--output", metavar="FILE", type=click.Path(), required=required, help=meaning)


def _readable(context: click.Context, parameter: click.Parameter, paths: Any) -> Any:
    """Return the paths as they are. Raises what ``open_regular`` does for a pipe or a device, which would block."""
    from kernlens.toolchain.sources.source_reading import open_regular

    for path in (paths,) if isinstance(paths, str) else paths:
        open_regular(path, "recording").close()
    return paths


_recording = click.argument("path", metavar="FILE", type=click.Path(), callback=_readable)


@command.command("list", epilog="\b\nExample:\n  kernlens recording list blur.klens")
@_recording
@option.json()
@option.diagnostic
def list_programs(path: str, as_json: bool) -> None:
    """Show the programs in a recording and the sizes of its parts."""
    from kernlens.recording.capture_notes import launches
    from kernlens.recording.inventory import stored_programs
    from kernlens.recording.reader import Recording

    with Recording(path) as recording:
        programs = stored_programs(recording)
        damage: list[str] = []
        counts = [_kernel_count(program.build, damage) for program in programs]
        metadata = recording.metadata
    try:
        counted = launches(metadata)
    except FormatError as error:
        counted = None
        damage.append(str(error))
    document = _document(path, programs, counts, metadata, counted)
    if as_json:
        print_json(document)
    else:
        print_lines(_listing(document, has_launches=counted is not None))
    for sentence in damage:
        print_message(f"kernlens: {sentence}")
    sys.exit(2 if damage else 0)


@command.command("merge", epilog="\b\nExample:\n  kernlens recording merge day.klens night.klens -o both.klens")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(), callback=_readable)
@_output_option(required=True)
@option.json()
@option.diagnostic
def merge_recordings(paths: tuple[str, ...], output: str, as_json: bool) -> None:
    """Write the programs of several recordings into one.

    A program that several recordings contain is written once. If different programs have the same name, device and
    toolchain, kernlens appends a number to the name. It adds up the launch counts of captures.
    """
    from kernlens.recording.editing import merge

    _tell(merge(paths, output, command_line=sys.argv), "there already", as_json)


@command.command(
    "prune", epilog="\b\nExample:\n  kernlens recording prune app.klens --keep 'blur_*' --drop stages,logs"
)
@_recording
@option.several(
    "Keep only programs with this name or with a kernel of this name (blur_*). May be repeated.",
    "--keep",
    metavar="PATTERN",
    shell_complete=completion.kernels,
)
@option.several(
    "Remove these parts: sources, binaries, debug, spirv, logs, stages.",
    "--drop",
    metavar="KIND,...",
    shell_complete=completion.recorded_kinds,
)
@_output_option()
@option.json()
@option.diagnostic
def prune_recording(path: str, keep: tuple[str, ...], drop: tuple[str, ...], output: str | None, as_json: bool) -> None:
    """Remove programs, or parts of all programs, from a recording, and free their disk space."""
    from kernlens.recording.editing import prune
    from kernlens.recording.inventory import KINDS

    kinds = {kind for words in drop for kind in words.split(",") if kind}
    unknown = sorted(kinds - KINDS.keys())
    if unknown:
        near = likeliest(unknown[0], KINDS)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(f"--drop does not support '{unknown[0]}'; it supports {', '.join(KINDS)}{meant}")
    if not keep and not kinds:
        raise click.UsageError("choose what to keep (--keep) or what to remove (--drop)")
    _tell(prune(path, output, keep=_choice(keep), drop=kinds), "left out", as_json)


@command.command("redact", epilog="\b\nExample:\n  kernlens recording redact app.klens --source -o shareable.klens")
@_recording
@option.flag("Remove all source text.", "--source", "of_source")
@_output_option()
@option.json()
@option.diagnostic
def redact_recording(path: str, of_source: bool, output: str | None, as_json: bool) -> None:
    """Remove source text from a recording: sources, source lines in logs, text in SPIR-V and in stages.

    Names of kernels, functions, variables and files stay, as do build options and the command line. Check these before
    you share the recording (kernlens recording list FILE --json).
    """
    from kernlens.recording.editing import redact_source

    if not of_source:
        raise click.UsageError("add --source: it is what redact removes")
    _tell(redact_source(path, output), "left out", as_json)


def _choice(patterns: Sequence[str]) -> Callable[[Build], bool]:
    """Return the test of whether a program is to be kept: by its own name, or by that of one of its kernels."""

    def is_kept(build: Build) -> bool:
        if not patterns or any(is_named(pattern, build.name) for pattern in patterns):
            return True
        return any(is_named(pattern, name) for name in _kernel_names(build) for pattern in patterns)

    return is_kept


def _kernel_names(build: Build) -> list[str]:
    from kernlens.loading import open_build

    programs = open_build(build) if build.ok else ()
    return [
        name
        for program in programs
        for name in (program.entry_kernels or [symbol.name for symbol in program.symbols if symbol.kind == "kernel"])
    ]


def _kernel_count(build: Build, damage: list[str]) -> int | None:
    try:
        return len(_kernel_names(build))
    except KernlensError as error:
        damage.append(f"{build.name} for {build.device} cannot be read: {error}")
        return None


def _listing(document: dict[str, Any], *, has_launches: bool) -> list[str]:
    """Return the lines of what ``_document`` returns."""
    from kernlens.report.describe import plural

    rows: list[list[Cell]] = [
        [
            program["name"],
            program["device"],
            program["toolchain"],
            program["outcome"],
            program["kernels"],
            *([program["launches"]] if has_launches else []),
            len(program["sources"]),
            program["stages"],
            program["size"],
            f"{program['seconds']:.2f}",
            program["created"].partition(".")[0].replace("T", " "),
        ]
        for program in document["programs"]
    ]
    titles = ["program", "device", "toolchain", "outcome", "kernels", *(["launches"] if has_launches else [])]
    titles += ["sources", "stages", "bytes", "seconds", "built (UTC)"]
    room: list[list[Cell]] = [list(content.values()) for content in document["contents"]]
    redacted = ", without source text" if document["metadata"].get("redacted") else ""
    return [
        *table(titles, rows),
        "",
        *table(["content", "number", "bytes", "bytes in the file"], room),
        f"{plural(len(rows), 'program')} in {document['size']:,} bytes{redacted}",
    ]


def _document(
    path: str,
    programs: Sequence[StoredProgram],
    counts: Sequence[int | None],
    metadata: dict[str, str],
    launches: Counter[tuple[str, str]] | None,
) -> dict[str, Any]:
    from kernlens.report.program_document import toolchain_keys

    return {
        "schema": 1,
        "recording": path,
        "size": os.stat(path).st_size,
        "metadata": metadata,
        "programs": [
            {
                "name": program.build.name,
                "device": program.build.device,
                **toolchain_keys(program.build),
                "ok": program.build.ok,
                "outcome": program.build.outcome,
                "reason": program.build.reason,
                "kernels": count,
                "launches": None if launches is None else launches[program.build.name, program.build.device],
                "sources": [part.label[0] for part in program.parts if part.kind == "sources"],
                "stages": sum(part.kind == "stages" for part in program.parts),
                "size": program.size,
                "options": program.build.options,
                "command": program.build.command,
                "seconds": program.build.seconds,
                "created": program.build.created,
            }
            for program, count in zip(programs, counts, strict=True)
        ],
        "contents": _contents(programs),
    }


def _contents(programs: Sequence[StoredProgram]) -> list[dict[str, Any]]:
    """Return what takes the room, the most first. Content of several parts counts once, for the first."""
    from kernlens.recording.inventory import KINDS

    kinds = {part.blob: part.kind for program in reversed(programs) for part in reversed(program.parts) if part.blob}
    contents: dict[str, dict[str, Any]] = {}
    for blob, kind in kinds.items():
        content = contents.setdefault(kind, {"kind": kind, "number": 0, "size": 0, "packed": 0})
        content["number"] += 1
        content["size"] += blob.size
        content["packed"] += blob.packed
    return sorted(contents.values(), key=lambda content: (-content["packed"], list(KINDS).index(content["kind"])))


def _tell(written: Written, left_out: str, as_json: bool) -> None:
    """Say what was written; ``left_out`` is why programs are not there."""
    from dataclasses import asdict

    from kernlens.report.describe import plural

    if as_json:
        print_json(
            {"schema": 1, "recording": written.path, **{k: v for k, v in asdict(written).items() if k != "path"}}
        )
        return
    without = f", {plural(written.left_out, 'program')} {left_out}" if written.left_out else ""
    print_lines(
        [
            f"{plural(written.programs, 'program')} in {written.path}{without}:"
            f" {written.size:,} bytes, where there were {written.size_before:,}"
        ]
    )

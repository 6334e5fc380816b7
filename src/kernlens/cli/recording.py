"""``kernlens recording``: the contents of recordings, and recordings made of them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernlens.analysis.kernel_names import is_named
from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import print_json, print_lines, print_message
from kernlens.dataclass import dataclass
from kernlens.errors import FormatError, KernlensError, likeliest
from kernlens.report.table import table

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.recording.editing import Written
    from kernlens.recording.inventory import StoredProgram
    from kernlens.report.table import Cell


@click.group("recording", cls=option.HelpingGroup, epilog=option.help_end("kernlens recording list blur.klens"))
@option.diagnostic
def command() -> None:
    """List, merge, prune and redact recordings, and learn build options from them.

    kernlens writes a changed recording to a new file, which then replaces the old one. If the command is interrupted, the
    old recording stays as it was. The new file contains no trace of removed parts.
    """


def _readable(context: click.Context, parameter: click.Parameter, paths: Any) -> Any:
    """Return the paths as they are. Raises what ``open_regular`` does for a pipe or a device, which would block."""
    from kernlens.toolchain.sources.source_reading import open_regular

    for path in (paths,) if isinstance(paths, str) else paths:
        open_regular(path, "recording").close()
    return paths


def _recording(**more: Any) -> Any:
    """Declare a recording, or several, that must be there."""
    return option.argument(**{"metavar": "FILE", "type": click.Path(), "callback": _readable, **more})


def _output() -> Any:
    return option.file("Write to this recording instead of changing the input.", "-o", "--output")


@dataclass(frozen=True)
class ToList:
    """The words of the command that lists programs."""

    path: str = _recording()
    as_json: bool = option.json()


@option.verb(ToList, "kernlens recording list blur.klens", name="list", of=command)
def list_programs(asked: ToList) -> None:
    """Show the programs in a recording and the sizes of its parts."""
    from kernlens.recording.capture_notes import launches
    from kernlens.recording.inventory import stored_programs
    from kernlens.recording.reader import Recording

    with Recording(asked.path) as recording:
        programs = stored_programs(recording)
        damage: list[str] = []
        counts = [_kernel_count(program.build, damage) for program in programs]
        metadata = recording.metadata
    try:
        counted = launches(metadata)
    except FormatError as error:
        counted = None
        damage.append(str(error))
    document = _document(asked.path, programs, counts, metadata, counted)
    if asked.as_json:
        print_json(document)
    else:
        print_lines(_listing(document, has_launches=counted is not None))
    for sentence in damage:
        print_message(f"kernlens: {sentence}")
    sys.exit(2 if damage else 0)


@dataclass(frozen=True)
class ToTell:
    """The words of the command that says with which options sources were built."""

    path: str = _recording()
    as_toml: bool = option.flag(
        "Print the tables of kernlens.toml that compile the sources with these options.", "--toml"
    )
    folder: str = option.value(
        "Folder of kernlens.toml and of the sources, which are found in it by their text.",
        "--source-root",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        show_default="the working folder",
    )
    as_json: bool = option.json()


@option.verb(ToTell, "kernlens recording options app.klens --toml >> kernlens.toml", name="options", of=command)
def list_options(asked: ToTell) -> None:
    """Show the sets of options with which an application built each source.

    With --toml kernlens prints them as kernlens.toml has them, so that check, sweep, diff and advise judge every variant
    that the application builds. What it cannot print is named on stderr.
    """
    from kernlens.verbs.recorded_options import recorded_options

    options = recorded_options(asked.path, asked.folder)
    if asked.as_json:
        print_json({"schema": 1, "recording": asked.path, **options.document()})
    elif asked.as_toml:
        print_lines(options.toml().splitlines())
        print_message(*(f"kernlens: {note}" for note in options.notes))
    else:
        rows: list[list[Cell]] = [
            [each.path or f"({each.programs[0]})", count, own or "-"]
            for each in options.sources
            for own, count in each.listed
        ]
        print_lines(table(["source", "builds", "options"], rows))
        print_lines(options.notes)


@dataclass(frozen=True)
class ToMerge:
    """The words of the command that merges recordings."""

    paths: tuple[str, ...] = _recording(metavar="FILE...", nargs=-1, required=True)
    output: str = option.file(
        "Recording to write. kernlens overwrites an existing one.", "-o", "--output", required=True
    )
    as_json: bool = option.json()


@option.verb(ToMerge, "kernlens recording merge day.klens night.klens -o both.klens", name="merge", of=command)
def merge_recordings(asked: ToMerge) -> None:
    """Write the programs of several recordings into one.

    A program that several recordings contain is written once. If different programs have the same name, device and
    toolchain, kernlens appends a number to the name. It adds up the launch counts of captures.
    """
    from kernlens.recording.editing import merge

    _tell(merge(asked.paths, asked.output, command_line=sys.argv), "the same as one of these", asked.as_json)


class _Kinds(click.ParamType):  # type: ignore[type-arg]
    """A list, with commas, of parts that programs have in recordings."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        from kernlens.recording.inventory import KINDS

        kinds = frozenset(filter(None, value.split(",")))
        if unknown := sorted(kinds - KINDS.keys()):
            near = likeliest(unknown[0], KINDS)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(
                f"--drop does not support '{unknown[0]}'; it supports {', '.join(KINDS)}{meant}", ctx
            )
        return kinds


@dataclass(frozen=True)
class ToPrune:
    """The words of the command that removes programs, or parts of them."""

    path: str = _recording()
    keep: tuple[str, ...] = option.several(
        "Keep only programs with this name or with a kernel of this name (blur_*). May be repeated.",
        "--keep",
        metavar="PATTERN",
    )
    drop: tuple[frozenset[str], ...] = option.several(
        "Remove these parts: sources, binaries, debug, spirv, logs, stages, behaviour, launches.",
        "--drop",
        metavar="KIND,...",
        type=_Kinds(),
    )
    output: str | None = _output()
    as_json: bool = option.json()


_PRUNED = [Rule("", needs=("--keep", "--drop"), why="choose what to keep (--keep) or what to remove (--drop)")]


@option.verb(
    ToPrune,
    "kernlens recording prune app.klens --keep 'blur_*' --drop stages,logs",
    rules=_PRUNED,
    name="prune",
    of=command,
)
def prune_recording(asked: ToPrune) -> None:
    """Remove programs, or parts of all programs, from a recording, and free their disk space."""
    from kernlens.recording.editing import prune

    pruned = prune(asked.path, asked.output, keep=_choice(asked.keep), drop=set().union(*asked.drop))
    _tell(pruned, "left out", asked.as_json)


@dataclass(frozen=True)
class ToRedact:
    """The words of the command that removes source text."""

    path: str = _recording()
    of_source: bool = option.flag("Remove all source text.", "--source")
    output: str | None = _output()
    as_json: bool = option.json()


_REDACTED = [Rule("", needs=("--source",), why="add --source: it is what redact removes")]


@option.verb(
    ToRedact,
    "kernlens recording redact app.klens --source -o shareable.klens",
    rules=_REDACTED,
    name="redact",
    of=command,
)
def redact_recording(asked: ToRedact) -> None:
    """Remove source text from a recording: sources, texts of stages, source lines in logs, text in SPIR-V. Launches that
    were kept are removed too, as they hold data.

    Names of kernels, functions, variables and files stay, as do build options and the command line. Check these before
    you share the recording (kernlens recording list FILE --json).
    """
    from kernlens.recording.editing import redact_source
    from kernlens.recording.reader import Recording

    with Recording(asked.path) as recording:
        sizes = [launch.size for build in recording.builds() for launch in build.kept_launches]
    _tell(redact_source(asked.path, asked.output), "left out", asked.as_json)
    if sizes and not asked.as_json:
        from kernlens.report.describe import plural

        print_lines([f"left out too: {plural(len(sizes), 'kept launch')} with {sum(sizes):,} bytes of memory"])


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
    number = sum(program["kept_launches"] for program in document["programs"])
    launches = f", {number:,} launch{'' if number == 1 else 'es'} kept" if number else ""
    return [
        *table(titles, rows),
        "",
        *table(["content", "number", "bytes", "bytes in the file"], room),
        f"{plural(len(rows), 'program')} in {document['size']:,} bytes{launches}{redacted}",
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
                "kept_launches": program.kept_launches,
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

"""``kernlens stages``: a program at every stage of its compile, and one source line followed through all of them."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import is_terminal, print_bytes, print_json, print_lines, print_message, print_text
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NoCodeError, NotFoundError, UnknownKernelError
from kernlens.model.stages import OTHER_DEVICES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kernlens.model.stage import Snapshot
    from kernlens.pipeline.compile_stages import Pipeline


class _Stages(click.Command):
    """A command whose ``--diff`` takes one word, a pass, or two, which click cannot: a missing second word becomes empty."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--diff" in args[:-1]:
            second = args.index("--diff") + 2
            is_missing = args[second : second + 1] == [] or args[second].startswith("-") or _is_the_path(args, second)
            args = [*args[:second], "", *args[second:]] if is_missing else args
        return super().parse_args(ctx, args)


def _is_the_path(args: list[str], place: int) -> bool:
    """Return whether the word is PATH rather than a stage: it is PATH if it has a slash or names a file."""
    return "/" in args[place] or Path(args[place]).is_file()


#: Files that the error for a line of another file names.
_MOST_FILES = 8


_RULES = (*one_of("--stage", "--diff", "--line"), Rule("--form", needs=("--stage",), why="it is the form of that"))


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    device: str | None = option.device(
        f"Compile for this device: a GPU, {', '.join(OTHER_DEVICES[:-1])} or {OTHER_DEVICES[-1]}; all: all GPUs."
    )
    options: option.BuildOptions = option.together(option.BuildOptions)
    toolchain: str = option.toolchain()
    stage: str | None = option.value("Print this stage.", "--stage", metavar="STAGE")
    kernel: str | None = option.value("Show only this kernel.", "--kernel", metavar="KERNEL")
    program: str | None = option.program()
    form: str | None = option.value(
        "Form of the stage to print.  [default: text if there is one]", "--form", type=option.Choice(["text", "binary"])
    )
    diff: tuple[str, str] | None = option.value(
        "Print what differs between two stages, or what one pass changed.", "--diff", nargs=2, metavar="S1 [S2]"
    )
    line: str | None = option.value("Follow this source line through all stages.", "--line", metavar="[FILE:]N")
    all_passes: bool = option.flag("List every compiler pass and whether it changed the program.", "--all-passes")
    output: str | None = option.file("Save all stages in a recording.", "-o", "--output")
    unconfined: bool = option.unconfined()
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens stages blur.cl --device dg2 --line 42", _Stages, _RULES)
def command(asked: Asked) -> None:
    """Show a source at every compile stage, from IL to machine code.

    PATH is a source (OpenCL C or SPIR-V) to compile for --device, or a recording.
    """
    from kernlens.verbs.build_messages import warning_lines
    from kernlens.verbs.stages import record, stages_in, those_with_kernel

    everything = stages_in(
        asked.path,
        asked.device,
        options=_if_given(asked.options.words, "stated", "no_lines"),
        toolchain=_if_given(asked.toolchain, "toolchain"),
        all_passes=asked.all_passes,
        unconfined=asked.unconfined,
        kernel=asked.kernel,
        program=asked.program,
        tell=tell,
    )
    if asked.output is not None and not record(everything, Path(asked.output), sys.argv):
        tell(f"nothing compiled, so {asked.output} stays as it was")
    pipelines, kernel = those_with_kernel(everything, asked.kernel)
    failed = [pipeline.build for pipeline in pipelines if not pipeline.build.ok]
    if failed:
        # Whatever was asked, this is the first thing to know; the stages that it came to are shown all the same.
        from kernlens.verbs.compile_failures import failure_lines

        print_message(*failure_lines(failed))
    print_message(*warning_lines(pipeline.build for pipeline in pipelines if not pipeline.build.created))
    if asked.stage is not None:
        _print_stage(pipelines, asked.stage, kernel, asked.form, asked.as_json)
    elif asked.diff is not None:
        _print_diff(pipelines, asked.diff, kernel, asked.as_json)
    elif asked.line is not None:
        _print_line(pipelines, asked.line, kernel, asked.all_passes, asked.as_json)
    else:
        _print_list(pipelines, kernel, asked.all_passes, asked.as_json)
    sys.exit(3 if failed else 0)


@contextmanager
def _stages_so_far(pipeline: Pipeline) -> Iterator[None]:
    """Report a stage that is not there as a message, not as an error, if the source does not compile."""
    try:
        yield
    except NotFoundError as error:
        if pipeline.build.ok:
            raise
        print_message(f"kernlens: {error}")


def _if_given(value: str, *options: str) -> str | None:
    """Return the value; None if none of the options that it comes from was given, so that the recorded one counts."""
    sources = map(click.get_current_context().get_parameter_source, options)
    return None if all(source is click.core.ParameterSource.DEFAULT for source in sources) else value


def _print_list(pipelines: list[Pipeline], kernel: str | None, all_passes: bool, as_json: bool) -> None:
    from kernlens.analysis.stage_changes import pass_steps
    from kernlens.cli.answers.stage_listing import (
        build_document,
        build_heading,
        pass_document,
        pass_list,
        snapshot_document,
    )
    from kernlens.cli.answers.stage_listing import snapshot_list as listing
    from kernlens.model.stage import of_kernel

    documents = []
    _check_kernel(pipelines, kernel)
    for pipeline in pipelines:
        chosen = of_kernel(pipeline.snapshots, kernel)
        steps = list(pass_steps(chosen)) if all_passes else []
        if as_json:
            documents.append(
                {
                    **build_document(pipeline.build),
                    "snapshots": [snapshot_document(snapshot) for snapshot in chosen],
                    **({"passes": [pass_document(step) for step in steps]} if all_passes else {}),
                }
            )
            continue
        print_lines(build_heading(pipeline.build))
        print_lines(listing(chosen, pipeline.build.device))
        if all_passes:
            print_lines(["", *(pass_list(steps) if steps else ["  no single passes were kept"])])
    if as_json:
        print_json({"schema": 1, "pipelines": documents})


def _check_kernel(pipelines: list[Pipeline], kernel: str | None, functions: Collection[str] = ()) -> None:
    """Raise UnknownKernelError if stages name kernels, and it is none, nor one of the functions; say so if they name none."""
    known = {snapshot.kernel for pipeline in pipelines for snapshot in pipeline if snapshot.kernel}
    if kernel is None or kernel in known or kernel in functions:
        return
    if not known:
        print_message(f"kernlens: all stages here are of whole programs; whether these hold {kernel} was not looked at")
        return
    failed = sum(not pipeline.build.ok for pipeline in pipelines)
    raise UnknownKernelError(kernel, sorted(known), f"{failed:,} builds failed and may hold it" if failed else "")


def _print_stage(pipelines: list[Pipeline], stage: str, kernel: str | None, form: str | None, as_json: bool) -> None:
    from kernlens.verbs.stages import snapshots_of_stage

    chosen: list[tuple[Pipeline, Snapshot]] = []
    for pipeline in pipelines:
        with _stages_so_far(pipeline):
            chosen += [(pipeline, snapshot) for snapshot in snapshots_of_stage(pipeline, stage, kernel, form)]
    if as_json:
        from kernlens.cli.answers.stage_listing import snapshot_document

        print_json({"schema": 1, "snapshots": [snapshot_document(snapshot, content=True) for _, snapshot in chosen]})
        return
    for pipeline, snapshot in chosen:
        if snapshot.form == "text":
            heading = _attempt_heading(pipeline, snapshot) if kernel is None else ""
            print_text((heading + snapshot.text).removesuffix("\n").split("\n"))
        elif is_terminal():
            raise KernlensError(
                f"the stage {snapshot.stage} has no text form, only a {snapshot.ending} file of {snapshot.size:,} bytes;"
                " redirect it to a file: > FILE"
            )
        else:
            print_bytes(snapshot.content)


def _attempt_heading(pipeline: Pipeline, snapshot: Snapshot) -> str:
    """Return a comment of LLVM IR to print above one of several attempts; empty if there is only one."""
    from kernlens.model.stage import Attempts

    attempts = [other.attempt for other in pipeline if (other.stage, other.kernel) == (snapshot.stage, None)]
    if snapshot.kernel is not None or len(set(attempts)) < 2:
        return ""
    counting = list(Attempts(pipeline).kernels.values())
    share = f"{counting.count(snapshot.attempt)} of {len(counting)} kernels"
    return f"; {snapshot.stage}, attempt {snapshot.attempt} of {max(attempts)}: the program has {share} from it\n"


def _print_diff(pipelines: list[Pipeline], names: tuple[str, str], kernel: str | None, as_json: bool) -> None:
    from kernlens.analysis.stage_changes import difference
    from kernlens.verbs.stages import compared_snapshots

    documents = []
    for pipeline in pipelines:
        pairs: list[tuple[Snapshot, Snapshot]] = []
        with _stages_so_far(pipeline):
            pairs = compared_snapshots(pipeline, names, kernel)
        for before, after in pairs:
            lines = list(difference(before, after))
            if as_json:
                attempt = max(before.attempt, after.attempt)
                document = {"from": before.stage, "to": after.stage, "kernel": after.kernel, "attempt": attempt}
                documents.append({**document, "diff": lines})
            elif lines:
                print_text(lines)
            else:
                print_lines([f"{before.stage} and {after.stage} are equal"])
    if as_json:
        print_json({"schema": 1, "differences": documents})


def _print_line(pipelines: list[Pipeline], line: str, kernel: str | None, all_passes: bool, as_json: bool) -> None:
    from kernlens.cli.answers.stage_listing import (
        build_document,
        build_heading,
        line_pass_document,
        line_pass_list,
        line_through_stages,
        part_document,
    )
    from kernlens.verbs.stages import parts_that_count, passes_of_one_line

    choice = option.line_of(line)
    if kernel is not None:
        maps = (each for pipeline in pipelines for each in pipeline.stage_maps)
        _check_kernel(pipelines, kernel, {name for each in maps for name in each.functions})
    documents = []
    any_code = has_lines = False
    for pipeline in pipelines:
        followed = pipeline.followed(choice)
        parts = parts_that_count(pipeline, followed.stages, kernel)
        has_code = any(part.indexes for part in parts)
        any_code, has_lines = any_code or has_code, has_lines or bool(parts)
        if as_json:
            chosen = [part for part in parts if kernel is None or part.kernel in (None, kernel)]
            document = {**build_document(pipeline.build), "stages": [part_document(part) for part in chosen]}
            if all_passes:
                passes = passes_of_one_line(pipeline, choice, kernel)
                document["passes"] = [line_pass_document(change) for change in passes]
            documents.append(document)
        if as_json or not has_code:
            continue
        print_lines(build_heading(pipeline.build))
        places = [part.map.places[part.indexes[0]] for part in parts if part.indexes]
        path = next((place.path for place in places if place is not None), "")
        where = f"{path}:{choice.line}"
        width = shutil.get_terminal_size().columns if is_terminal() else None
        text = pipeline.source_text(path, choice.line)
        print_lines(line_through_stages(where, text, parts, (kernel,) if kernel else (), width))
        if all_passes:
            print_lines(line_pass_list(passes_of_one_line(pipeline, choice, kernel)))
    if as_json:
        print_json({"schema": 1, "line": {"path": choice.path, "line": choice.line}, "pipelines": documents})
    if not any_code:
        of = f" in {kernel}, and others were not looked at" if kernel else ""
        sentence = f"no stage says that anything came from {choice}{of}"
        with _stages_so_far(next((pipeline for pipeline in pipelines if not pipeline.build.ok), pipelines[0])):
            if not has_lines:
                raise NotFoundError(f"{sentence}; build with -gline-tables-only to have lines")
            files = sorted({path for pipeline in pipelines for path in pipeline.files_unlike(choice)})
            more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
            known = f"the files with lines are {', '.join(files[:_MOST_FILES])}{more}" if files else ""
            raise NoCodeError(f"{sentence}; {known or 'kernlens annotate shows the lines that have code'}")

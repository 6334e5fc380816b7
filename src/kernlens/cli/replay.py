"""``kernlens replay``: a launch that a recording keeps, run again alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.observe import Counting, tell_next
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import print_json, print_lines, written
from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.verbs.replay.replayed import Replayed

_NOT_OBSERVED = (
    "--all-launches", "--list", "--simulate", "--replace", "--binary", "--export", "--junit", "--runs", "--timeout",
    "--profile",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.argument(metavar="REC", type=click.Path())
    of: option.Launch = option.together(option.Launch)
    all_launches: bool = option.flag("Run all launches in order, up to the first that differs.", "--all-launches")
    only_list: bool = option.flag("List the launches that were kept, and run nothing.", "--list")
    observe: bool = option.flag(
        "Run the launch in an interpreter, and print what it does, line by line, and whether its results are equal.",
        "--observe",
    )
    counting: Counting = option.together(Counting)
    device: str | None = option.value(
        "Device to run on: parts of its platform's and its name, or their numbers; with --observe the device to count and"
        " compile for, such as dg2.  [default: the recorded one if it is here, else the first]",
        "--device", metavar="PLATFORM:DEVICE",
    )  # fmt: skip
    simulate: str | None = option.device(
        "Build and launch on this simulated device instead; nothing is computed there.", "--simulate"
    )
    toolchain: str = option.toolchain(
        "Toolchain whose driver simulates the device; with --observe the one with Oclgrind."
    )
    source: str | None = option.file(
        "Also run this source in place of the program, in turn with the recorded one.", "--source"
    )
    build_options: str | None = option.build_options(
        "Also run the program built with these options in place of the recorded ones.", default=None
    )
    replace: str | None = option.file("Also run this binary in place of the program.", "--replace")
    binary: bool = option.flag("Run the recorded binary, where source or SPIR-V would be built.", "--binary")
    profile: str | None = option.value(
        "Run an equal launch once more under this profiler: a command, such as 'perf stat', or ncu, which profiles it through"
        " CUDA.",
        "--profile", metavar="ncu|COMMAND",
    )  # fmt: skip
    output: str | None = option.value(
        "With --profile ncu the name of its files, NAME.csv, NAME.klens and NAME.ncu-rep (default: the kernel and the launch's"
        " number); with --observe a recording to save the program and what it did in.",
        "-o", "--output", metavar="NAME", type=click.Path(),
    )  # fmt: skip
    export: str | None = option.value(
        "Write the launch as a C and a Python program with its data into this folder, and run nothing.",
        "--export", metavar="DIR", type=click.Path(),
    )  # fmt: skip
    timeout: float = option.number(
        "Time limit of each launch with all its runs.", "--timeout", least=1, metavar="SECONDS", default=300.0,
        show_default=True,
    )  # fmt: skip
    junit: str | None = option.file("Also write JUnit XML.", "--junit")
    unconfined: bool = option.unconfined()
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(
    Asked,
    "kernlens replay app.klens --kernel blur --build-options -cl-fast-relaxed-math --tolerance 4ulp",
    rules=[
        Rule("--all-launches", excludes=("--launch", "--export", "--list"), why="runs every launch"),
        Rule("--list", excludes=("--export", "--junit"), why="runs nothing"),
        Rule("--export", excludes=("--junit",), why="runs nothing"),
        Rule("--export", excludes=("--source", "--build-options", "--replace"), why="writes the recorded program"),
        Rule("--replace", excludes=("--source", "--build-options"), why="names a binary that is built already"),
        Rule(
            "--profile",
            excludes=("--all-launches", "--list", "--export", "--simulate"),
            why="is of one launch that runs",
        ),
        Rule("--output", needs=("--profile", "--observe"), why="it names what these write"),
        Rule("--simulate", excludes=("--device",), why="chooses the device"),
        Rule("--toolchain", needs=("--simulate", "--observe"), why="another device has its own driver"),
        Rule("--observe", excludes=_NOT_OBSERVED, why="counts one launch of one program, and measures no time"),
        *(Rule(each, needs=("--observe",)) for each in ("--sub-group", "--seconds", "--groups", "--uninitialized")),
    ],
)
def command(asked: Asked) -> None:
    """Run a launch that a recording keeps (capture --launch), alone: compare what it leaves in memory with what the
    application's launch left, and time it.

    With --observe it runs in an interpreter, without a GPU: kernlens counts what it does on its data, as kernlens observe does.
    --source and --build-options choose the program then, and the exit status is 2 if its results could not be compared.

    With --source, --build-options or --replace another build runs in turn with the recorded one, and the answer says
    whether it is right and whether it is faster. The exit status is 1 if a result differs.

    The launch runs in a child process that can open only the driver's files, without a network.
    """
    if asked.only_list:
        _list(asked)
        return
    if asked.export is not None:
        from kernlens.cli.answers.replay_text import exported_lines
        from kernlens.verbs.replay.export import export

        exported = export(
            asked.path, asked.export, kernel=asked.of.kernel, program=asked.of.program, launch=asked.of.launch
        )
        print_json({"schema": 1, **exported.document}) if asked.as_json else print_lines(exported_lines(exported))
        return
    if asked.observe:
        _observe(asked)
        return
    from kernlens.cli.answers.junit import replay_junit
    from kernlens.verbs.replay.replay_document import replay_document

    replayed = _replayed(asked)
    with written([(asked.junit, lambda: [replay_junit(replayed).encode("utf-8", "backslashreplace")])]):
        if asked.as_json:
            print_json(replay_document(replayed))
    if not all(each.is_equal for each in replayed):
        sys.exit(1)


def _replayed(asked: Asked) -> list[Replayed]:
    from kernlens.cli.answers.replay_text import replay_lines
    from kernlens.verbs.replay.replay import replay

    def show(answer: Replayed) -> None:
        print_lines(replay_lines(answer, is_one=not asked.all_launches))

    return replay(
        asked.path,
        kernel=asked.of.kernel,
        program=asked.of.program,
        launch=asked.of.launch,
        all_launches=asked.all_launches,
        device=asked.device,
        simulate=asked.simulate,
        toolchain=asked.toolchain,
        runs=asked.of.runs,
        tolerance=asked.of.tolerance,
        source=asked.source,
        build_options=asked.build_options,
        replace=asked.replace,
        binary=asked.binary,
        timeout=asked.timeout,
        unconfined=asked.unconfined,
        profile=asked.profile,
        output=asked.output,
        on_answer=None if asked.as_json else show,
    )


def _observe(asked: Asked) -> None:
    from kernlens.cli.answers.replay_text import observed_document, observed_lines
    from kernlens.verbs.replay.observed import observe_launch

    counting = asked.counting
    observed = observe_launch(
        asked.path,
        kernel=asked.of.kernel,
        program=asked.of.program,
        launch=asked.of.launch,
        device=asked.device,
        sub_group=counting.sub_group,
        toolchain=asked.toolchain,
        seconds=counting.seconds,
        groups=counting.groups,
        uninitialized=counting.uninitialized,
        tolerance=asked.of.tolerance,
        output=asked.output,
        unconfined=asked.unconfined,
        source=asked.source,
        options=asked.build_options,
    )
    print_json(observed_document(observed)) if asked.as_json else print_lines(
        observed_lines(observed, uninitialized=counting.uninitialized)
    )
    tell_next(asked.output)
    if observed.replayed is not None:
        sys.exit(0 if observed.replayed.is_equal else 1)
    if asked.source or asked.build_options is not None:
        sys.exit(2)  # nothing says whether the mend is right


def _list(asked: Asked) -> None:
    from kernlens.cli.answers.replay_text import kept_lines
    from kernlens.verbs.replay.kept import chosen, none_kept, open_recording, recorded_launches
    from kernlens.verbs.replay.replay_document import kept_document

    with open_recording(asked.path) as recording:
        launches = list(recorded_launches(recording, asked.of.program))
        if asked.of.kernel is not None:
            launches = chosen(launches, asked.path, asked.of.kernel, asked.of.launch)
        if asked.as_json:
            print_json(kept_document(launches))
        else:
            print_lines(kept_lines(launches) if launches else [none_kept(asked.path)])

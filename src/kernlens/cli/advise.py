"""``kernlens advise``: what could make kernels cheaper, and at which lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, is_full, print_json, print_lines, print_message
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.model.advice import AdvisedKernel
    from kernlens.model.failed_builds import FailedBuilds
    from kernlens.model.trial import Tried
    from kernlens.model.trips import Trips
    from kernlens.verbs.advise import AdviceAnswer
    from kernlens.verbs.programs import Selection
    from kernlens.verbs.replay.proofs import Proof


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths()
    kernels: tuple[str, ...] = option.kernels()
    program: str | None = option.program()
    devices: list[str] = option.devices("Compile sources for these devices; advise only on their programs.")
    toolchains: list[str] = option.toolchains(
        "Compile sources with these toolchains (default: the default one); advise only on their programs.", default=None
    )
    options: str = option.build_options()
    stages: bool = option.flag("Compile sources with their compile stages, which some rules need.", "--stages")
    is_try: bool = option.flag(
        "Also compile sources with other build options, and compare every kernel per work-item.", "--try"
    )
    macros: tuple[str, ...] = option.several(
        "With --try: values of a macro that kernlens may try. Repeat the option for all combinations.",
        "-D",
        metavar="NAME=V,...",
    )
    items: str | None = option.items_per_launch(
        "With --try: work-items of a launch that makes the same results with every change, N divided by macros (4096/ROWS).",
        "N[/MACRO]",
    )
    prove: str | None = option.value(
        "Follow advice that takes no person, each piece alone, on a launch that this recording keeps (capture --launch): are"
        " results equal, and what is the effect?",
        "--prove", metavar="REC", type=click.Path(),
    )  # fmt: skip
    unconfined: bool = option.unconfined()
    parallel: option.Parallel = option.together(option.Parallel)
    cache: option.Cached = option.together(option.Cached)
    trips: Trips | None = option.trips()
    source_roots: tuple[str, ...] = option.source_root()
    full: None = option.full()
    as_json: bool = option.json()


_RULES = [
    *(Rule(each, needs=("--try",)) for each in ("-D", "--jobs", "--items-per-launch")),
    Rule("--unconfined", needs=("--prove",), why="it is of the launch that runs"),
]


@option.verb(Asked, "kernlens advise tone.cl --device dg2", rules=_RULES)
def command(asked: Asked) -> None:
    """Print advice on kernels: constructs that became more code than they need, how much, and what to write instead.

    PATHS are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. Each
    sentence is about instructions that kernlens counted in the code. docs/advice.md explains each rule. The exit status
    is 0 with and without advice, and 3 if a source does not compile.
    """
    from kernlens.cli.answers.proof_text import proof_lines, proofs_document
    from kernlens.report.advice_text import advice_lines
    from kernlens.report.trial_table import trial_lines, tried_document
    from kernlens.verbs.advise import advised
    from kernlens.verbs.build_messages import compiled_warnings
    from kernlens.verbs.check import failed_in, opened_files, programs_in, whole_in
    from kernlens.verbs.programs import BuildsError, check_any, select
    from kernlens.verbs.weighed import weighed_answers

    if asked.is_try:
        _check_sources(asked.paths)
    files = opened_files(
        asked.paths, asked.devices, asked.toolchains, asked.options, asked.source_roots,
        stages=asked.stages, is_cached=not asked.cache.no_cache, with_counts=True, program=asked.program, tell=tell,
    )  # fmt: skip
    check_any(files)
    files = weighed_answers(files, asked.trips)
    selection = select(programs_in(files), asked.kernels, whole=whole_in(files))
    answer = advised(selection)
    trials = _tried_programs(selection, asked) if asked.is_try else []
    proved = _proved(answer, asked) if asked.prove is not None else []
    print_message(*compiled_warnings(programs_in(files)))
    if asked.as_json:
        document = _document(answer.kernels, failed_in(files))
        tried = {"tried": list(map(tried_document, trials))} if asked.is_try else {}
        print_json({**document, **tried, **({"proofs": proofs_document(proved)} if asked.prove is not None else {})})
    else:
        print_lines(advice_lines(answer.kernels, failed_in(files), is_tried=asked.is_try))
        for trial in trials:
            print_lines(trial_lines(trial, is_full=is_full()))
        if asked.prove is not None:
            print_lines(proof_lines(proved, [piece for piece in answer.advice if piece.edit is None]))
    if failed := [build for each in files if each.is_compiled for build in each.failed.builds]:
        raise BuildsError(failed)


def _proved(answer: AdviceAnswer, asked: Asked) -> list[Proof]:
    from kernlens.verbs.replay.proofs import proofs

    assert asked.prove is not None
    with Progress("proving", quiet=asked.as_json) as progress:
        return proofs(answer.kernels, asked.prove, unconfined=asked.unconfined, on_progress=progress.show)


def _check_sources(paths: Sequence[str]) -> None:
    """Raise UnsupportedError for paths that cannot be tried."""
    from kernlens.verbs.programs import is_source

    for path in paths:
        if os.path.lexists(path) and not is_source(path):
            raise UnsupportedError(f"--try compiles sources, and {path} is not one: give the source, and --device D")


def _tried_programs(selection: Selection, asked: Asked) -> list[Tried]:
    """Return the trials of the kernels of a selection, program by program, with a bar on a terminal."""
    from kernlens.toolchain.sources.source_settings import settings_for
    from kernlens.toolchain.toolchains import DEFAULT
    from kernlens.verbs.tried import tried

    answers = []
    for program, kernels in selection:
        build = program.build
        with Progress("trying", quiet=asked.as_json) as progress:
            answers.append(
                tried(
                    build.source,
                    build.device or "",
                    toolchain=build.toolchain.name if build.toolchain else DEFAULT,
                    options=settings_for(build.source).options(asked.options),
                    macros=asked.macros,
                    items_per_launch=asked.items or "1",
                    kernels=[kernel.name for kernel in kernels if kernel.name in program.entry_kernels],
                    jobs=asked.parallel.jobs,
                    timeout=asked.parallel.timeout,
                    cache=asked.cache.opened(),
                    on_progress=progress.show,
                )
            )
    return answers


def _document(kernels: Sequence[AdvisedKernel], failed: Sequence[FailedBuilds]) -> dict[str, Any]:
    from kernlens.cli.answers.advice_document import advice_document
    from kernlens.model.advice import advice_coverage
    from kernlens.report.failure_lines import failed_documents

    return {
        **advice_document(kernels),
        "coverage": advice_coverage(kernels, failed).document,
        "failed_builds": failed_documents(failed),
    }

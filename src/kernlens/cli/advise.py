"""``kernlens advise``: what could make kernels cheaper, and at which lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import is_full, print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.model.advice import AdvisedKernel
    from kernlens.model.failed_builds import FailedBuilds
    from kernlens.toolchain.compile_cache import CompileCache


@option.verb("kernlens advise tone.cl --device dg2", rules=[Rule(each, needs=("--try",)) for each in ("-D", "--jobs")])
@option.paths()
@option.kernel()
@option.devices("Compile sources for these devices; advise only on their programs.")
@option.toolchain(
    "Compile sources with these toolchains (default: the default one); advise only on their programs.",
    several=True,
    default=None,
)
@option.build_options("Build options for sources, added to -gline-tables-only.")
@option.flag("Compile sources with their compile stages, which some rules need.", "--stages")
@option.flag(
    "Also print the cycles of the shortest and the longest path by pipe, as IGC estimates them.", "--paths", "is_paths"
)
@option.flag(
    "Also compile sources with other build options, and compare every kernel per work-item.", "--try", "is_try"
)
@option.several(
    "With --try: values of a macro that kernlens may try. Repeat the option for all combinations.",
    "-D",
    "macros",
    metavar="NAME=V,...",
)
@option.parallel
@option.cache
@option.source_root()
@option.full()
@option.json()
def command(
    paths: tuple[str, ...],
    kernel_names: tuple[str, ...],
    devices: list[str],
    toolchains: list[str],
    options: str,
    stages: bool,
    is_paths: bool,
    is_try: bool,
    macros: tuple[str, ...],
    jobs: int | None,
    timeout: float,
    cache: CompileCache | None,
    source_roots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print advice on kernels: constructs that became more code than they need, how much, and what to write instead.

    PATHS are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. Each
    sentence is about instructions that kernlens counted in the code. docs/advice.md explains each rule. The exit status
    is 0 with and without advice, and 3 if a source does not compile.
    """
    from kernlens.cli.build_logs import print_compiled_warnings
    from kernlens.cli.compile import print_failures, told_failures
    from kernlens.cli.trials import check_sources, tried_programs
    from kernlens.report.failure_lines import failed_lines
    from kernlens.report.trial_table import trial_lines, tried_document
    from kernlens.verbs.advise import advised
    from kernlens.verbs.check import failed_in, opened_files, programs_in, whole_in
    from kernlens.verbs.programs import check_any, select

    if is_try:
        check_sources(paths)
    with told_failures():
        files = opened_files(paths, devices, toolchains, options, source_roots, stages=stages)
        check_any(files)
        selection = select(programs_in(files), kernel_names, whole=whole_in(files))
        answer = advised(selection)
        trials = (
            tried_programs(selection, options, macros, jobs=jobs, timeout=timeout, cache=cache, quiet=as_json)
            if is_try
            else []
        )
    print_compiled_warnings(programs_in(files))
    if as_json:
        document = _document(answer.kernels, failed_in(files), is_paths=is_paths)
        print_json({**document, **({"tried": list(map(tried_document, trials))} if is_try else {})})
    else:
        _print(answer.kernels, is_tried=is_try, is_paths=is_paths)
        for trial in trials:
            print_lines(trial_lines(trial, is_full=is_full()))
        print_lines(failed_lines(failed_in(files)))
    if compiled := [build for each in files if each.is_compiled for build in each.failed.builds]:
        print_failures(compiled)
        sys.exit(3)


def _document(kernels: Sequence[AdvisedKernel], failed: Sequence[FailedBuilds], *, is_paths: bool) -> dict[str, Any]:
    from kernlens.analysis.flow.shortest_path import paths_of
    from kernlens.cli.answers.advice_document import advice_document
    from kernlens.cli.answers.path_table import paths_document
    from kernlens.report.failure_lines import failed_documents

    document = advice_document(kernels)
    for entry, each in zip(document["kernels"], kernels if is_paths else (), strict=False):
        entry["paths"] = paths_document(paths_of(each.kernel))
    return document | {"failed_builds": failed_documents(failed)}


def _print(kernels: Sequence[AdvisedKernel], *, is_tried: bool, is_paths: bool) -> None:
    from kernlens.analysis.flow.shortest_path import paths_of
    from kernlens.cli.answers.path_table import path_lines
    from kernlens.report.advice_text import advice_lines
    from kernlens.report.describe import kernel_heading
    from kernlens.report.style import style

    print_lines(advice_lines(kernels, is_tried=is_tried))
    for each in kernels if is_paths else ():
        print_lines(["", style(kernel_heading(each.program, each.kernel), bold=True)])
        print_lines(path_lines(paths_of(each.kernel)))

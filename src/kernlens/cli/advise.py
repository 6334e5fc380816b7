"""``kernlens advise``: what could make kernels cheaper, and at which lines."""

from __future__ import annotations

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines


@option.verb("kernlens advise tone.cl --device dg2")
@option.paths()
@option.kernel()
@option.devices("Compile sources for these devices; advise only on their programs.")
@option.toolchain(
    "Compile sources with these toolchains (default: system); advise only on their programs.",
    several=True,
    default=None,
)
@option.build_options("Build options for sources, added to -gline-tables-only.")
@option.flag("Compile sources with their compile stages, which some rules need.", "--stages")
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
    source_roots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print advice on kernels: constructs that became more code than they need, how much, and what to write instead.

    PATHS are binaries, recordings, folders, or sources to compile for --device. Each sentence is about instructions that
    kernlens counted in the code. docs/advice.md explains each rule. The exit status is 0 with and without advice.
    """
    from kernlens.cli.compile import told_failures
    from kernlens.verbs.advise import advised
    from kernlens.verbs.check import opened
    from kernlens.verbs.programs import select

    with told_failures():
        programs = opened(paths, devices, toolchains, options, source_roots, stages=stages)
        answer = advised(select(programs, kernel_names))
    if as_json:
        from kernlens.report.advice_document import advice_document

        print_json(advice_document(answer.kernels))
    else:
        from kernlens.report.advice_text import advice_lines

        print_lines(advice_lines(answer.kernels))

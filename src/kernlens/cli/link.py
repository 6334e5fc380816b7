"""``kernlens link``: whether modules link, and the linked module."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import print_message
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from kernlens.analysis.linking.driver_rules import DriverRules
    from kernlens.verbs.link.link_modules import Linkable


_LINKING = ("--dynamic", "--static", "--offline")
_RULES = (
    *one_of(*_LINKING),
    *(Rule(each, needs=("--offline",)) for each in ("--partial", "--base", "--map")),
    Rule("--compile", needs=("--device",), why="the prediction is for that"),
    Rule("--compile", excludes=(*_LINKING, "--driver"), why="works with a prediction only"),
    Rule("--spec-constant", excludes=("--offline",), why="needs a prediction or a driver"),
    Rule("--dot", excludes=("--json", *_LINKING), why="prints the graph of a prediction"),
    Rule("-o", needs=("--static", "--offline"), why="a dynamic link leaves no file"),
    *(
        Rule(each, needs=("--device",), why="kernlens devices lists what can be simulated")
        for each in ("--dynamic", "--static")
    ),
    Rule("--offline", needs=("-o",), why="it writes the linked module"),
)


@option.verb("kernlens link kernels.spv library.spv --build-options -library-compilation", rules=_RULES)
@click.argument("paths", nargs=-1, type=click.Path())
@option.build_options("Build options for SPIR-V modules.")
@option.several(
    "Build options for one module. May be repeated.",
    "--build-options-for",
    "options_for",
    cls=option.RenamedOption,
    former=("--options-for",),
    metavar="PATH OPTIONS",
    nargs=2,
)
@option.specialize()
@option.value(
    "Predict for this driver release (22.43, 26.27).  [default: the newest that accepts the modules]",
    "--driver",
    metavar="RELEASE",
)
@option.flag("Compile SPIR-V for --device first, which makes the prediction certain.", "--compile", "is_compiled")
@option.flag("Print the module graph in Graphviz's DOT language.", "--dot")
@option.device("Target device: selects modules in files with several (all: any), and the device to link on.")
@option.flag("Link on the driver with zeModuleDynamicLink.", "--dynamic", "is_dynamic")
@option.flag("Build one module from all inputs on the driver (static link).", "--static", "is_static")
@option.flag("Merge zebins or SPIR-V into one file, without a driver.", "--offline", "is_offline")
@option.toolchain("Toolchain whose driver links.")
@option.file("Linked module to write.", "-o", "--output", dir_okay=False)
@option.flag("With --offline: allow unresolved imports, like ld -r.", "--partial")
@option.value("With --offline: apply every relocation for this load address.", "--base", metavar="ADDRESS")
@option.flag("With --offline: print each relocation with symbol and value.", "--map", "with_map")
@option.json()
def command(
    paths: tuple[str, ...],
    options: str,
    options_for: tuple[tuple[str, str], ...],
    specialize: tuple[str, ...],
    driver: str | None,
    is_compiled: bool,
    dot: bool,
    device: str | None,
    is_dynamic: bool,
    is_static: bool,
    is_offline: bool,
    toolchain: str,
    output: str | None,
    partial: bool,
    base: str | None,
    with_map: bool,
    as_json: bool,
) -> None:
    """Predict whether modules link, and which module provides each symbol; or link them.

    Without --dynamic, --static or --offline, kernlens runs nothing: it predicts from the modules what
    zeModuleDynamicLink of the chosen driver will return and log. The exit status is 0 if the modules link, and 1 if
    they do not or if SPIR-V alone does not determine it.
    """
    if not paths:
        raise click.UsageError("there is nothing to link: name at least one module")
    from kernlens.isa.devices import ALL

    if device == ALL:
        if is_compiled or is_dynamic or is_static:
            raise click.UsageError("a driver links on one device: name that with --device, not all")
        device = None
    from kernlens.analysis.linking.driver_rules import rules_of
    from kernlens.cli import link_answers as answers

    if is_dynamic or is_static:
        assert device is not None  # The rules say so.
        own_rules = answers.rules_of_toolchain(toolchain)
        _, modules = _modules(paths, options, options_for, specialize, device, own_rules)
        sys.exit(answers.link_live(modules, device, toolchain, is_static, output, as_json))
    chosen = answers.rules_of_toolchain(toolchain) if is_compiled else rules_of(driver) if driver else None
    rules, modules = _modules(paths, options, options_for, specialize, device, chosen)
    if is_compiled and device is not None:
        modules = answers.compiled(modules, device, toolchain)
    if is_offline:
        address = option.number_of(base, "--base") if base is not None else None
        sys.exit(answers.link_offline(modules, output, partial, address, with_map, as_json))
    sys.exit(answers.predict_link(modules, rules, device, as_json, dot))


def _modules(
    paths: Sequence[str],
    options: str,
    options_for: Sequence[tuple[str, str]],
    specialize: Sequence[str],
    device: str | None,
    own_rules: DriverRules | None,
) -> tuple[DriverRules, list[Linkable]]:
    """Return the rules to follow and the modules of all paths, as ``linkable_modules`` does."""
    from kernlens.cli.link_answers import REAL_DEVICE
    from kernlens.loading import open_file
    from kernlens.loading.linkable import linkable_in
    from kernlens.model.failed_builds import by_path
    from kernlens.model.spirv import check_constants
    from kernlens.report.failure_lines import failed_lines
    from kernlens.verbs.absent import whole_of
    from kernlens.verbs.forecast import linkable_modules
    from kernlens.verbs.programs import for_device

    module_options = dict(options_for)
    unknown = [path for path in module_options if path not in paths]
    if unknown:
        raise KernlensError(f"--build-options-for names {unknown[0]}, which is not among the modules to link")
    constants = dict(map(option.constant_of, specialize))
    target = None if device == REAL_DEVICE else device
    # A path that is named twice counts once, as a handle given twice does to the driver.
    opened = {path: open_file(path) for path in paths}
    programs = []
    for path, contents in opened.items():
        chosen = for_device(contents.programs, target, whole=whole_of(contents))
        programs += [(path, *program) for program in linkable_in(contents, chosen)]
        contents.check()
    # A module of a build that failed may be what the others need.
    failed = by_path(contents.failed_builds(target) for contents in opened.values())
    print_message(*(f"kernlens: {line}" for line in failed_lines(failed)))
    rules, modules = linkable_modules(
        programs, options=options, options_for=module_options, constants=constants, rules=own_rules
    )
    twice = [path for path in dict.fromkeys(paths) if paths.count(path) > 1]
    if twice:
        print_message(f"kernlens: {twice[0]} is given {paths.count(twice[0])} times; kernlens uses it once")
    check_constants(constants, (constant for _, module in modules for constant in module.spec_constants))
    return rules, modules

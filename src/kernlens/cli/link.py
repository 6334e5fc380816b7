"""``kernlens link``: whether modules link, and the linked module."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.link_answers import REAL_DEVICE
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import print_message
from kernlens.cli.sources import Compiling
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError

if TYPE_CHECKING:
    from kernlens.analysis.linking.driver_rules import DriverRules
    from kernlens.loading import Contents
    from kernlens.verbs.link.link_modules import Linkable


_LINKING = ("--dynamic", "--static")
_RULES = (
    *one_of(*_LINKING),
    Rule("--compile", needs=("--device",), why="the prediction is for that"),
    Rule("--compile", excludes=(*_LINKING, "--driver"), why="works with a prediction only"),
    Rule("-o", needs=("--static",), why="a dynamic link leaves no file"),
    *(
        Rule(each, needs=("--device",), why="kernlens devices lists what can be simulated")
        for each in ("--dynamic", "--static")
    ),
    Rule("", needs=("PATHS",), why="there is nothing to link: name at least one module"),
    Rule(
        "--device all",
        excludes=("--dynamic", "--static", "--compile"),
        why="means several, and a driver links on one device: name that",
    ),
)


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths(required=False)
    options: str = option.build_options("Build options for SPIR-V modules and sources.")
    options_for: tuple[tuple[str, str], ...] = option.several(
        "Build options for one module. May be repeated.", "--build-options-for", metavar="PATH OPTIONS", nargs=2
    )
    spec_constants: tuple[tuple[int, str], ...] = option.spec_constants()
    driver: str | None = option.value(
        "Predict for this driver release (22.43, 26.27).  [default: the newest that accepts the modules]",
        "--driver",
        metavar="RELEASE",
    )
    is_compiled: bool = option.flag(
        "Compile SPIR-V for --device first, which makes the prediction certain.", "--compile"
    )
    device: str | None = option.device(
        "Target device: selects modules in files with several (all: any), compiles sources, and the device to link on."
    )
    is_dynamic: bool = option.flag("Link on the driver with zeModuleDynamicLink.", "--dynamic")
    is_static: bool = option.flag("Build one module from all inputs on the driver (static link).", "--static")
    toolchain: str = option.toolchain("Toolchain whose driver links, and that compiles sources.")
    cache: option.Cached = option.together(option.Cached)
    output: str | None = option.file("Linked module to write.", "-o", "--output", dir_okay=False)
    as_json: bool = option.json()

    @property
    def target(self) -> str | None:
        """The device that modules are chosen for, None for all."""
        from kernlens.isa.devices import ALL

        return None if self.device in (ALL, REAL_DEVICE) else self.device


@option.verb(Asked, "kernlens link kernels.spv library.spv --build-options -library-compilation", rules=_RULES)
def command(asked: Asked) -> None:
    """Predict whether modules link, and which module provides each symbol; or link them.

    Without --dynamic or --static, kernlens runs nothing: it predicts from the modules what
    zeModuleDynamicLink of the chosen driver will return and log. The exit status is 0 if the modules link, and 1 if
    they do not or if SPIR-V alone does not determine it.
    """
    from kernlens.isa.devices import ALL

    is_live = asked.is_dynamic or asked.is_static
    from kernlens.analysis.linking.driver_rules import rules_of
    from kernlens.cli import link_answers as answers

    toolchain, device = asked.toolchain, None if asked.device == ALL else asked.device
    if is_live or asked.is_compiled:
        chosen: DriverRules | None = answers.rules_of_toolchain(toolchain)
    else:
        chosen = rules_of(asked.driver) if asked.driver else None
    rules, modules = _modules(asked, chosen)
    if is_live and device is not None:
        status = answers.link_live(modules, device, toolchain, asked.is_static, asked.output, asked.as_json)
        sys.exit(status)
    if asked.is_compiled and device is not None:
        modules = answers.compiled(modules, device, toolchain)
    sys.exit(answers.predict_link(modules, rules, device, asked.as_json))


def _opened(asked: Asked, options_for: dict[str, str]) -> list[Contents]:
    """Return what is in each path; a source with its own build options."""
    device = None if asked.device == REAL_DEVICE else asked.device
    compiling = Compiling(device, asked.toolchain, asked.cache, None)
    return [
        contents
        for path in asked.paths
        for contents in compiling.opened([path], options_for.get(path, asked.options), with_spirv=False)
    ]


def _modules(asked: Asked, own_rules: DriverRules | None) -> tuple[DriverRules, list[Linkable]]:
    """Return the rules to follow and the modules of all paths, as ``linkable_modules`` does."""
    from kernlens.loading.linkable import linkable_in
    from kernlens.model.failed_builds import by_path
    from kernlens.model.spirv import check_constants
    from kernlens.report.failure_lines import failed_lines
    from kernlens.verbs.absent import whole_of
    from kernlens.verbs.forecast import linkable_modules
    from kernlens.verbs.programs import for_device

    paths, target = asked.paths, asked.target
    module_options = dict(asked.options_for)
    unknown = [path for path in module_options if path not in paths]
    if unknown:
        raise KernlensError(f"--build-options-for names {unknown[0]}, which is not among the modules to link")
    constants = dict(asked.spec_constants)
    # A path that is named twice counts once, as a handle given twice does to the driver.
    opened = dict(zip(paths, _opened(asked, module_options), strict=True))
    programs = []
    for path, contents in opened.items():
        chosen = for_device(contents.programs, target, whole=whole_of(contents))
        programs += [(path, *program) for program in linkable_in(contents, chosen)]
        contents.check()
    # A module of a build that failed may be what the others need.
    failed = by_path(contents.failed_builds(target) for contents in opened.values())
    print_message(*(f"kernlens: {line}" for line in failed_lines(failed)))
    rules, modules = linkable_modules(
        programs, options=asked.options, options_for=module_options, constants=constants, rules=own_rules
    )
    twice = [path for path in dict.fromkeys(paths) if paths.count(path) > 1]
    if twice:
        print_message(f"kernlens: {twice[0]} is given {paths.count(twice[0])} times; kernlens uses it once")
    check_constants(constants, (constant for _, module in modules for constant in module.spec_constants))
    return rules, modules

"""The page's questions beside documents: ``diff``, ``link`` and ``sweep --json``, and what can be compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernlens.errors import UnsupportedError
from kernlens.explorer.compile_work import Results
from kernlens.explorer.responses import unknown_program
from kernlens.explorer.served import Served
from kernlens.isa.devices import known_device, one_of_each
from kernlens.model.program import Program
from kernlens.toolchain.device_compilers import devices_of, titles_of
from kernlens.toolchain.toolchains import find_toolchains

#: Build options that a page offers to complete; any other that names no file is taken too.
OPTIONS = (
    "-cl-denorms-are-zero", "-cl-fast-relaxed-math", "-cl-finite-math-only", "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-intel-128-GRF-per-thread", "-cl-intel-256-GRF-per-thread", "-cl-intel-enable-auto-large-GRF-mode",
    "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-no-subgroup-ifp", "-cl-opt-disable", "-cl-single-precision-constant",
    "-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-strict-aliasing", "-cl-uniform-work-group-size",
    "-cl-unsafe-math-optimizations", "-g", "-gline-tables-only", "-w", "-Werror", "-D NAME=VALUE", "-U NAME",
)  # fmt: skip


def choices(toolchains: Sequence[str]) -> dict[str, Any]:
    """Return the devices, with the toolchains that compile for them, the toolchains, and common options. ``toolchains``
    are those that the user chose; none: all that have a compiler."""
    chosen = [each for each in find_toolchains() if devices_of(each) and (not toolchains or each.name in toolchains)]
    by_device: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for toolchain in chosen:
        for name in one_of_each(devices_of(toolchain)):
            known = known_device(name)
            device = known.name if known else name
            titles[device] = known.title if known else name
            by_device.setdefault(device, []).append(toolchain.name)
    return {
        "devices": [
            {"name": name, "title": titles[name], "toolchains": names} for name, names in sorted(by_device.items())
        ],
        "toolchains": [{"name": each.name, "versions": titles_of(each)} for each in chosen],
        "options": list(OPTIONS),
    }


def diff(served: Served, results: Results, left: str, right: str) -> dict[str, Any]:
    """Return ``kernlens diff --json`` of two programs, by their ids. Raises RefusedError 404 if there is no such program."""
    from kernlens.verbs.diff import between

    old, new = (_programs(served, results, side) for side in (left, right))
    return between(old, new, (_title(old), _title(new))).document(lines=True)


def _programs(served: Served, results: Results, program: str) -> list[Program]:
    named = served.program(program) or results.program(program)
    if named is None:
        raise unknown_program(program)
    return [named]


def _title(programs: Sequence[Program]) -> str:
    build = programs[0].build
    words = [programs[0].name, str(programs[0].device or build.device), build.toolchain_title, build.options]
    return " ".join(word for word in words if word)


def link(served: Served) -> dict[str, Any]:
    """Return what ``kernlens link --json`` says of the paths. Raises KernlensError, with the reason, where it says nothing."""
    from kernlens.loading.linkable import linkable_in
    from kernlens.report.link.link_answer import link_document
    from kernlens.verbs.forecast import link_forecast, linkable_modules

    if not served.contents:
        raise UnsupportedError("what is served was compiled from sources: there is nothing to link")
    rules, modules = linkable_modules(
        [
            (contents.path, *program)
            for contents in served.contents
            for program in linkable_in(contents, contents.programs)
        ]
    )
    answer = link_forecast(modules, rules, None)
    document: dict[str, Any] = link_document(answer.forecast, answer.obstacles, answer.static, answer.notes)
    return document

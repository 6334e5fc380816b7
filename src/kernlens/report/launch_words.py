"""Limits of launches, in words and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlens.model.kernel import Kernel
from kernlens.model.launch_limits import LEVEL_ZERO, OPENCL, Creation, LaunchLimits
from kernlens.model.occupancy import occupancy_of

#: The line on a program of which OpenCL does not run the code that is shown.
REBUILT = (
    "OpenCL's driver (26.27) does not run this code, which takes memory by handles (bindless): it builds the program again"
    " from its SPIR-V; Level Zero runs it"
)
_TITLES = {LEVEL_ZERO: "Level Zero", OPENCL: "OpenCL"}


def limits_document(limits: LaunchLimits) -> dict[str, Any]:
    """Return the limits as JSON has them."""
    return {
        "max_work_group": limits.max_work_group,
        "max_sub_groups": limits.max_sub_groups,
        "work_group_multiple": limits.work_group_multiple,
        "required_work_group": None if limits.required_work_group is None else list(limits.required_work_group),
        "required_sub_group": limits.required_sub_group,
        "can_be_created": {
            api: {"answer": creation.is_created, "reason": creation.reason or None, "rebuilt": creation.is_rebuilt}
            for api, creation in limits.creations
        },
        "reason": limits.reason or None,
        "occupancy": _occupancy_document(limits),
    }


def _occupancy_document(limits: LaunchLimits) -> dict[str, Any]:
    core = limits.core
    return {
        "core": None if isinstance(core, str) else core.name,
        "source": None if isinstance(core, str) else core.source,
        "reason": core if isinstance(core, str) else None,
        "work_groups": [
            {
                "work_group": each.work_group,
                "groups": each.groups,
                "threads": each.threads,
                "slots": each.slots,
                "percent": each.percent,
                "limits": list(each.limits),
                "step": each.step or None,
                "step_groups": each.step_groups or None,
            }
            for each in limits.occupancies
        ],
    }


def launch_lines(kernels: Mapping[str, Kernel]) -> Iterator[str]:
    """Yield what limits the launches of these kernels, by their titles: a line for each limit with the kernels that have
    it, then the kernels that drivers do not create, or may not, and whether OpenCL runs other code."""
    groups: dict[str, list[str]] = {}
    for title, kernel in kernels.items():
        if words := ", ".join(_words(kernel)):
            groups.setdefault(f"work-groups of {{}}: {words}", []).append(title)
    yield from _grouped(groups, len(kernels))
    yield from occupancy_lines(kernels)
    yield from refusal_lines(kernels)
    if any(kernel.launch_limits.opencl.is_rebuilt for kernel in kernels.values()):
        yield REBUILT


def occupancy_lines(kernels: Mapping[str, Kernel]) -> Iterator[str]:
    """Yield the occupancy of these kernels, by their titles, or why it is not known: a line for all that have the same."""
    groups: dict[str, list[str]] = {}
    for title, kernel in kernels.items():
        groups.setdefault(f"occupancy of {{}}{occupancy_words(kernel.launch_limits)}", []).append(title)
    yield from _grouped(groups, len(kernels))


def occupancy_words(limits: LaunchLimits, of_launches: Sequence[int] = ()) -> str:
    """Return the percentages with the sizes of work-groups that have them, what limits them, and the next step: of launches
    with these sizes, else of the required or the usual ones."""
    if isinstance(limits.core, str):
        return f" is not known: {limits.core}"
    sizes: dict[int, list[int]] = {}
    occupancies = [occupancy_of(limits.core, size) for size in of_launches] or limits.occupancies
    for each in occupancies:
        sizes.setdefault(each.percent, []).append(each.work_group)
    shares = (f"{percent}% with {_run(some)}" for percent, some in sizes.items())
    words = f": {', '.join(shares).replace(' with ', ' with work-groups of ', 1)}"
    short = [each for each in occupancies if each.limits]
    if short:
        words += f" (limited by {' and '.join(dict.fromkeys(name for each in short for name in each.limits))})"
    steps = [each for each in short if each.step]
    if steps:
        last = steps[-1]
        runs = f"{last.step_groups:,} work-groups of {last.work_group:,} instead of {last.groups:,}"
        words += f"; with {last.step}, each {limits.core.name} runs {runs}"
    return words


def _run(sizes: list[int]) -> str:
    return f"{sizes[0]:,} to {sizes[-1]:,}" if len(sizes) > 1 else f"{sizes[0]:,}"


def refusal_lines(kernels: Mapping[str, Kernel]) -> Iterator[str]:
    """Yield the kernels, by their titles, that drivers do not create, or may not: a line for each reason."""
    groups: dict[str, list[str]] = {}
    for title, kernel in kernels.items():
        limits = kernel.launch_limits
        refusals: dict[str, list[str]] = {}
        for api, creation in limits.creations:
            if creation.reason and creation.reason != limits.reason:
                refusals.setdefault(f"{_verb(creation)}: {creation.reason}", []).append(_TITLES[api])
        for words, apis in refusals.items():
            what = "the driver" if len(apis) == len(_TITLES) else apis[0]
            groups.setdefault(f"{what} {words}", []).append(title)
    yield from _grouped(groups, len(kernels))


def _grouped(groups: Mapping[str, list[str]], count: int) -> Iterator[str]:
    for words, titles in groups.items():
        every = "any kernel" if " not create " in words else "all kernels"
        some = every if len(titles) == count > 1 else _named(titles)
        yield words.replace("{}", some, 1)


def _verb(creation: Creation) -> str:
    if creation.is_of_program:
        return "does not load the program"
    return "does not create {}" if creation.is_created is False else "perhaps does not create {}"


def _words(kernel: Kernel) -> Iterator[str]:
    limits = kernel.launch_limits
    if limits.max_work_group is not None:
        yield f"at most {limits.max_work_group:,} work-items"
    if limits.required_work_group is not None:
        yield f"{' x '.join(map(str, limits.required_work_group))} required"
    if limits.required_sub_group is not None:
        yield f"sub-groups of {limits.required_sub_group} required"
    elif limits.max_work_group is not None and kernel.resources.simd is not None:
        yield "no sub-group size required"


def _named(titles: list[str], most: int = 5) -> str:
    more = [f"{len(titles) - most:,} more"] if len(titles) > most else []
    return ", ".join([*titles[:most], *more])

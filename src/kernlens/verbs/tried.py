"""Trials of build options on a source: ``kernlens advise SOURCE --try``, and the button of that name in the explorer.

Each change needs no edit of the source, and is a compile of its own, taken from the sweep's cache where it was done before.
A change with which the source does not compile is an answer too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, replace
from typing import Any

from kernlens.analysis.kernel_names import kernels_meant
from kernlens.analysis.trial_code import code_of_trial
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.loading import open_build
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.build import Build
from kernlens.model.compiler_options import FAST_RELAXED, MAD_ENABLE, MORE_REGISTERS, NOT_OPTIMISED
from kernlens.model.launch_items import LaunchItems
from kernlens.model.trial import Change, Trial, TrialCode, Tried, TriedKernel
from kernlens.toolchain.compile_cache import CompileCache
from kernlens.toolchain.device_compilers import title_for
from kernlens.toolchain.ocloc import TIMEOUT, first_bytes
from kernlens.toolchain.parallel_compiles import CompileJob, OnStart, compile_job, do_many
from kernlens.toolchain.sources.includes import existing_source, join_options, split_options, with_lines
from kernlens.toolchain.toolchains import DEFAULT
from kernlens.verbs.compile import targets_of
from kernlens.verbs.sweep.measuring import figures_key
from kernlens.verbs.sweep.option_sets import macro_sets
from kernlens.verbs.sweep.sweep import Progress

#: Changes tried on one source, at most: each is a compile.
CHANGES_LIMIT = 256

_OPTIONS = (
    Change(
        "fast-relaxed-math", FAST_RELAXED, FAST_RELAXED,
        results="less accurate functions; no NaN, infinity or signed zero",
    ),
    Change("mad-enable", MAD_ENABLE, MAD_ENABLE, results="a * b + c may be rounded once or twice"),
    Change("256-registers", "256 registers", MORE_REGISTERS),
)  # fmt: skip
#: Options that cost something wherever they are set, so that leaving them out is tried.
_LEFT_OUT = (NOT_OPTIMISED, "-cl-intel-greater-than-4GB-buffer-required")
_SIZES = (8, 16, 32)


def changes_for(options: str, macros: Sequence[str] = (), *, is_source: bool = True) -> tuple[Change, ...]:
    """Return the changes to try beside these build options: what they do not hold yet, sub-group sizes, and each choice of the
    ``macros`` (``A=1,2``). Of SPIR-V, not ``is_source``, the preprocessor's part is settled.

    Raises KernlensError for what is no macro with values, and for too many choices.
    """
    words = set(split_options(options))
    changes = [change for change in _OPTIONS if change.options not in words]
    changes += [
        Change(f"without{word}", f"without {word}", removed=(word,)) for word in _LEFT_OUT if word in words
    ]  # fmt: skip
    if is_source:
        changes += map(_sub_group, _SIZES)
        if macros:
            changes += [Change(text, text, text, results="as the source has it") for text in macro_sets(macros)]
    elif macros:
        raise UnsupportedError("macros have no effect on SPIR-V; give the source that it was compiled from")
    if len(changes) > CHANGES_LIMIT:
        raise KernlensError(
            f"{len(changes):,} changes are too many to try; the limit is {CHANGES_LIMIT}: give fewer values"
        )
    return tuple(changes)


def _sub_group(size: int) -> Change:
    """Return the change that requires a sub-group size of all kernels. Sources write ``kernel`` or ``__kernel``; the
    preprocessor expands no macro within itself, so that each may be defined by the other."""
    attribute = f"__attribute__((intel_reqd_sub_group_size({size})))"
    options = f"-Dkernel={attribute}__kernel -D__kernel={attribute}kernel"
    return Change(
        f"sub-group-{size}",
        f"sub-group {size}",
        options,
        results="only where sub-group functions are called",
        sub_group=size,
    )


def tried(
    source: str | os.PathLike[str],
    device: str,
    *,
    toolchain: str = DEFAULT,
    options: str = "",
    macros: Sequence[str] = (),
    items_per_launch: str = "1",
    kernels: Collection[str] = (),
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    cache: CompileCache | None = None,
    on_progress: Progress | None = None,
    on_answer: Callable[[Tried], None] | None = None,
    is_foreign: bool = False,
) -> Tried:
    """Compile a source with each of ``changes_for`` its options, and compare every kernel with what it is without.

    ``items_per_launch`` are the work-items of a launch, ``4096`` or ``4096/MACRO``, which is assumed to make the same results
    with every change. ``kernels`` are names or patterns; none: all. ``jobs`` compiles run at a time (None: one per processor),
    each for ``timeout`` seconds at most. ``on_answer`` gets what is known after each compile, from that as it is on.
    ``is_foreign``: somebody else may have written the source. Raises NotFoundError for a
    source, device, toolchain or kernel that does not exist, ToolError if the source does not compile as it is, UnsupportedError
    if no libiga64 decodes the device's code.
    """
    path = existing_source(source)
    targets, _ = targets_of([device], [toolchain])
    if len(targets) != 1:
        raise KernlensError(f"options are tried for one device at a time, and {device} are {len(targets)}")
    own, chosen = targets[0]
    items = LaunchItems.of(items_per_launch)
    changes = changes_for(options, macros, is_source=not is_spirv(first_bytes(path)))
    sets = [with_lines(each) for each in (options, *(_changed(options, change) for change in changes))]
    works = [CompileJob(path, own, chosen, words, timeout, is_foreign) for words in sets]

    def work(numbered: tuple[int, CompileJob], on_start: OnStart) -> tuple[int, Codes]:
        number, job = numbered
        return number, codes_of(job, cache, on_start).with_items(items.with_options(split_options(job.options)))

    begun = Tried(os.fspath(source), own, chosen.name, title_for(own, chosen), options, changes, (), ())
    results: dict[int, Codes] = {}
    with closing(do_many(enumerate(works), work, jobs)) as finished:
        for count, (number, codes) in enumerate(finished, start=1):
            results[number] = codes
            if number == 0 and codes.reason:
                raise ToolError(codes.reason)
            if on_progress is not None:
                on_progress(count, len(works))
            if on_answer is not None and 0 in results and count < len(works):
                on_answer(_with_results(begun, results, kernels))
    return _with_results(begun, results, kernels)


def _with_results(begun: Tried, results: Mapping[int, Codes], kernels: Collection[str]) -> Tried:
    """Return the trials of which there are results; number 0 is the source as it is."""
    codes = results[0].codes
    numbered = [(change, results[number]) for number, change in enumerate(begun.changes, 1) if number in results]
    return replace(
        begun,
        kernels=tuple(
            TriedKernel(
                name,
                codes[name],
                tuple(each.trial(name, change, codes[name]) for change, each in numbered if not each.reason),
            )
            for name in _named(codes, kernels)
        ),
        failures=tuple((change, result.reason) for change, result in numbered if result.reason),
    )


@dataclass(frozen=True, slots=True)
class Codes:
    """The code of each kernel of one compile, by name; ``reason`` says why there is none."""

    codes: Mapping[str, TrialCode]
    reason: str = ""

    def with_items(self, items: int | None) -> Codes:
        """Return them for launches of so many work-items."""
        return Codes({name: replace(code, items=items) for name, code in self.codes.items()}, self.reason)

    def trial(self, name: str, change: Change, before: TrialCode) -> Trial:
        """Return the code of a kernel, which the ``change`` made of that ``before``."""
        after = self.codes.get(name)
        return Trial(change, before, after, "" if after else self.reason or "the program has no such kernel then")


def _changed(options: str, change: Change) -> str:
    words = [word for word in split_options(options) if word not in change.removed] if change.removed else None
    return f"{options if words is None else join_options(words)} {change.options}".strip()


def codes_of(job: CompileJob, cache: CompileCache | None = None, on_start: OnStart = lambda child: None) -> Codes:
    """Compile and measure, or take from the cache what an equal compile was measured to have."""
    compile_key = job.key if cache is not None else None
    key = figures_key(compile_key, "trial") if compile_key is not None else None
    entry = cache.get(key) if cache is not None and key is not None else None
    if entry is not None:
        return Codes({name: _code_of(fields) for name, fields in json.loads(entry)})
    try:
        build, is_steady = compile_job(job, cache, compile_key, on_start, has_sources=False)
        if not build.ok:
            return Codes({}, build.failure)
        codes = _measured(build)
    except KernlensError as error:
        return Codes({}, str(error))
    if cache is not None and key is not None and is_steady:
        cache.put(key, json.dumps([(name, astuple(code)[:-1]) for name, code in codes.items()]).encode())
    return Codes(codes)


def _measured(build: Build) -> dict[str, TrialCode]:
    codes: dict[str, TrialCode] = {}
    for program in open_build(build):
        kernels = program.entry_kernels
        decode_kernels([(program, list(kernels.values()))], texts=False, threads=1)
        codes |= {name: code_of_trial(kernel) for name, kernel in kernels.items()}
    return codes


def _code_of(fields: list[Any]) -> TrialCode:
    """Return the code of which a cache has these fields."""
    *others, memory, issue = fields
    return replace(TrialCode(*others), memory=tuple(memory), issue=issue)


def _named(codes: Mapping[str, TrialCode], kernels: Collection[str]) -> list[str]:
    chosen = {name for pattern in kernels for name in kernels_meant(pattern, codes)}
    return [name for name in codes if not kernels or name in chosen]

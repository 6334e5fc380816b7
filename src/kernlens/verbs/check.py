"""The check of kernels against budgets and a baseline: ``kernlens.check`` and the verb of that name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kernlens.analysis.budget import (
    Rules,
    against_baseline,
    guarded,
    guarded_spills,
    places_of,
    states_spills,
    with_functions,
    with_hidden_code,
)
from kernlens.analysis.comparison.kernel_changes import Comparison
from kernlens.analysis.comparison.pairs import KernelPair, pair
from kernlens.analysis.kernel_names import matching
from kernlens.analysis.likely_cause import changed_cause, costliest_cause
from kernlens.errors import KernlensError, NotFoundError, UnsupportedError
from kernlens.formats.budget_file import NAME, BudgetFile
from kernlens.isa.devices import device as find_device
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.bounds import NO_FAULTS, Rule, Tolerance, bound, tolerance
from kernlens.model.failed_builds import FailedBuilds, by_path, read_builds
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.program import Program
from kernlens.model.verdict import FAILED, Cause, Finding, Place, Verdict
from kernlens.toolchain.sources.includes import join_options
from kernlens.toolchain.sources.project_file import project_file, read_project
from kernlens.toolchain.sources.source_settings import unused_tables
from kernlens.verbs.absent import Whole, all_of, is_meant, resolved, why_absent
from kernlens.verbs.programs import Opened, Opening, compiled_whole, is_source, of_program, open_variants, silent
from kernlens.verbs.sources.spread import spread
from kernlens.verbs.weighed import weighed

PathName = str | os.PathLike[str]
#: Kernels that are decoded between two words on the progress.
_STEP = 20
#: What a check can be told to fail for: kernels that only one side has, and limits of the file that fit no kernel.
NEW, MISSING, UNUSED = "new", "missing", "unused"


def check(
    paths: PathName | Program | Sequence[PathName | Program],
    *,
    kernel: str | Sequence[str] = (),
    device: str | Sequence[str] = (),
    toolchain: str | Sequence[str] = (),
    options: str | Sequence[str] = "",
    budget: PathName | None = None,
    baseline: PathName | None = None,
    tolerances: Mapping[str, object] | None = None,
    fail_on: Iterable[str] = (),
    allow_unknown: bool = False,
    allow_failed_builds: bool | None = None,
    source_roots: Sequence[str] = (),
    no_faults: bool = False,
    **bounds: int,
) -> Verdict:
    """Hold kernels against bounds (``max_spill=0, min_simd=16``), those of a file, and a baseline.

    ``paths`` are Programs, what holds machine code, or sources, which are compiled for each ``device`` by each ``toolchain``
    with ``options``. ``kernel`` are names or patterns of the kernels to check. ``budget`` is the file of budgets; without it
    the nearest ``kernlens.toml`` counts: beside a path, above it, or in the working folder. ``baseline`` is what no figure may
    be worse than, but for ``tolerances``: ``{"code-size": "5%", "instructions": "any"}``. ``fail_on`` may hold ``new`` and
    ``missing``: kernels that only one side has fail the check then; and ``unused``: a pattern of the file that fits no kernel,
    or no source in the file's folder, is an error then. ``allow_unknown``: what a binary does not say passes.
    ``allow_failed_builds``: builds of recordings that failed, and sources that do not compile, do not fail the check; None: as
    the file says, else they do. ``no_faults``: no fault may have been observed, and each kernel must have been.

    Raises KernlensError: NotFoundError for a pattern that fits no kernel, a bound that there is not and a baseline of
    another device, ToolError if none of the sources compiles.
    """
    file = None if budget is None else os.fspath(budget)
    answers, names = answers_at(
        paths, _words(device), _words(toolchain), join_options(options), source_roots, project=file, with_counts=True
    )
    file = file or found_file(names)
    stated = {**bounds, **({NO_FAULTS: True} if no_faults else {})}
    return judged(
        programs_in(answers),
        [Rule("*", tuple(bound(name, value) for name, value in stated.items()))] if stated else [],
        kernels=_words(kernel),
        budget_file=file,
        baseline=None if baseline is None else os.fspath(baseline),
        tolerances=[tolerance(name, value) for name, value in (tolerances or {}).items()],
        fail_on=frozenset(fail_on),
        allow_unknown=allow_unknown,
        allow_failed_builds=allow_failed_builds,
        failed=failed_in(answers),
        whole=whole_in(answers),
        source_roots=source_roots,
    )


def _words(words: str | Sequence[str]) -> Sequence[str]:
    return [words] if isinstance(words, str) else words


def answers_at(
    paths: PathName | Program | Sequence[PathName | Program],
    devices: Sequence[str],
    toolchains: Sequence[str],
    options: str,
    source_roots: Sequence[str],
    *,
    stages: bool = False,
    project: str | None = None,
    with_counts: bool = False,
) -> tuple[list[Opened], list[str]]:
    """Return the Programs among the paths, then what is in the others, and the names of these paths."""
    items = [paths] if isinstance(paths, str | os.PathLike | Program) else list(paths)
    names = [os.fspath(each) for each in items if not isinstance(each, Program)]
    answers = [Opened("", [each for each in items if isinstance(each, Program)])]
    if names:
        answers += opened_files(
            names, devices, toolchains, options, source_roots, stages=stages, project=project, with_counts=with_counts
        )
    return answers, names


def opened_files(
    paths: Sequence[str],
    devices: Sequence[str],
    toolchains: Sequence[str],
    options: str,
    source_roots: Sequence[str],
    *,
    stages: bool = False,
    project: str | None = None,
    is_cached: bool = True,
    with_counts: bool = False,
    program: str | None = None,
    tell: Callable[[str], None] = silent,
) -> list[Opened]:
    """Return what is in these paths, for each of the devices and by each of the toolchains; sources in each variant of their
    macros and, with ``stages``, with the stages of their compiles; ``with_counts`` kernels too that were observed and have no
    machine code. ``project`` is the ``kernlens.toml`` that counts for sources in place of the nearest, ``program`` is
    ``of_program``'s pattern, ``is_cached`` and ``tell`` are ``open_all``'s."""
    openings = [
        Opening(path, device, toolchain, words, with_counts=with_counts)
        for path in spread(paths)
        for words in [options if options and is_source(path) else ""]
        for device in dict.fromkeys(devices or (None,))
        for toolchain in dict.fromkeys(toolchains or (None,))
    ]
    if options and not any(opening.options for opening in openings):
        raise KernlensError("--build-options are for compiling, but there is no source to compile")
    opened = open_variants(openings, source_roots, stages=stages, is_cached=is_cached, project=project, tell=tell)
    return of_program(opened, program)


def programs_in(answers: Iterable[Opened]) -> list[Program]:
    """Return the programs of all that was opened."""
    return [program for each in answers for program in each.programs]


def failed_in(answers: Iterable[Opened]) -> tuple[FailedBuilds, ...]:
    """Return the builds that failed in all that was opened, of recordings and of sources."""
    return by_path(each.failed for each in answers)


def whole_in(answers: Iterable[Opened]) -> Whole:
    """Return all that the paths hold, for other devices and toolchains too."""
    return all_of(each.whole if each.path else Whole(each.programs) for each in answers)


def found_file(paths: Sequence[str]) -> str | None:
    """Return the ``kernlens.toml`` that counts for the first path that has one, or for the working folder; None if there is
    none."""
    return next(filter(None, map(project_file, paths or [""])), None)


def judged(
    programs: Sequence[Program],
    own_rules: Sequence[Rule],
    *,
    program: str | None = None,
    kernels: Sequence[str] = (),
    budget_file: str | None = None,
    baseline: str | None = None,
    tolerances: Sequence[Tolerance] = (),
    fail_on: frozenset[str] = frozenset(),
    allow_unknown: bool = False,
    allow_failed_builds: bool | None = None,
    failed: tuple[FailedBuilds, ...] = (),
    whole: Whole | None = None,
    source_roots: Sequence[str] = (),
    on_progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Do what ``check`` does; ``own_rules`` go before those of the file, ``failed`` are builds beside the programs, and
    ``whole`` is all that the paths hold; None: these. ``program`` is the pattern by which the programs were chosen: of the
    baseline those count too, if it has any. ``on_progress`` gets the numbers of the decoded kernels and of all."""
    _refuse_unfit(fail_on, baseline, tolerances)
    file = BudgetFile((), ()) if budget_file is None else _read(budget_file)
    every = places_of(programs)
    if not every and not any(failed):
        raise NotFoundError("there is no kernel to check")
    allows_failed = file.allows_failed if allow_failed_builds is None else allow_failed_builds
    outcome = Verdict((), failed=failed, allows_failed=bool(allows_failed), budget_file=budget_file, baseline=baseline)
    if not every:
        return outcome
    whole = whole or Whole(programs, [build for group in failed for build in group.builds])
    chosen = with_functions(_chosen(every, kernels, whole), every) if kernels else every
    rules = _rules([*file.rules, *own_rules], every, whole, budget_file, must_fit=UNUSED in fail_on)
    _decode((place for place in chosen if rules.needs_decoding(place)), on_progress)
    by_place = [(place, rules.findings(place, allow_unknown)) for place in chosen]
    findings = [finding for _, of_place in by_place for finding in of_place]
    pairs: dict[tuple[int, str], KernelPair] = {}
    new, missing = list[Place](), list[Place]()
    if baseline is not None:
        pairs, new, missing = _paired(programs, chosen, (baseline, program), kernels, source_roots)
        findings += _worse(list(pairs.values()), [*file.tolerances, *tolerances], allow_unknown)
    elif not findings:
        raise _nothing_to_check(rules, budget_file)
    unlimited = [place for place, of_place in by_place if not of_place] if baseline is None else []
    return replace(
        outcome,
        findings=tuple(_with_causes(list(with_hidden_code(findings, pairs)), pairs)),
        new=tuple(_kernels(new)),
        missing=tuple(_kernels(read_builds(missing, failed))),
        without_budget=tuple(_kernels(unlimited)),
        idle=tuple(rules.idle),
        # A table that has limits on devices alone has none itself.
        unused=(
            *(str(error) for rule, error in rules.unused if rule.bounds),
            *(unused_tables(budget_file) if budget_file else ()),
        ),
        failing=fail_on,
    )


def _refuse_unfit(fail_on: frozenset[str], baseline: str | None, tolerances: Sequence[Tolerance]) -> None:
    if not fail_on <= {NEW, MISSING, UNUSED}:
        raise KernlensError(
            f"a check can fail on {NEW} or {MISSING} kernels and on {UNUSED} limits, not on {', '.join(sorted(fail_on))}"
        )
    if baseline is None and (tolerances or fail_on - {UNUSED}):
        raise KernlensError("--tolerance, --fail-on-new and --fail-on-missing need a --baseline")


def _rules(
    rules: Sequence[Rule], every: Sequence[Place], whole: Whole, budget_file: str | None, *, must_fit: bool
) -> Rules:
    """Return the rules for all programs, as one of the file may be for a kernel that is not checked now. Raises NotFoundError
    if each ``must_fit`` a kernel, and each of the file's tables a source, and one does not."""
    result = Rules(
        rules,
        every,
        lambda program, device: program.device is not None and program.device.name == find_device(device).name,
        lambda pattern, known, device: why_absent(pattern, known, known, whole, device, parts=False),
    )
    if must_fit and result.unused:
        raise result.unused[0][1]
    for sentence in unused_tables(budget_file) if budget_file and must_fit else ():
        raise NotFoundError(sentence)
    return result


def _worse(pairs: Sequence[KernelPair], allowances: Sequence[Tolerance], allow_unknown: bool) -> list[Finding]:
    """Return the findings of kernels against those of the baseline."""
    guards, spills = guarded(allowances), guarded_spills(allowances)
    guards_of = [(each, guards if states_spills(each) else [*guards, *spills]) for each in pairs]
    _decode(
        place
        for each, own in guards_of
        if any(guard.figure.needs_decoding for guard in own)
        for place in ((each.old_program, each.old), (each.new_program, each.new))
    )
    return [finding for each, own in guards_of for finding in against_baseline(each, own, allow_unknown)]


def _nothing_to_check(rules: Rules, budget_file: str | None) -> KernlensError:
    if rules.unused:
        return rules.unused[0][1]
    own = f"{budget_file} has none for these kernels"
    return KernlensError(
        f"there are no limits to check; {own if budget_file else f'add --max-spill-bytes 0, a {NAME} or a --baseline'}"
    )


def _read(path: str) -> BudgetFile:
    budgets = read_project(path)
    for rule in budgets.rules:
        try:
            if rule.device is not None:
                find_device(rule.device)
        except NotFoundError as error:
            raise NotFoundError(f"{rule.origin}: {error}") from None
    return budgets


def _chosen(every: Sequence[Place], kernels: Sequence[str], whole: Whole) -> list[Place]:
    names = set(resolved(kernels, dict.fromkeys(kernel.name for _, kernel in every), whole))
    return [place for place in every if place[1].name in names]


def _decode(
    places: Iterable[Place], on_progress: Callable[[int, int], None] | None = None, *, texts: bool = False
) -> None:
    places = list(places)
    decode_kernels([(program, [kernel]) for program, kernel in places], texts=texts)
    for number, (_, kernel) in enumerate(places):
        if on_progress is not None and number % _STEP == _STEP - 1:
            on_progress(number, len(places))
        _ = kernel.whole_instructions


def _paired(
    programs: Sequence[Program],
    chosen: Sequence[Place],
    of_baseline: tuple[str, str | None],
    kernels: Sequence[str],
    source_roots: Sequence[str],
) -> tuple[dict[tuple[int, str], KernelPair], list[Place], list[Place]]:
    """Return the pairs of what is checked with the baseline, its programs of that name if there are some, device by device, and
    what only one side has.

    Raises NotFoundError if the baseline has nothing for a device that is checked, or no kernel of it.
    """
    baseline, pattern = of_baseline
    if is_source(baseline):
        raise KernlensError(f"{baseline} is a source, but a baseline must be compiled: kernlens compile -o FILE.klens")
    (before,) = [
        each.programs for each in compiled_whole(open_variants([Opening(baseline, with_counts=True)], source_roots))
    ]
    if pattern is not None:
        before = [each for each in before if is_meant(each.name, pattern)] or before
    if weights := next((kernel.trip_weights for _, kernel in chosen if kernel.trip_weights is not None), None):
        before = weighed(before, weights.trips, must_name=False)
    pairs: dict[tuple[int, str], KernelPair] = {}
    new: list[Place] = []
    missing: list[Place] = []
    ids = {id(kernel) for _, kernel in chosen}
    for device in dict.fromkeys(map(_device, programs)):
        old = [program for program in before if _device(program) == device]
        if not old:
            there = ", ".join(dict.fromkeys(map(_device, before)))
            raise NotFoundError(
                f"the baseline {baseline} is for {there}, and has nothing for {device}, which is checked"
            )
        pairing = pair(old, [program for program in programs if _device(program) == device])
        pairs |= {(id(each.new_program), each.new.name): each for each in pairing.kernels if id(each.new) in ids}
        new += [(each.program, each.kernel) for each in pairing.only_new if each.kernel and id(each.kernel) in ids]
        entries = {id(kernel) for _, kernel in places_of(old)}
        missing += [
            (each.program, each.kernel) for each in pairing.only_old if each.kernel and id(each.kernel) in entries
        ]
    if kernels and missing:
        # A pattern may be about kernels that are there.
        names = dict.fromkeys(kernel.name for _, kernel in missing)
        asked = {name for pattern in kernels for name in matching(pattern, names, parts=False)}
        missing = [place for place in missing if place[1].name in asked]
    if not pairs:
        raise NotFoundError(f"the baseline {baseline} contains none of the checked kernels")
    return pairs, new, missing


def _kernels(places: Iterable[Place]) -> Iterable[Place]:
    """Return the kernels among the places: the code of functions may come and go with what is inlined."""
    return (place for place in places if place[1].name != PSEUDO_KERNEL)


def _device(program: Program) -> str:
    return str(program.device or program.device_id)


def _with_causes(findings: Sequence[Finding], pairs: Mapping[tuple[int, str], KernelPair]) -> Iterable[Finding]:
    """Yield the findings, those that failed with the line that is likely to be the cause."""
    failed = [finding for finding in findings if finding.state == FAILED]
    compared = {
        key: pairs[key]
        for finding in failed
        if finding.tolerance and (key := (id(finding.program), finding.kernel.name))
    }
    try:
        _decode([(each.old_program, each.old) for each in compared.values()], texts=True)
        _decode([(each.new_program, each.new) for each in compared.values()], texts=True)
        _decode([(finding.program, finding.kernel) for finding in failed])
    except UnsupportedError as error:  # The figures that the binary states are checked all the same.
        yield from (replace(each, reason=str(error)) if each.state == FAILED else each for each in findings)
        return
    comparison = Comparison()
    changes = {key: comparison.kernel_change(each) for key, each in compared.items()}
    for finding in findings:
        if finding.state != FAILED:
            yield finding
            continue
        key = id(finding.program), finding.kernel.name
        cause = (
            changed_cause(changes[key], finding.figure)
            if finding.tolerance and not finding.figure.is_observed
            else costliest_cause(finding.program, finding.kernel, finding.figure)
        )
        yield replace(finding, cause=cause) if isinstance(cause, Cause) else replace(finding, reason=cause)

"""``kernlens check``: kernels against budgets and a baseline, for CI."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kernlens import __version__
from kernlens.cli import option
from kernlens.cli.output import Progress, print_json, print_lines, written
from kernlens.errors import KernlensError
from kernlens.model.bounds import Rule, bound, bound_names, current_bound_names, tolerance
from kernlens.model.figures import FIGURES, PEAK, PERCENT, WAIT_SHARE

if TYPE_CHECKING:
    from kernlens.model.bounds import Tolerance
    from kernlens.model.verdict import Verdict


def bound_options() -> option.Decorator:
    """Add ``--max-FIGURE`` and ``--min-FIGURE`` of every figure, by each of its names. The help shows one of each
    figure that a binary or a table states; the command gets ``bounds``, the values by name."""

    bounds, names = (
        bound_names(),
        dict[str, list[str]](),
    )  # Each name that the help shows, and all names of the same bound.
    for name, current in current_bound_names().items():
        # The former name of a bound that holds other vendors' figures too is an option of its own.
        is_own = bounds[name][0].former_counterparts and bound(name, 0).has_former_name
        names.setdefault(name if is_own else current, []).append(name)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def decorated(*words: Any, **values: Any) -> Any:
            values_of = {name: values.pop(_parameter(name)) for name in names}
            return command(
                *words, bounds={name: value for name, value in values_of.items() if value is not None}, **values
            )

        for name, all_names in reversed(names.items()):
            figure, is_least = bounds[name]
            words = " of a kernel" if figure.unit == figure.heading else f" of a kernel ({figure.unit})"
            is_usual = (figure in FIGURES or figure.key in (PEAK, WAIT_SHARE)) and is_least == figure.more_is_better
            is_usual = is_usual and not bound(name, 0).has_former_name
            click.option(
                f"--{name}",
                _parameter(name),
                cls=option.RenamedOption,
                former=[f"--{each}" for each in all_names if each != name],
                metavar="N",
                type=_Share(0) if figure.unit == PERCENT else click.IntRange(0),
                hidden=not is_usual,
                help=f"{'Minimum' if is_least else 'Maximum'} {figure.heading}{words}.",
            )(decorated)
        return decorated

    return decorate


class _Share(click.IntRange):
    """A number of percent: ``60`` or ``60%``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number without its sign. Raises BadParameter for anything else."""
        number: Any = value.removesuffix(PERCENT) if isinstance(value, str) else value
        return super().convert(number, param, ctx)


def _parameter(name: str) -> str:
    return f"bound_{name.replace('-', '_')}"


@option.verb("kernlens check blur.klens --max-spill-bytes 0 --min-simd 16")
@option.paths()
@bound_options()
@option.file("File with limits.  [default: kernlens.toml]", "--budget", "budget_file")
@option.value(
    "Fail if a metric is worse than in this recording or binary.", "--baseline", metavar="PATH", type=click.Path()
)
@option.several(
    "Accept values worse than the baseline's by up to N, N% or any amount (any). May be repeated.",
    "--tolerance",
    "tolerances",
    metavar="METRIC=N",
)
@option.flag("Fail if there are kernels that the baseline lacks.", "--fail-on-new")
@option.flag("Fail if kernels of the baseline are missing.", "--fail-on-missing")
@option.flag("Fail if a pattern of kernlens.toml fits no kernel or source.", "--fail-on-unused")
@option.flag("Pass metrics that the binary does not state.  [default: exit status 2]", "--allow-unknown")
@option.flag("Pass failed builds of recordings, and sources that do not compile.", "--allow-failed-builds")
@option.kernel()
@option.devices("Compile sources for these devices; check only their programs.")
@option.toolchain(
    "Compile sources with these toolchains (default: the default one); check only their programs.",
    several=True,
    default=None,
)
@option.build_options("Build options for sources, added to -gline-tables-only.")
@option.source_root()
@option.file("Also write JUnit XML.", "--junit")
@option.file("Also write SARIF 2.1.0.", "--sarif")
@option.full()
@option.json()
def command(
    paths: tuple[str, ...],
    bounds: dict[str, int],
    budget_file: str | None,
    baseline: str | None,
    tolerances: tuple[str, ...],
    fail_on_new: bool,
    fail_on_missing: bool,
    fail_on_unused: bool,
    allow_unknown: bool,
    allow_failed_builds: bool,
    kernel_names: tuple[str, ...],
    devices: list[str],
    toolchains: list[str],
    options: str,
    source_roots: tuple[str, ...],
    junit: str | None,
    sarif: str | None,
    as_json: bool,
) -> None:
    """Check kernels against limits. If a kernel exceeds one, the exit status is 1 and kernlens prints the metric and
    the source line that is the likely cause. A failed build in a recording also gives 1, a source that does not compile
    gives 3.

    PATHS are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. Every
    metric of docs/figures.md has the options --max-METRIC and --min-METRIC, for example --max-global-loads, or for
    AMD --max-vgprs and --max-lds, for NVIDIA --max-thread-registers and --max-shared-bytes. The nearest
    file kernlens.toml (beside a path, above it, or in the working folder) sets limits for patterns of kernel names.
    """
    from kernlens.cli.build_logs import print_compiled_warnings
    from kernlens.cli.compile import print_failures
    from kernlens.verbs import check

    rules = [Rule("*", tuple(bound(name, value, f"--{name}") for name, value in bounds.items()))] if bounds else []
    kinds = ((check.NEW, fail_on_new), (check.MISSING, fail_on_missing), (check.UNUSED, fail_on_unused))
    allowances = [_tolerance(words) for words in tolerances]
    answers = check.opened_files(paths, devices, toolchains, options, source_roots, project=budget_file)
    with Progress("decoding", quiet=as_json, later=True) as progress:
        verdict = check.judged(
            check.programs_in(answers),
            rules,
            kernels=kernel_names,
            budget_file=budget_file or check.found_file(paths),
            baseline=baseline,
            tolerances=allowances,
            fail_on=frozenset(kind for kind, is_asked in kinds if is_asked),
            allow_unknown=allow_unknown,
            allow_failed_builds=allow_failed_builds or None,
            failed=check.failed_in(answers),
            whole=check.whole_in(answers),
            source_roots=source_roots,
            on_progress=progress.show,
        )
    print_compiled_warnings(program for each in answers for program in each.programs)
    files = {id(program): each.path for each in answers for program in each.programs}
    with written([(junit, lambda: _junit(verdict)), (sarif, lambda: _sarif(verdict, files))]):
        _print(verdict, as_json=as_json)
    print_failures([build for each in answers if each.is_compiled for build in each.failed.builds])
    sys.exit(verdict.exit_status)


def _print(verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        from kernlens.cli.answers.verdict_document import verdict_document

        print_json(verdict_document(verdict))
    else:
        from kernlens.report.check.verdict_text import verdict_lines

        print_lines(verdict_lines(verdict))


def _tolerance(words: str) -> Tolerance:
    name, is_given, value = words.partition("=")
    if not is_given:
        raise KernlensError(
            f"--tolerance {words!r} is not of the form code-size=5%: a metric and how much worse it may get"
        )
    return tolerance(name, value, "--tolerance")


def _junit(verdict: Verdict) -> list[bytes]:
    from kernlens.cli.answers.junit import junit_xml

    return [junit_xml(verdict, _located).encode("utf-8", "backslashreplace")]


def _sarif(verdict: Verdict, files: Mapping[int, str]) -> list[bytes]:
    from kernlens.cli.answers.sarif import sarif_document
    from kernlens.report.json_text import indented

    return [indented(sarif_document(verdict, __version__, _located, files)).encode(), b"\n"]


def _located(path: str) -> str:
    """Return a source file's path from the working folder, if it is below that; CI shows results at these."""
    whole = os.path.abspath(path)
    inside = os.path.relpath(whole)
    if not inside.startswith(os.pardir):
        return inside
    return whole

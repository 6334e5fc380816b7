"""``kernlens check``: kernels against budgets and a baseline, for CI."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from kernlens import __version__
from kernlens.cli import option
from kernlens.cli.declared import Declared
from kernlens.cli.output import Progress, print_json, print_lines, print_message, written
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.bounds import NO_FAULTS, Rule, bound, bound_names, tolerance
from kernlens.model.figures import FIGURES, PEAK, PERCENT, UNITS, WAIT_SHARE, WASTE

if TYPE_CHECKING:
    from kernlens.model.bounds import Tolerance
    from kernlens.model.trips import Trips
    from kernlens.model.verdict import Verdict


class Bounds(Declared):
    """``--max-FIGURE`` and ``--min-FIGURE`` of every figure, by all its names: kernlens.toml takes the same. The help shows
    one of each figure that a binary or a table states; the value has those that are there by their names."""

    def __init__(self) -> None:
        pass

    def parameters(self, field: str) -> Iterator[click.Parameter]:
        for name, (figure, is_least) in bound_names().items():
            words = " of a kernel" if figure.unit == figure.heading else f" of a kernel ({figure.unit})"
            is_usual = (
                figure in FIGURES or figure.key in (PEAK, WAIT_SHARE, UNITS, WASTE)
            ) and is_least == figure.more_is_better
            yield click.Option(
                [f"--{name}", _parameter(name)],
                metavar="N",
                type=_Share(0) if figure.unit == PERCENT else click.IntRange(0),
                hidden=not (is_usual and name[4:] == figure.names[0]),
                help=f"{'Minimum' if is_least else 'Maximum'} {figure.heading}{words}.",
            )

    def value(self, field: str, values: Mapping[str, Any]) -> dict[str, int]:
        stated = {name: values[_parameter(name)] for name in bound_names()}
        return {name: value for name, value in stated.items() if value is not None}


class _Share(click.IntRange):
    """A number of percent: ``60`` or ``60%``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number without its sign. Raises BadParameter for anything else."""
        number: Any = value.removesuffix(PERCENT) if isinstance(value, str) else value
        return super().convert(number, param, ctx)


def _parameter(name: str) -> str:
    return f"bound_{name.replace('-', '_')}"


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths()
    bounds: dict[str, int] = Bounds()  # type: ignore[assignment]  # which stands in its place until the command is called
    no_faults: bool = option.flag(
        "Fail if the interpreter saw a fault when the kernel was observed, or nobody observed it.", "--no-faults"
    )
    budget: str | None = option.file("File with limits.  [default: kernlens.toml]", "--budget")
    baseline: str | None = option.value(
        "Fail if a metric is worse than in this recording or binary.", "--baseline", metavar="PATH", type=click.Path()
    )
    tolerances: tuple[str, ...] = option.several(
        "Accept values worse than the baseline's by up to N, N% or any amount (any). May be repeated.",
        "--tolerance",
        metavar="METRIC=N",
    )
    fail_on_new: bool = option.flag("Fail if there are kernels that the baseline lacks.", "--fail-on-new")
    fail_on_missing: bool = option.flag("Fail if kernels of the baseline are missing.", "--fail-on-missing")
    fail_on_unused: bool = option.flag(
        "Fail if a pattern of kernlens.toml fits no kernel or source.", "--fail-on-unused"
    )
    allow_unknown: bool = option.flag(
        "Pass metrics that the binary does not state.  [default: exit status 2]", "--allow-unknown"
    )
    allow_failed_builds: bool = option.flag(
        "Pass failed builds of recordings, and sources that do not compile.", "--allow-failed-builds"
    )
    kernels: tuple[str, ...] = option.kernels()
    program: str | None = option.program()
    devices: list[str] = option.devices("Compile sources for these devices; check only their programs.")
    toolchains: list[str] = option.toolchains(
        "Compile sources with these toolchains (default: the default one); check only their programs.", default=None
    )
    options: str = option.build_options()
    trips: Trips | None = option.trips()
    source_roots: tuple[str, ...] = option.source_root()
    junit: str | None = option.file("Also write JUnit XML.", "--junit")
    sarif: str | None = option.file("Also write SARIF 2.1.0.", "--sarif")
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens check blur.klens --max-spill-bytes 0 --min-simd 16")
def command(asked: Asked) -> None:
    """Check kernels against limits. If a kernel exceeds one, the exit status is 1 and kernlens prints the metric and
    the source line that is the likely cause. A failed build in a recording also gives 1, a source that does not compile
    gives 3.

    PATHS are binaries, recordings, folders of these, or sources and folders of sources to compile for --device. Every
    metric of docs/figures.md has the options --max-METRIC and --min-METRIC, for example --max-global-loads, or for
    AMD --max-vgprs and --max-lds, for NVIDIA --max-thread-registers and --max-shared-bytes. The nearest
    file kernlens.toml (beside a path, above it, or in the working folder) sets limits for patterns of kernel names.
    """
    from kernlens.verbs import check
    from kernlens.verbs.build_messages import compiled_warnings
    from kernlens.verbs.compile_failures import failure_lines
    from kernlens.verbs.weighed import weighed_answers

    stated: dict[str, int] = {**asked.bounds, **({NO_FAULTS: True} if asked.no_faults else {})}
    bounds = tuple(bound(name, value, f"--{name}") for name, value in stated.items())
    fails = (check.NEW, asked.fail_on_new), (check.MISSING, asked.fail_on_missing), (check.UNUSED, asked.fail_on_unused)
    allowances = [_tolerance(words) for words in asked.tolerances]
    answers = check.opened_files(
        asked.paths, asked.devices, asked.toolchains, asked.options, asked.source_roots, project=asked.budget,
        with_counts=True, program=asked.program, tell=tell,
    )  # fmt: skip
    answers = weighed_answers(answers, asked.trips)
    with Progress("decoding", quiet=asked.as_json, later=True) as progress:
        verdict = check.judged(
            check.programs_in(answers),
            [Rule("*", bounds)] if bounds else [],
            program=asked.program,
            kernels=asked.kernels,
            budget_file=asked.budget or check.found_file(asked.paths),
            baseline=asked.baseline,
            tolerances=allowances,
            fail_on=frozenset(kind for kind, is_asked in fails if is_asked),
            allow_unknown=asked.allow_unknown,
            allow_failed_builds=asked.allow_failed_builds or None,
            failed=check.failed_in(answers),
            whole=check.whole_in(answers),
            source_roots=asked.source_roots,
            on_progress=progress.show,
        )
    print_message(*compiled_warnings(program for each in answers for program in each.programs))
    files = {id(program): each.path for each in answers for program in each.programs}
    with written([(asked.junit, lambda: _junit(verdict)), (asked.sarif, lambda: _sarif(verdict, files))]):
        _print(verdict, as_json=asked.as_json)
    print_message(*failure_lines([build for each in answers if each.is_compiled for build in each.failed.builds]))
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
    from kernlens.report.json_text import encoded

    return [encoded(sarif_document(verdict, __version__, _located, files)).encode(), b"\n"]


def _located(path: str) -> str:
    """Return a source file's path from the working folder, if it is below that; CI shows results at these."""
    whole = os.path.abspath(path)
    inside = os.path.relpath(whole)
    if not inside.startswith(os.pardir):
        return inside
    return whole

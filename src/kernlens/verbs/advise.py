"""``kernlens.advise``: what could make kernels cheaper, and at which lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.advice.rules import advice_on
from kernlens.analysis.ranked_causes import RankedCause, ranked_causes
from kernlens.analysis.start_here import by_work
from kernlens.dataclass import dataclass, in_short, replace
from kernlens.errors import NotFoundError
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.advice import Advice, AdvisedKernel
from kernlens.model.columns import Cell, Table, Tabular
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.toolchain.sources.includes import join_options
from kernlens.verbs.check import PathName, answers_at, failed_in, programs_in, whole_in
from kernlens.verbs.programs import Selection, check_any, select

_COLUMNS = {
    **{"program": str, "device": str, "kernel": str, "rule": str, "path": str, "line": int, "column": int},
    **{"instructions": int, "share": float, "sentence": str, "link": str, "origin": str},
}


@dataclass(frozen=True)
class AdviceAnswer(Tabular):
    """Advice on kernels. As text (``str``) it is what ``kernlens advise`` prints; ``table`` has a row for each piece.
    ``failed`` are the builds that gave no binary, path by path."""

    kernels: tuple[AdvisedKernel, ...]
    failed: tuple[FailedBuilds, ...] = ()

    def __repr__(self) -> str:
        return in_short(f"<AdviceAnswer pieces={len(self.advice)} kernels={len(self.kernels)}>")

    def __str__(self) -> str:
        from kernlens.report.advice_text import advice_lines
        from kernlens.report.style import rendered_lines

        return "\n".join(rendered_lines(list(advice_lines(self.kernels, self.failed))))

    @property
    def advice(self) -> list[Advice]:
        """All pieces of advice, kernel by kernel."""
        return [piece for each in self.kernels for piece in each.advice]

    @property
    def ranked(self) -> list[RankedCause]:
        """The causes of what the kernels cost, observed and advised ones together: that first which could save most."""
        return ranked_causes(self.kernels)

    @property
    def table(self) -> Table:
        """A row for each piece of advice; ``instructions`` is the number of those that it is about."""
        return Table.of_rows(_COLUMNS, self._rows())

    def _rows(self) -> Iterator[tuple[Cell, ...]]:
        for each in self.kernels:
            device = each.program.device.name if each.program.device else None
            names = each.program.name, device, each.kernel.name
            for piece in each.advice:
                place = piece.path, piece.line or None, piece.column or None
                yield *names, piece.rule, *place, piece.count, piece.share, piece.sentence, piece.link, piece.origin


def advise(
    paths: PathName | Program | Sequence[PathName | Program],
    *,
    kernel: str | Sequence[str] = (),
    device: str | Sequence[str] = (),
    toolchain: str | Sequence[str] = (),
    options: str | Sequence[str] = "",
    source_roots: Sequence[str] = (),
    stages: bool = False,
) -> AdviceAnswer:
    """Return advice on kernels: one sentence for each construct that became more code than it needs.

    ``paths`` are Programs, what holds machine code, or sources, which are compiled for each ``device`` by each ``toolchain``
    with ``options``; ``stages`` keeps the stages of these compiles, which some rules need. ``kernel`` are names or patterns
    of the kernels; none: all. ``source_roots`` are folders to look for source files in.

    Raises KernlensError: NotFoundError if there is no kernel, UnknownKernelError for a name that fits none, UnsupportedError
    where no libiga64 knows the device, ToolError if none of the sources compiles.
    """
    words = [[value] if isinstance(value, str) else list(value) for value in (kernel, device, toolchain)]
    answers, _ = answers_at(
        paths, words[1], words[2], join_options(options), source_roots, stages=stages, with_counts=True
    )
    check_any(answers)
    return replace(advised(select(programs_in(answers), words[0], whole=whole_in(answers))), failed=failed_in(answers))


def advised(selection: Selection) -> AdviceAnswer:
    """Return the advice on the kernels of a selection. Raises NotFoundError if it has none."""
    has_order = any(kernel.behaviours or kernel.launch_time for _, kernels in selection for kernel in kernels)
    ordered = by_work(selection) if has_order else selection
    places = [(program, kernel) for program, kernels in ordered for kernel in kernels]
    entries = [(program, kernel) for program, kernel in places if kernel.name in program.entry_kernels]
    if not entries:
        raise NotFoundError("there is no kernel to advise on")
    decode_kernels([(program, [kernel]) for program, kernel in entries], texts=False)
    return AdviceAnswer(tuple(_advised(entries)))


def _advised(places: Iterable[tuple[Program, Kernel]]) -> Iterator[AdvisedKernel]:
    for program, kernel in places:
        reason = kernel.line_table_reason
        if reason is None and not program.sources:
            reason = "the source text was not found; --source-root names a folder to search"
        if kernel.behaviours and not kernel.code_size:
            yield AdvisedKernel(program, kernel, (), reason)
            continue
        if kernel.advice_reason is not None:
            yield AdvisedKernel(program, kernel, (), kernel.advice_reason)
            continue
        if not kernel.instructions.is_whole:
            yield AdvisedKernel(program, kernel, (), kernel.instructions.warning)
            continue
        yield AdvisedKernel(program, kernel, tuple(advice_on(program, kernel)), reason)

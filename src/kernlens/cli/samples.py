"""``annotate --samples``: a profiler's samples beside lines and instructions, in each format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kernlens.cli.output import print_message
from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.analysis.placed_samples import PlacedSamples
    from kernlens.analysis.sampled_kernels import SampledKernels
    from kernlens.cli.listings import Form
    from kernlens.loading import Contents
    from kernlens.model.kernel import Kernel
    from kernlens.model.line_choice import LineChoice
    from kernlens.model.program import Program
    from kernlens.report.beside import Beside
    from kernlens.verbs.sampled import SampleMatches

#: What --sort orders the table of --top by if there are samples.
BY_SAMPLES = "samples"


@dataclass(frozen=True)
class AnnotatedSamples:
    """The samples that ``annotate`` shows, and the kernels that they are of."""

    sampled: SampledKernels
    matches: SampleMatches

    def names(self, kernel_names: Sequence[str]) -> Sequence[str]:
        """Return the kernels to show: those that the user named, else those that have samples."""
        return kernel_names or self.matches.names

    def form(
        self,
        format_name: str,
        only: LineChoice | None,
        count: int | None,
        width: int | None,
        *,
        has_waits: bool,
        is_printed: bool,
    ) -> Form:
        """Return the form of a listing; ``count``: the table of so many lines; ``has_waits``: with the estimated ones."""
        from kernlens.cli.listings import Lines

        if format_name == "json":
            return self._json(only, count, has_waits=has_waits)
        if format_name == "csv":
            return self._csv(only)
        if count is not None:
            from kernlens.cli.answers.sample_table import sampled_table

            def table(program: Program, kernel: Kernel) -> list[str]:
                return sampled_table(program, kernel, self._placed(kernel), count, width)

            return Lines(table, is_printed=is_printed, has_texts=False)
        from kernlens.cli.answers.sample_notes import SampleNotes
        from kernlens.report.listing import annotated

        def lines(program: Program, kernel: Kernel) -> list[str]:
            besides: list[Beside] = [SampleNotes(kernel, self._placed(kernel))]
            if has_waits:
                from kernlens.report.wait_words import WaitNotes

                besides.append(WaitNotes(kernel))
            return annotated(program, kernel, only, besides)

        return Lines(lines, is_printed=is_printed)

    def _placed(self, kernel: Kernel) -> PlacedSamples:
        from kernlens.analysis.placed_samples import placed_samples

        return placed_samples(self.sampled, kernel.name, kernel.instructions)

    def _json(self, only: LineChoice | None, count: int | None, *, has_waits: bool) -> Form:
        from kernlens.cli.answers.sample_table import samples_document
        from kernlens.cli.listings import Json
        from kernlens.report.json_text import encoded
        from kernlens.report.program_document import SCHEMA, kernel_document, kernel_json, program_document

        head: dict[str, Any] = {"schema": SCHEMA, "samples": self._document()}

        def samples(kernel: Kernel) -> dict[str, Any]:
            return {"samples": samples_document(kernel, self._placed(kernel), most_lines=count)}

        kernel: Callable[[Program, Kernel], str]
        if count is not None:
            head["by"] = BY_SAMPLES

            def kernel(program: Program, kernel: Kernel) -> str:
                return encoded(kernel_document(kernel) | samples(kernel))

        else:

            def kernel(program: Program, kernel: Kernel) -> str:
                return kernel_json(
                    kernel, program.meant_line(only), is_placed=True, has_waits=has_waits, more=samples(kernel)
                )

        return Json(head, partial(program_document, has_sources=count is None), kernel, has_texts=count is None)

    def _document(self) -> dict[str, Any]:
        samples = self.sampled.samples
        return {
            "profiler": samples.profiler,
            "total": sum(kernel.total for kernel in samples.kernels),
            "reasons": [
                {"name": reason.name, "is_stall": reason.is_stall, "waits_for": reason.awaits}
                for reason in samples.reasons
            ],
            "measures": list(samples.measures),
            "without_kernel": [
                {
                    "name": kernel.name,
                    "device": kernel.device,
                    "addresses": len(kernel.counts),
                    "samples": kernel.total,
                }
                for kernel in self.matches.unmatched
            ],
        }

    def _csv(self, only: LineChoice | None) -> Form:
        from kernlens.cli.answers.rows import COLUMNS, csv_line, csv_lines
        from kernlens.cli.answers.sample_table import sample_cells, sample_columns_of
        from kernlens.cli.listings import Lines

        samples = self.sampled.samples
        columns = sample_columns_of((reason.name for reason in samples.reasons), samples.measures)

        def lines(program: Program, kernel: Kernel) -> list[str]:
            placed = self._placed(kernel)
            laid = placed.laid_on()
            more = (sample_cells(placed, row, laid.get(row, 0)) for row in range(len(kernel.instructions)))
            return list(csv_lines(program, kernel, only, more))

        return Lines(lines, csv_line((*COLUMNS, *columns)))


def read_samples(path: str | None) -> SampledKernels | None:
    """Return the samples of ``--samples``, None if it is not given. Raises KernlensError if the file cannot be read."""
    if path is None:
        return None
    from kernlens.verbs.sample_file import open_samples

    return open_samples(path)


def tell_unmatched(path: str | None, sampled: SampledKernels, programs: Sequence[Program]) -> SampleMatches:
    """Return the kernels of these programs that the samples are of, and print what of the file is not shown. Raises
    NotFoundError if they are of none of them."""
    from kernlens.verbs.sampled import sample_matches

    matches = sample_matches(sampled, programs)
    for sentence in matches.warnings():
        print_message(f"kernlens: {path}: {sentence}")
    return matches


def annotated_samples(path: str, contents: Contents) -> AnnotatedSamples:
    """Return the samples of a file with the kernels of these contents that they are of. Raises what ``read_samples`` and
    ``tell_unmatched`` raise."""
    from kernlens.verbs.sample_file import open_samples

    sampled = open_samples(path)
    return AnnotatedSamples(sampled, tell_unmatched(path, sampled, contents.programs))

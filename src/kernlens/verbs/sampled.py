"""The kernels of an input that a file of samples is of, and what of the file is of none of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.sampled_code import code_start, difference_of
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError
from kernlens.model.program import Program
from kernlens.model.samples import SampledKernel

#: The most kernels that a sentence names.
_NAMED = 4


@dataclass(frozen=True, slots=True)
class SampleMatches:
    """The kernels that a file's samples are of: ``names`` as the binaries call them. ``unmatched`` samples are of none of them;
    ``repeated`` are the names that several programs have, each with all samples of that name."""

    names: Sequence[str]
    unmatched: Sequence[SampledKernel]
    repeated: Sequence[str]

    def warnings(self) -> Iterator[str]:
        """Yield a sentence on what of the file is not shown, and one on what is shown several times."""
        if self.unmatched:
            rows = sum(len(kernel.counts) for kernel in self.unmatched)
            count = sum(kernel.total for kernel in self.unmatched)
            names = dict.fromkeys(kernel.name for kernel in self.unmatched)
            yield (
                f"{_counted(count, 'sample')} at {_counted(rows, 'address', 'addresses')} not shown, of"
                f" {_counted(len(names), 'kernel')} that the input does not hold: {_listed(names)}"
            )
        if self.repeated:
            yield (
                f"several programs hold a kernel of the same name, and each is shown with all samples of that name:"
                f" {_listed(map(kernel_title, self.repeated))}; choose a program with --device"
            )


def sample_matches(sampled: SampledKernels, programs: Iterable[Program]) -> SampleMatches:
    """Return the kernels of these programs that the samples are of. Raises NotFoundError if they are of none."""
    programs = list(programs)
    programs_of = Counter(kernel.name for program in programs for kernel in program.kernels)
    names = [name for name in programs_of if sampled.of(name)]
    unmatched = sampled.without(names)
    _refuse_other_code(sampled, names, programs)
    if not names:
        raise NotFoundError(
            f"no kernel of the input has samples: they are of {_listed(kernel.name for kernel in unmatched)}; the input"
            f" holds {_listed(map(kernel_title, programs_of)) or 'no kernel'}"
        )
    return SampleMatches(names, unmatched, [name for name in names if programs_of[name] > 1])


def _refuse_other_code(sampled: SampledKernels, names: Iterable[str], programs: Sequence[Program]) -> None:
    """Raise NotFoundError if the file states the code of a kernel, and no program has that code."""
    for name in names:
        stated = [kernel for kernel in sampled.of(name) if kernel.texts]
        codes = (
            [program.kernels[name].instructions for program in programs if name in program.kernels] if stated else []
        )
        if stated and all(code_start(kernel, code) is None for kernel in stated for code in codes):
            raise NotFoundError(
                f"the samples of {kernel_title(name)} are of other code than the input's, which another build or option may"
                f" have made: {difference_of(stated[0], codes[0])}; load the binary that was profiled"
            )


def _counted(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    more = f" and {len(each) - _NAMED:,} more" if len(each) > _NAMED else ""
    return ", ".join(each[:_NAMED]) + more

"""Samples and counts of Nsight Compute's source page: what ``ncu -i REPORT --page source --csv --print-source sass``, or
``cuda,sass``, prints.

The layout has no public description; this was told from pages of Nsight Compute 2025.3. A kernel begins with a line
``"Kernel Name","blur",``, or in pages by source line with ``"File Path",...`` and ``"Function Name","blur"``, once for each
file. A heading follows, whose columns differ from kernel to kernel: those without a value are left out, so they are read by
name. Instructions have an address where the kernel was loaded. A page by source line lists an instruction under each line
that it is of, leaves out those without a line, and has sums in rows without an address.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.samples import Counts, Reason, SampledKernel, Samples, padded

FORMAT = "Nsight Compute's source page"
#: The counts that are read, if a page has them; sums and shares of other columns are left.
MEASURES = (
    "Instructions Executed", "Thread Instructions Executed", "Divergent Branches", "L2 Theoretical Sectors Global",
    "L2 Theoretical Sectors Global Ideal", "L2 Theoretical Sectors Local", "L1 Wavefronts Shared",
    "L1 Wavefronts Shared Ideal",
)  # fmt: skip
_ADDRESS, _SOURCE, _SAMPLES, _LINE = "Address", "Source", "# Samples", "Line No"
_KERNEL, _FUNCTION, _FILE = "Kernel Name", "Function Name", "File Path"
_STALL, _ISSUED, _SELECTED, _OTHER = "stall_", " (Not Issued)", "stall_selected", "without a reason"
_MARKS = tuple(f'"{name}",'.encode() for name in (_KERNEL, _FILE, _FUNCTION))
#: Lines in which a page begins: ncu may print warnings before it.
_FIRST_LINES, _MOST_COLUMNS, _BITS = 100, 1024, 64
_NUMBER = re.compile(r"[0-9][0-9,]{0,30}")
_PLACE = re.compile(r"0x([0-9a-fA-F]{1,16})")
#: What stands in place of a number that there is not.
_NONE = ("-", "", "...")


def is_source_page(content: bytes) -> bool:
    """Return whether a file is such a page."""
    lines = content[:65536].removeprefix(b"\xef\xbb\xbf").split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    return any(line.startswith(_MARKS) for line in lines)


def read_source_page(content: bytes, allowance: Allowance | None = None) -> Samples:
    """Return the samples in a page; each launch that was profiled is a kernel of its own, whose offsets count from its first
    instruction. Raises FormatError, with the number of the line, for a page without samples and rows that are none;
    TooManyError for more rows or kernels than a file of that size has."""
    data = bytes(content).removeprefix(b"\xef\xbb\xbf")
    allowance = allowance or Allowance(len(data))
    allowance.count(data.count(b"\n") + 1, "lines", format=FORMAT)
    page = _Page(allowance)
    rows = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    try:
        for cells in rows:
            page.add(rows.line_num, cells)
    except csv.Error as error:
        raise FormatError(f"line {rows.line_num:,}: {error}", format=FORMAT) from error
    return page.samples()


@dataclass(slots=True)
class _Launch:
    """A launch that was profiled, as it is read: by address the text, the samples by reason, and the counts."""

    name: str
    files: set[str] = field(default_factory=set)
    texts: dict[int, str] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    measured: dict[int, Counts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Heading:
    """The columns of a heading by what they are."""

    width: int
    address: int
    source: int
    total: int | None
    reasons: Sequence[tuple[int, int]]
    measures: Sequence[tuple[int, int]]


class _Page:
    """A page, read row by row."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._file = ""
        self._heading: _Heading | None = None
        self._launches: list[_Launch] = []
        self._reasons: dict[str, int] = {}
        self._measures: dict[str, int] = {}

    def samples(self) -> Samples:
        """Return what was read. Raises FormatError if no row was an instruction."""
        if not any(launch.texts for launch in self._launches):
            raise FormatError(
                "no row is an instruction with samples; ncu -i REPORT --page source --csv --print-source sass prints them, of"
                " a report of ncu --set full",
                format=FORMAT,
            )
        reasons = [Reason(name, name != _SELECTED) for name in self._reasons]
        kernels = [_kernel(each, len(reasons), len(self._measures)) for each in self._launches if each.texts]
        return Samples("Nsight Compute", tuple(reasons), tuple(kernels), tuple(self._measures))

    def add(self, number: int, cells: Sequence[str]) -> None:
        """Read the next row."""
        first = cells[0] if cells else ""
        if first == _FILE and len(cells) >= 2:
            self._file, self._heading = cells[1], None
        elif first in (_KERNEL, _FUNCTION) and len(cells) >= 2:
            self._begin(cells[1].strip(), has_files=first == _FUNCTION)
        elif first in (_ADDRESS, _LINE):
            self._heading = self._read_heading(number, cells)
        elif self._heading is not None and cells:
            self._row(number, cells, self._heading)

    def _begin(self, name: str, *, has_files: bool) -> None:
        """Begin a launch, or a further file of one: a page by source line names the function again for each."""
        self._heading = None
        last = self._launches[-1] if self._launches else None
        if not has_files or last is None or last.name != name or self._file in last.files:
            self._allowance.count(1, "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
            self._launches.append(_Launch(name))
        self._launches[-1].files.add(self._file)

    def _read_heading(self, number: int, cells: Sequence[str]) -> _Heading:
        if not self._launches:
            raise _error(number, "is a heading before a kernel's name")
        if len(cells) > _MOST_COLUMNS:
            raise _error(number, f"has {len(cells):,} columns, which is too many")
        # The text of a source line has the same title as an instruction's, which comes last.
        place = {name: column for column, name in enumerate(cells)}
        if not {_ADDRESS, _SOURCE} <= place.keys() or place.keys().isdisjoint((_SAMPLES, *MEASURES)):
            raise _error(
                number, f"is a heading without {_ADDRESS}, {_SOURCE} and {_SAMPLES}: take a report of ncu --set full"
            )
        stalls = [name for name in place if name.startswith(_STALL) and not name.endswith(_ISSUED)]
        return _Heading(
            len(cells), place[_ADDRESS], place[_SOURCE], place.get(_SAMPLES),
            [(place[name], self._reasons.setdefault(name, len(self._reasons))) for name in stalls],
            [(place[name], self._measures.setdefault(name, len(self._measures))) for name in MEASURES if name in place],
        )  # fmt: skip

    def _row(self, number: int, cells: Sequence[str], heading: _Heading) -> None:
        if len(cells) < heading.width:
            raise _error(number, f"has {len(cells):,} cells, and its heading {heading.width:,}")
        if (address := cells[heading.address]) in _NONE:
            return
        if (place := _PLACE.fullmatch(address)) is None:
            raise _error(number, f"has no address: {address[:60]!r}")
        launch, at = self._launches[-1], int(place[1], 16)
        counts = self._counts(number, cells, heading)
        measured = _numbers(number, cells, heading.measures, len(self._measures))
        text = " ".join(cells[heading.source].split())
        if at in launch.texts:
            known = (
                launch.texts[at],
                padded(launch.counts[at], len(counts)),
                padded(launch.measured[at], len(measured)),
            )
            if known != (text, counts, measured):
                raise _error(number, f"has other samples of the instruction at {address} than a row before")
            return
        launch.texts[at], launch.counts[at], launch.measured[at] = text, counts, measured

    def _counts(self, number: int, cells: Sequence[str], heading: _Heading) -> Counts:
        """Return a row's samples by reason; those that no column has a reason for have one of their own."""
        counts = _numbers(number, cells, heading.reasons, len(self._reasons))
        rest = 0 if heading.total is None else _number(number, cells[heading.total]) - sum(counts)
        if rest <= 0:
            return counts
        place = self._reasons.setdefault(_OTHER, len(self._reasons))
        counts = padded(counts, len(self._reasons))
        return (*counts[:place], rest, *counts[place + 1 :])


def _kernel(launch: _Launch, reasons: int, measures: int) -> SampledKernel:
    start = min(launch.texts)

    def moved(columns: Mapping[int, Counts], width: int) -> dict[int, Counts]:
        return {at - start: padded(each, width) for at, each in sorted(columns.items()) if any(each)}

    texts = {at - start: text for at, text in sorted(launch.texts.items())}
    return SampledKernel(
        launch.name, None, moved(launch.counts, reasons), moved(launch.measured, measures), texts, start
    )


def _numbers(number: int, cells: Sequence[str], columns: Sequence[tuple[int, int]], width: int) -> Counts:
    numbers = [0] * width
    for column, place in columns:
        numbers[place] = _number(number, cells[column])
    return tuple(numbers)


def _number(number: int, cell: str) -> int:
    if cell in _NONE:
        return 0
    if _NUMBER.fullmatch(cell) is None:
        raise _error(number, f"has no number where a count stands: {cell[:60]!r}")
    count = int(cell.replace(",", ""))
    if count >> _BITS:
        raise _error(number, f"has a number of more than {_BITS} bits")
    return count


def _error(number: int, problem: str) -> FormatError:
    return FormatError(f"line {number:,} {problem}", format=FORMAT)

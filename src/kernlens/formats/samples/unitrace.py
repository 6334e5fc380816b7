"""unitrace's stall samples: what ``unitrace --stall-sampling -o FILE.csv`` leaves in ``FILE.metrics.PID.csv``, or with a folder
of results in ``metrics_DEVICE.csv``.

Layout: ``ZeMetricProfiler::ComputeMetricsSampled`` of intel/pti-gpu, tools/unitrace/src/levelzero/ze_metrics.h (June 2026).
``Kernel, IP[Address], Active[Events], ControlStall[Events], ...`` and then a row for each address: the kernel's name
demangled and in quotes, which are not escaped and in older versions missing; the offset from the kernel's start in
hexadecimal without ``0x``; counts. Cells are padded with blanks on the left. Names hold commas, so rows are split from the
right. One file may hold several devices, each behind ``=== Device #N Metrics ===`` with a heading of its own.
"""

from __future__ import annotations

import re
from io import BytesIO

from kernlens.errors import FormatError
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.samples import DISTANCE, TOKEN, Counts, Reason, SampledKernel, Samples, summed

FORMAT = "unitrace stall samples"
#: Columns behind the kernel's name, at most: unitrace refuses more than 16 counts.
_MOST_COLUMNS = 64
_BITS = 64
#: Bytes of the cells behind a row's name.
_OF_NUMBERS = b"0123456789abcdefABCDEF, \t\r\n"
#: Characters of a line that an error quotes, and bytes of it that are looked at for that.
_QUOTED, _CUT = 60, 400
_BANNER = re.compile(rb"=== Device #(\d{1,9}) Metrics ===")
_POSITION, _KERNEL, _INSTANCE = "IP", b"Kernel", b"GlobalInstanceId"
#: The reason that is no stall, and those under which a thread waits for another instruction.
_ISSUES, _AWAITS = "Active", {"SbidStall": TOKEN, "DistStall": DISTANCE}


def read_unitrace(content: bytes | memoryview, allowance: Allowance | None = None) -> Samples:
    """Return the samples in a file. Raises FormatError, with the number of the line, for anything else: other metrics of
    unitrace, other encodings, rows that lack columns, counts that are not numbers of 64 bits; TooManyError for more rows or
    kernels than a file of that size has."""
    data = bytes(content).removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError("the text is UTF-16; unitrace writes UTF-8, so convert it", format=FORMAT)
    if (zero := data.find(b"\0")) >= 0:
        raise FormatError("a byte is 0, so this is not text", format=FORMAT, offset=zero)
    allowance = allowance or Allowance(len(data))
    allowance.count(data.count(b"\n") + 1, "lines", format=FORMAT)
    tables = _Tables(allowance)
    for number, line in enumerate(BytesIO(data), 1):
        tables.add(number, line)
    return tables.samples()


class _Tables:
    """The tables of a file, read line by line: each begins with a heading, in files of several devices behind a banner."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._device: int | None = None
        #: The cells of a heading behind the kernel's name, and their number.
        self._heading: tuple[str, ...] = ()
        self._count = 0
        #: False before a heading, where no rows are.
        self._is_begun = False
        self._counts: dict[tuple[str, int | None], dict[int, Counts]] = {}
        #: Those of the device by the first cell of rows, blanks and quotes included: most rows have that of the row before.
        self._of_cell: dict[bytes, dict[int, Counts]] = {}

    def samples(self) -> Samples:
        """Return what was read. Raises FormatError if no line was a heading."""
        if not self._heading:
            raise FormatError(
                "no line has the columns Kernel, IP[Address], ...; unitrace --stall-sampling -o FILE.csv writes them to"
                " FILE.metrics.PID.csv",
                format=FORMAT,
            )
        kernels = (SampledKernel(name, device, counts) for (name, device), counts in self._counts.items())
        return Samples("unitrace", tuple(map(_reason, self._heading[1:])), tuple(kernels))

    def add(self, number: int, line: bytes) -> None:
        """Read the next line."""
        cells = line.rsplit(b",", self._count) if self._is_begun else []
        # int() takes more than digits, such as 1_0 and +1.
        if len(cells) > self._count and not line[len(cells[0]) :].translate(None, _OF_NUMBERS):
            try:
                offset, counts = int(cells[1], 16), tuple(map(int, cells[2:]))
            except ValueError:
                self._add_other(number, line)
                return
            if max(offset, *counts) >> _BITS:
                raise _error(number, line, f"has a number of more than {_BITS} bits")
            rows = self._of_cell.get(cells[0])
            if rows is None:
                rows = self._rows_of(number, cells[0])
            rows[offset] = summed(rows[offset], counts) if offset in rows else counts
        elif line.strip():
            self._add_other(number, line)

    def _rows_of(self, number: int, cell: bytes) -> dict[int, Counts]:
        """Return the counts of a kernel by the first cell of its rows."""
        self._allowance.count(1, "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
        name = cell.strip().decode("utf-8", "replace")
        if name.startswith('"'):
            if len(name) < 2 or not name.endswith('"'):  # A number more or less, or a name that was cut.
                raise _error(number, cell, "has a kernel's name whose quotes do not end before the offset")
            name = name[1:-1]
        rows = self._of_cell[cell] = self._counts.setdefault((name, self._device), {})
        return rows

    def _add_other(self, number: int, line: bytes) -> None:
        """Read a line that is no row: a banner, a heading, or before the first heading anything."""
        text = line.strip()
        if banner := _BANNER.fullmatch(text):
            self._device, self._is_begun, self._of_cell = int(banner[1]), False, {}
            return
        if text.startswith(_KERNEL):
            self._begin(number, line)
        elif self._is_begun:
            raise _error(number, line, f"is not a kernel's name with an offset and {len(self._heading) - 1} counts")

    def _begin(self, number: int, line: bytes) -> None:
        """Read a heading."""
        cells = [cell.strip() for cell in line.split(b",", _MOST_COLUMNS + 2)]
        if len(cells) > 1 and cells[1] == _INSTANCE:
            raise _error(
                number,
                line,
                "begins other metrics of unitrace (-k or -q), which name no instructions; take --stall-sampling",
            )
        heading = tuple(cell.decode("utf-8", "replace").split("[")[0] for cell in cells[1:])
        if len(heading) < 2 or heading[0] != _POSITION:
            if self._is_begun:
                raise _error(number, line, "is neither a row nor a heading")
            return
        if len(heading) > _MOST_COLUMNS or len(set(heading)) < len(heading) or not all(heading):
            raise _error(number, line, "is a heading with the same column twice, without a name, or with too many")
        if self._heading and heading != self._heading:
            raise _error(number, line, "has other columns than the heading before; split the file")
        self._heading, self._count, self._is_begun = heading, len(heading), True


def _reason(name: str) -> Reason:
    return Reason(name, name != _ISSUES, _AWAITS.get(name))


def _error(number: int, line: bytes, problem: str) -> FormatError:
    text = line[:_CUT].strip().decode("utf-8", "replace")
    quoted = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
    return FormatError(f"line {number:,} {problem}: {quoted!r}", format=FORMAT)

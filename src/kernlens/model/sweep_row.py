"""The measurements of a sweep: a row for each kernel of each compile, and one for each compile without kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kernlens.dataclass import dataclass, in_short
from kernlens.model.columns import Table, Tabular
from kernlens.model.figure import Figure
from kernlens.model.figures import COSTS, FIGURES, OF_FAMILIES, PRESSURES, WAITS
from kernlens.model.spills import SPILLED_BYTES

#: The figures of a row, in its order: those that tables show, then the costs.
MEASURED = (*FIGURES, *COSTS)
#: What tells the rows of a sweep from one another: the names of these fields.
LABELS = ("source", "device", "toolchain", "compiler", "options", "kernel")


def measured_figures(*, has_pressure: bool = False, has_waits: bool = False) -> tuple[Figure, ...]:
    """Return the figures of a sweep's rows: those of ``MEASURED``, with ``has_pressure`` those that take an analysis of each
    kernel's registers, and with ``has_waits`` those of its cycles."""
    return (*MEASURED, *(PRESSURES if has_pressure else ()), *(WAITS if has_waits else ()))


_COMBINATIONS = [
    measured_figures(has_pressure=has_pressure, has_waits=has_waits)
    for has_pressure in (False, True)
    for has_waits in (False, True)
]
#: The number of a row's values tells which figures they are.
_PLACES = {len(each): {figure.key: place for place, figure in enumerate(each)} for each in _COMBINATIONS}


def _places(values: Sequence[int | None]) -> Mapping[str, int]:
    return _PLACES.get(len(values), _PLACES[len(MEASURED)])


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The figures of one kernel in one compile.

    ``source`` is the file as the caller named it, ``toolchain`` the toolchain's name and ``compiler`` its versions,
    ``options`` the build options of the sweep. ``values`` are those of ``measured_figures``; None is not known. ``reason``
    says what could not be measured, and why; a compile that failed has a row without ``kernel``. ``own`` are the figures of
    ``OF_FAMILIES`` that the binary states, by their keys. ``code`` is a digest of the machine code that the kernel runs, ""
    if there is none, and ``warnings`` are the compiler's about the compile. ``loops`` counts those in the code, None if they
    are not known, and ``nest`` is what ``CodeShape`` has of them. ``items`` are the work-items of a launch: 1 where nobody
    states them, None where the options lack what was stated.
    """

    source: str
    device: str
    toolchain: str
    compiler: str
    options: str
    kernel: str | None
    values: tuple[int | None, ...] = ()
    reason: str = ""
    own: tuple[tuple[str, int], ...] = ()
    code: str = ""
    warnings: tuple[str, ...] = ()
    loops: int | None = None
    nest: str = ""
    items: int | None = 1

    def __repr__(self) -> str:
        by = " ".join(filter(None, (f"for {self.device}", f"by {self.toolchain}", self.options)))
        return in_short(f"<SweepRow {self.kernel!r} of {self.source} {by}{f': {self.reason}' if self.reason else ''}>")

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The values that tell it from the other rows of a sweep, in the order of ``LABELS``."""
        return self.source, self.device, self.toolchain, self.compiler, self.options, self.kernel

    @property
    def figures(self) -> dict[str, int | None]:
        """The values by the keys of their figures; all None in a row without a kernel."""
        values = self.values or (None,) * len(MEASURED)
        return dict(zip(_places(values), values, strict=False)) | dict(self.own)

    def value(self, figure: Figure) -> int | None:
        """Return the value of one figure; None if it is not known, or was not measured."""
        place = _places(self.values).get(figure.key) if self.values else None
        return dict(self.own).get(figure.key) if place is None else self.values[place]


def own_columns(rows: Iterable[SweepRow]) -> tuple[Figure, ...]:
    """Return the figures that only the binaries of some of these rows state."""
    own = {key for row in rows for key, _ in row.own}
    return tuple(figure for figure in OF_FAMILIES if figure.key in own)


class Sweep(list[SweepRow], Tabular):
    """The rows of a sweep, in the order of its matrix."""

    @property
    def table(self) -> Table:
        """The rows with their figures by name; those of a compile that failed are None, and ``reason`` says why."""
        most = max((len(row.values) for row in self), default=0)
        figures = next((each for each in _COMBINATIONS if len(each) == most), MEASURED)
        own = own_columns(self)
        keys = (figure.key for figure in (*figures, *own))
        kinds = {**dict.fromkeys(LABELS, str), **dict.fromkeys(keys, int), "reason": str}
        blank = (None,) * len(figures)
        rows = ((*row.labels, *(row.values or blank), *map(row.value, own), row.reason or None) for row in self)
        return Table.of_rows(kinds, rows)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def equal_code(rows: Iterable[SweepRow]) -> list[list[SweepRow]]:
    """Return the groups of rows, each for one kernel, device and toolchain, whose options differ and whose machine code does
    not, in the order of the rows."""
    groups: dict[tuple[str | None, ...], list[SweepRow]] = {}
    for row in rows:
        if row.kernel is not None and row.code:
            groups.setdefault((row.source, row.device, row.toolchain, row.kernel, row.code), []).append(row)
    return [group for group in groups.values() if len({row.options for row in group}) > 1]


def worst_first(rows: Iterable[SweepRow], figure: Figure) -> list[SweepRow]:
    """Return the rows of kernels by ``figure``, then by instructions, the worst first; those with an unknown one are last.
    Unknown spilled bytes of code that spills count as the bytes that its spills write."""
    places = _PLACES[len(MEASURED)]
    instructions, spilled = places["instructions"], places["spill_store_bytes"]
    sign = 1 if figure.more_is_better else -1

    def badness(row: SweepRow) -> tuple[bool, int, int]:
        value = row.value(figure)
        if value is None and figure == SPILLED_BYTES:
            value = row.values[spilled] or None
        return value is None, sign * (value or 0), -(row.values[instructions] or 0)

    return sorted((row for row in rows if row.kernel is not None), key=badness)

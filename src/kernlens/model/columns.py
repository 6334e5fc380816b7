"""Tables: columns of one length, as data frames take them.

pandas, polars and DuckDB take a table through the Arrow PyCapsule interface
(https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html); pyarrow, where it is installed, packs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, TypeVar

from kernlens.dataclass import dataclass, in_short
from kernlens.errors import NearestNames, UnknownColumnError, UnsupportedError

if TYPE_CHECKING:  # Neither comes with types of its own everywhere, nor is needed for anything else.
    import pandas
    import pyarrow

#: A value of a table; None is not known.
Cell = str | int | float | bool | None


_Value = TypeVar("_Value")


class _Named(dict[str, _Value]):
    """A mapping of names of columns that offers the nearest in place of one that is none."""

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownColumnError(name, self)


class Tabular(NearestNames):
    """An answer that has a ``table``, which data frames take."""

    __slots__ = ()

    @property
    def table(self) -> Table:
        """The answer as a table."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """Return the table as pyarrow has it. Raises UnsupportedError where pyarrow is not installed."""
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as pandas has it, with types that hold unknown values. Raises UnsupportedError where pandas is
        not installed."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as a capsule of an Arrow stream. Raises UnsupportedError where pyarrow is not installed."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, eq=False)
class Table(Tabular):
    """A table: ``columns`` by their names, each with a value or None for every row. ``kinds`` has what each holds: str, int,
    float or bool."""

    columns: Mapping[str, Sequence[Cell]]
    kinds: Mapping[str, type]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _Named(self.columns))

    @classmethod
    def of_rows(cls, kinds: Mapping[str, type], rows: Iterable[Sequence[Cell]]) -> Table:
        """Return the table of these rows, whose values are in the order of ``kinds``."""
        columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
        return cls(dict(zip(kinds, columns, strict=True)), kinds)

    def __repr__(self) -> str:
        return in_short(f"<Table of {len(self):,} rows: {', '.join(self.columns)}>")

    def _repr_html_(self) -> str:
        from kernlens.model.notebook import data_table

        return data_table(self.columns, len(self))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Sequence[Cell]:
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Yield each row, its values by the names of their columns."""
        names = tuple(self.columns)
        return (_Named(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True))

    @property
    def table(self) -> Table:
        """The table itself."""
        return self

    @cached_property
    def _packed(self) -> pyarrow.Table:
        try:
            import pyarrow
        except ImportError as error:
            raise UnsupportedError(
                "a table is given to Arrow by pyarrow, which is not installed: pip install pyarrow; to_pandas()"
                " and the table's columns work without it"
            ) from error
        types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
        return pyarrow.table(
            {name: pyarrow.array(_of_unicode(column), types[self.kinds[name]]) for name, column in self.columns.items()}
        )

    def to_arrow(self) -> pyarrow.Table:
        """Return the table as pyarrow has it. Raises UnsupportedError where pyarrow is not installed."""
        return self._packed

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as pandas has it, with types that hold unknown values. Raises UnsupportedError where pandas is
        not installed."""
        try:
            import pandas
        except ImportError as error:
            raise UnsupportedError(
                "to_pandas() needs pandas: pip install pandas; the table's columns are lists"
            ) from error
        types = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}
        return pandas.DataFrame(
            {
                name: pandas.array(_of_unicode(column), dtype=types[self.kinds[name]])
                for name, column in self.columns.items()
            }
        )


def _of_unicode(column: Sequence[Cell]) -> list[Cell]:
    """Return the values of a column without lone surrogates, which stand for bytes of names that are no UTF-8."""
    return [value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in column]

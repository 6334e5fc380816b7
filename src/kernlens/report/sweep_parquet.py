"""A sweep's rows as a Parquet file, written with pyarrow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from kernlens.errors import UnsupportedError
from kernlens.model.columns import Cell, Table
from kernlens.model.sweep_row import MARKS, Sweep, SweepRow
from kernlens.report.style import rendered


def check_parquet() -> None:
    """Raise UnsupportedError, with what to install, if no Parquet can be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("--parquet needs pyarrow: pip install pyarrow, or use --csv") from error


def sweep_parquet(rows: Sequence[SweepRow], marks: Mapping[int, tuple[int, int]] | None = None) -> bytes:
    """Return the content of a Parquet file; ``marks`` are those of ``csv_rows``. Raises UnsupportedError without pyarrow."""
    check_parquet()
    import pyarrow.parquet

    plain = Sweep(rows).table
    marked = [marks.get(id(row), (0, 0)) for row in rows] if marks is not None else []
    numbers = {name: [each[place] for each in marked] for place, name in enumerate(MARKS) if marks is not None}
    kinds = {**plain.kinds, **dict.fromkeys(numbers, int)}
    texts = {name: list(map(_text, plain[name])) for name, kind in plain.kinds.items() if kind is str}
    content = io.BytesIO()
    pyarrow.parquet.write_table(
        Table({**plain.columns, **texts, **numbers}, kinds).to_arrow(), content, compression="zstd"
    )
    return content.getvalue()


def _text(value: Cell) -> Cell:
    """Return a text without control characters, and all Unicode."""
    return rendered(value) if isinstance(value, str) else value

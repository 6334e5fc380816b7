"""A sweep's rows as a Parquet file, written with pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterable

from kernlens.errors import UnsupportedError
from kernlens.model.columns import Cell, Table
from kernlens.model.sweep_row import Sweep, SweepRow
from kernlens.report.style import rendered


def check_parquet() -> None:
    """Raise UnsupportedError, with what to install, if no Parquet can be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("--parquet needs pyarrow: pip install pyarrow, or use --csv") from error


def sweep_parquet(rows: Iterable[SweepRow]) -> bytes:
    """Return the content of a Parquet file. Raises UnsupportedError without pyarrow."""
    check_parquet()
    import pyarrow.parquet

    plain = Sweep(rows).table
    texts = {name: list(map(_text, plain[name])) for name, kind in plain.kinds.items() if kind is str}
    content = io.BytesIO()
    pyarrow.parquet.write_table(Table({**plain.columns, **texts}, plain.kinds).to_arrow(), content, compression="zstd")
    return content.getvalue()


def _text(value: Cell) -> Cell:
    """Return a text without control characters, and all Unicode."""
    return rendered(value) if isinstance(value, str) else value

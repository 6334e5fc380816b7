"""A sweep's rows as a Parquet file, written with pyarrow."""

from __future__ import annotations

import io
from collections.abc import Sequence

from kernlens.errors import UnsupportedError
from kernlens.model.sweep_row import SweepRow
from kernlens.report.sweep_table import LABELS, sweep_columns


def check_parquet() -> None:
    """Raise UnsupportedError, with what to install, if no Parquet can be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("--parquet needs pyarrow: pip install pyarrow, or use --csv") from error


def sweep_parquet(rows: Sequence[SweepRow], *, has_pressure: bool = False) -> bytes:
    """Return the content of a Parquet file. Raises UnsupportedError without pyarrow."""
    check_parquet()
    import pyarrow
    import pyarrow.parquet

    kinds = dict.fromkeys((*LABELS, "reason"), pyarrow.string())
    columns = sweep_columns(rows, has_pressure=has_pressure)
    arrays = {name: pyarrow.array(values, kinds.get(name, pyarrow.int64())) for name, values in columns.items()}
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), content, compression="zstd")
    return content.getvalue()

"""Reader of evaluation data in Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError


def read_columns(path: Path, schema: pa.Schema) -> pa.Table:
    """Read the columns of a schema from a Parquet file, cast to its types."""
    try:
        table = pq.ParquetFile(path).read()
    except OSError as error:
        reason = error.strerror or error
        raise EaseError(f"{path}: cannot be read ({reason}); set the task's `path`.") from error
    except pa.ArrowInvalid as error:
        raise EaseError(f"{path}: not a complete Parquet file ({error}); make it again.") from error
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise EaseError(f"{path}: no column {', '.join(missing)} among {', '.join(table.column_names)}.")
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise EaseError(
            f"{path}: the columns do not fit {dict(zip(schema.names, schema.types, strict=True))} ({error})."
        ) from error

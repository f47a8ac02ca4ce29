"""Parquet tables, wide or long, with the column names of CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.columns import understand
from fitpipe.io.csv_long import read_long
from fitpipe.io.csv_wide import no_coordinates, read_wide
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

if TYPE_CHECKING:
    import pandas as pd

_MAGIC = b"PAR1"
_MOST_CELLS = 1 << 28
# errors of pyarrow are ValueError, KeyError, TypeError, ... as well
_DAMAGE = (
    OSError, ValueError, KeyError, TypeError, IndexError, MemoryError, OverflowError,
    NotImplementedError, RuntimeError, AttributeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrameTable:
    """A data frame as a table with named columns."""

    frame: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [str(name) for name in self.frame.columns]

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return len(self.frame)

    def numbers(self, columns: Sequence[int]) -> tuple[FloatArray, list[Finding]]:
        """Some columns as numbers, in the order given."""
        import pandas as pd

        some = self.frame.iloc[:, list(columns)]
        numbers = some.apply(lambda column: pd.to_numeric(column, errors="coerce"))
        odd = int((numbers.isna() & some.notna()).to_numpy().sum())
        told = [Finding(f"{odd} cells are not numbers", "taken as missing")] if odd else []
        return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan)), told

    def text(self, column: int) -> list[str]:
        """One column as text."""
        values = self.frame.iloc[:, column]
        return ["" if missing else str(v) for v, missing in zip(values, values.isna(), strict=True)]


def _sniff(head: FileHead) -> bool:
    return head.start.startswith(_MAGIC)


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(head.path)
        n_cells = file.metadata.num_rows * file.metadata.num_columns
        if not 0 <= n_cells <= _MOST_CELLS:
            raise InputError(
                f"announces {n_cells:.3g} values, at most {_MOST_CELLS:.3g} are read",
                path=head.path,
            )
        frame = file.read().to_pandas()
    except _DAMAGE as error:
        said = " ".join(str(error).split())[:160]
        raise InputError(
            f"Parquet file is truncated or damaged ({said})",
            path=head.path,
            hint="copy the file again",
        ) from error
    if frame.index.name is not None:
        frame = frame.reset_index()
    table = FrameTable(frame)
    columns = understand(table.names)
    if columns.axes is not None and columns.label is not None:
        return read_long(head, table)
    if not columns.points:
        raise no_coordinates(head, table, columns)
    return read_wide(head, table, columns)


FORMAT = Format("parquet", (".parquet", ".pq"), _sniff, _read)

"""Fits in the formats of other programs, one file per format."""

from __future__ import annotations

from fitpipe.output.export import c3d, npz, tables, trc
from fitpipe.output.export.formats import Content, ExportFormat

FORMATS: dict[str, ExportFormat] = {
    known.name: known for known in (trc.FORMAT, tables.CSV, c3d.FORMAT, tables.PARQUET, npz.FORMAT)
}

__all__ = ["FORMATS", "Content", "ExportFormat"]

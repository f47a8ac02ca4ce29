"""Fits in the formats of other programs, one file per format."""

from __future__ import annotations

from fitpipe.output.export import bvh, c3d, glb, npz, storage, tables, trc
from fitpipe.output.export.formats import Content, ExportFormat

FORMATS: dict[str, ExportFormat] = {
    known.name: known
    for known in (
        bvh.FORMAT,
        storage.MOT,
        storage.STO,
        trc.FORMAT,
        tables.CSV,
        c3d.FORMAT,
        tables.PARQUET,
        npz.FORMAT,
        glb.FORMAT,
    )
}

__all__ = ["FORMATS", "Content", "ExportFormat"]

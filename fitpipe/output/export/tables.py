"""Long tables, one row per frame and joint: CSV and Parquet."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np

import fitpipe
from fitpipe.errors import require_extra
from fitpipe.output.export.formats import Content, ExportFormat, Written, absences, plain_names
from fitpipe.records import Fit, FrameStatus

if TYPE_CHECKING:
    import pandas as pd

_KEEPS = (
    "positions in metres, bit for bit, joint names, time of every frame, statuses of joints and "
    "frames, residual of each source"
)
_LOSES = "weights, doubts, noise, objective and multipliers"


def _table(fit: Fit) -> pd.DataFrame:
    import pandas as pd

    table = fit.to_dataframe()
    names = pd.Index([status.name.lower() for status in FrameStatus])
    of_frame = np.repeat(fit.frame_status, fit.skeleton.n_joints)
    frame_status = pd.Categorical.from_codes(of_frame, categories=names)
    table.insert(list(table.columns).index("status") + 1, "frame_status", pd.Series(frame_status))
    return table


def _write_csv(content: Content) -> Written:
    fit = content.fit
    table = _table(fit)
    names, findings = plain_names(fit.skeleton.joints)
    if findings:
        table["joint"] = table["joint"].cat.rename_categories(names)
    sources, more = plain_names(fit.sources, what="source")
    columns = {
        f"residual_m:{old}": f"residual_m:{new}"
        for old, new in zip(fit.sources, sources, strict=True)
    }
    text = table.rename(columns=columns).to_csv(index=False, lineterminator="\n")
    return text.encode(), [*findings, *more, *absences(fit, "left blank")]


def _write_parquet(content: Content) -> Written:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise require_extra("Export to Parquet", "pyarrow", "parquet") from error
    fit = content.fit
    table = pa.Table.from_pandas(_table(fit), preserve_index=False)
    skeleton = fit.skeleton
    about = {
        "schema": "fitpipe.table/1",
        "creator": f"fitpipe {fitpipe.__version__}",
        "take": fit.name,
        "units": "metres and seconds; NaN: absent",
        "axes": _axes(content),
        "joints": list(skeleton.joints),
        "parents": list(skeleton.parents),
        "bones": list(skeleton.bone_names),
        "bone_length_m": [None if np.isnan(v) else float(v) for v in fit.bone_length],
        "sources": list(fit.sources),
    }
    metadata = {**(table.schema.metadata or {}), b"fitpipe": json.dumps(about).encode()}
    image = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(metadata), image)
    return image.getvalue(), absences(fit, "NaN")


def _axes(content: Content) -> str:
    frame = f"those of the source {content.fit.sources[0]!r}"
    return f"{frame}, turned so that {content.up} is up" if content.up else frame


CSV = ExportFormat(
    name="csv",
    suffix=".csv",
    keeps=f"{_KEEPS}; absent samples are blank",
    loses=f"{_LOSES}, bones and their lengths, calibration, log, provenance",
    units=("m",),
    write=_write_csv,
)
PARQUET = ExportFormat(
    name="parquet",
    suffix=".parquet",
    keeps=f"{_KEEPS}; bones and their lengths in the metadata `fitpipe`; absent samples are NaN",
    loses=f"{_LOSES}, calibration, log, provenance",
    units=("m",),
    write=_write_parquet,
)

"""NPZ: every array of the fit's own file, for NumPy; nothing in it needs pickle."""

from __future__ import annotations

import io
import json

import numpy as np

from fitpipe.output.export.formats import Content, ExportFormat, Written, absences
from fitpipe.output.schema import schema_variables


def _write(content: Content) -> Written:
    fit = content.fit
    arrays = {v.name: v.values for v in schema_variables(fit)}
    arrays |= {
        f"provenance/{key}": np.array(value if isinstance(value, str) else json.dumps(value))
        for key, value in fit.provenance.items()
    }
    arrays["units"] = np.array("m")
    plain = {
        name: values.astype(str) if values.dtype == object else values
        for name, values in arrays.items()
    }
    image = io.BytesIO()
    np.savez_compressed(image, allow_pickle=False, **plain)
    return image.getvalue(), absences(fit, "NaN")


FORMAT = ExportFormat(
    name="npz",
    suffix=".npz",
    keeps="every array of the fit's file under the same name, bit for bit, text as strings; "
    "absent samples are NaN",
    loses="the units and descriptions beside the arrays (the page of the file format has them), "
    "the checksum",
    units=("m",),
    write=_write,
)

"""Writes a fit as one HDF5 file that is also valid netCDF-4."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

import fitpipe
from fitpipe.errors import OutputError
from fitpipe.output.atomic import write_atomically
from fitpipe.output.checksum import checksum, seal
from fitpipe.output.entry import Variable, group_of
from fitpipe.output.schema import CONVENTIONS, GROUPS, OPTIONAL_GROUPS, SCHEMA, schema_variables
from fitpipe.records import Finding, Fit

_PLAIN_BELOW_BYTES: Final = 16 * 1024  # a chunk index weighs more than it saves on less
_CHUNK_BYTES: Final = 512 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9_][\w .+@-]*(?<! )")  # names netCDF allows, the common part
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def save_fit(fit: Fit, path: str | Path, *, compression: int = 4) -> Path:
    """Write a fit to one file, schema ``fitpipe.fit/1`` (see fitpipe.output.schema).

    The same fit gives the same bytes. A reader sees the old file or the new one, never half of
    one. Text that UTF-8 or HDF5 cannot hold (a file name that is not Unicode, a null character)
    is written with escapes such as ``\\udce9``, and the file's log says so.

    Parameters
    ----------
    fit : Fit
        ``provenance`` may hold whatever JSON can: text, numbers, lists, mappings.
    path : path-like
        Missing folders are made.
    compression : int
        gzip level from 0 (none) to 9.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    OutputError
        The file cannot be written (the old one stays as it was), or the fit holds what the
        format cannot; lists every such fault at once.
    """
    path = Path(path)
    image = _file_image(_contents(fit, compression, path), fit, compression)
    write_atomically(path, image + seal(image))
    return path


def _contents(fit: Fit, compression: int, path: Path) -> tuple[Variable, ...]:
    """Every variable of the file; OutputError with all that cannot be stored."""
    faults = []
    if compression not in range(10):
        faults.append(f"compression is {compression}, expected 0 to 9")
    calibrated = tuple(transform.source for transform in fit.calibration.transforms)
    if calibrated != fit.sources:
        faults.append(f"the calibration is for sources {calibrated}, the fit for {fit.sources}")
    provenance = []
    for key, value in fit.provenance.items():
        if not _NAME.fullmatch(str(key)):
            faults.append(f"provenance {key!r} is no name for a variable: use letters, digits, _")
            continue
        try:
            text, kind = _as_text(value)
        except (TypeError, ValueError) as error:
            faults.append(f"provenance {key!r} cannot be written as JSON: {error}")
            continue
        attributes = {"units": "1", "long_name": key, "format": kind}
        values = np.array(text, dtype=object)
        provenance.append(Variable(f"provenance/{key}", (), values, attributes))
    if faults:
        raise OutputError("the fit cannot be written", path=path, faults=faults)

    escaped = [v.name for v in schema_variables(fit) if _is_text(v) and _unstorable(v)]
    if _UNSTORABLE.search(fit.name):
        escaped.append("the name of the take")
    if escaped:
        finding = Finding(
            f"text that is not Unicode in {', '.join(escaped)}", r"written as escapes (\udce9)"
        )
        fit = replace(fit, log=(*fit.log, finding))
    return (*map(_storable, schema_variables(fit)), *provenance)


def _as_text(value: Any) -> tuple[str, str]:
    """Text as it is, anything else as JSON; and which of the two it is."""
    if isinstance(value, str) and not _UNSTORABLE.search(value):
        return value, "text"
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    if _UNSTORABLE.search(text):
        text = json.dumps(value, default=_plain)
    return text, "json"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _is_text(variable: Variable) -> bool:
    return variable.values.dtype == object


def _unstorable(variable: Variable) -> bool:
    return any(_UNSTORABLE.search(text) for text in variable.values.ravel())


def _escaped(text: str) -> str:
    return _UNSTORABLE.sub(lambda hit: ascii(hit[0])[1:-1], text)


def _storable(variable: Variable) -> Variable:
    if not _is_text(variable) or not _unstorable(variable):
        return variable
    values = np.empty(variable.values.shape, dtype=object)
    values.ravel()[:] = [_escaped(text) for text in variable.values.ravel()]
    return replace(variable, values=values)


def _file_image(variables: Sequence[Variable], fit: Fit, compression: int) -> bytes:
    """The bytes of the file.

    HDF5 works in memory and plain Python writes the result: so a full disk or a lost share is an
    ordinary OSError with its reason, and HDF5's locks never meet a network file system.
    """
    # 1.8 is what every netCDF-4 library reads, and the first whose headers carry checksums
    with h5py.File(
        "fit",
        "w",
        driver="core",
        backing_store=False,
        libver=("v108", "v108"),
        track_order=True,  # netCDF-4 asks for it, and readers list variables in our order
    ) as file:
        root = _root_attributes(fit)
        root["checksum"] = checksum(variables, root)
        for name, value in root.items():
            file.attrs[name] = value
        scales: dict[str, h5py.Dataset] = {}
        for group in GROUPS:
            own = [variable for variable in variables if group_of(variable.name) == group]
            if group in OPTIONAL_GROUPS and not own:
                continue
            if group:
                file.create_group(group, track_order=True)
            for variable in own:
                _add(file, variable, scales, compression)
        file.flush()
        return bytes(file.id.get_file_image())


def _root_attributes(fit: Fit) -> dict[str, str]:
    name = _escaped(fit.name)
    skeleton = _escaped(fit.skeleton.name)
    return {
        "schema": SCHEMA,
        "title": f"Rigid skeleton {skeleton} fitted to the take {name}",
        "take": name,
        "Conventions": CONVENTIONS,
        "creator": f"fitpipe {fitpipe.__version__}",
    }


def _add(
    file: h5py.File, variable: Variable, scales: dict[str, h5py.Dataset], compression: int
) -> None:
    """Write one variable; a dimension's own variable becomes its scale in ``scales``."""
    values = variable.values
    options: dict[str, Any] = {}
    if _is_text(variable):
        options["dtype"] = h5py.string_dtype("utf-8")
    elif compression and values.nbytes >= _PLAIN_BELOW_BYTES:
        options |= {
            "chunks": _chunks(values.shape, values.itemsize),
            "compression": compression,
            "shuffle": True,
        }
    dataset = file.create_dataset(
        variable.name, data=values, track_order=True, track_times=False, **options
    )
    name = variable.name.rpartition("/")[2]
    if variable.dims == (name,):
        dataset.make_scale(name)
        dataset.attrs["_Netcdf4Dimid"] = np.int32(len(scales))
        scales[name] = dataset
    else:
        for axis, dim in enumerate(variable.dims):
            dataset.dims[axis].attach_scale(scales[dim])
    for attribute, value in variable.attributes.items():
        dataset.attrs[attribute] = value


def _chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Whole rows, as many as make up a chunk, shared evenly among the chunks."""
    n_rows, *row = shape
    rows_fit = max(1, _CHUNK_BYTES // (int(np.prod(row)) * itemsize))
    n_chunks = -(-n_rows // rows_fit)
    return (-(-n_rows // n_chunks), *row)

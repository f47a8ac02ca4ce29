"""Reads a fit back from its file."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

from fitpipe.errors import OutputError, RecordError, nearest_names
from fitpipe.output.angle_entries import read_angles
from fitpipe.output.checksum import breaks_seal, checksum, sealed_sha256
from fitpipe.output.entry import Variable
from fitpipe.output.schema import ENTRIES, SCHEMA, SCHEMA_NAME, SCHEMA_VERSION
from fitpipe.records import BoneLengths, Calibration, Finding, Fit, Skeleton, SourceTransform

# what h5py raises on a file whose bytes do not fit together
_DAMAGE: Final = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)

_Values = Mapping[str, Any]


def load_fit(path: str | Path) -> Fit:
    """Read a fit from a file of schema ``fitpipe.fit/1``.

    Raises
    ------
    OutputError
        There is no such file, it is no HDF5 or no fit, it was written by a newer fitpipe, or its
        contents do not match its checksum.
    """
    path = Path(path)
    with _open(path) as file:
        _check_schema(file, path)
        try:
            root = dict(file.attrs)
            variables = _read_variables(file)
        except _DAMAGE as error:
            raise _damaged(path, str(error)) from error
    try:
        found = checksum(variables, root)
    except (TypeError, AttributeError, UnicodeError) as error:
        raise _damaged(path, str(error)) from error
    if found != root.get("checksum"):
        raise _damaged(path, "its contents do not match its checksum")
    try:
        return _fit(str(root["take"]), variables)
    except (KeyError, ValueError, RecordError) as error:
        raise OutputError(f"does not hold a whole fit: {error}", path=path) from error


def load_provenance(path: str | Path) -> dict[str, Any]:
    """What a file says of its own origin, without reading the fit.

    Raises
    ------
    OutputError
        As `load_fit`, which it stands in for where the file has lost its seal.
    """
    path = Path(path)
    try:
        is_sealed = sealed_sha256(path) is not None
    except OSError:
        is_sealed = False
    if not is_sealed:
        return dict(load_fit(path).provenance)
    with _open(path, is_checked=True) as file:
        _check_schema(file, path)
        try:
            return _provenance(_read_group(file, "provenance"))
        except _DAMAGE as error:
            raise _damaged(path, str(error)) from error


def _open(path: Path, *, is_checked: bool = False) -> h5py.File:
    try:
        if path.is_dir():
            raise OutputError("is a folder, expected the file of one fit", path=path)
        if not is_checked and breaks_seal(path):
            raise _damaged(path, "its bytes are not those that were written")
    except FileNotFoundError as error:
        siblings = sorted(p.name for p in path.parent.glob(f"*{path.suffix}") if p.is_file())
        near = nearest_names(path.name, siblings, n=1)
        hint = f"did you mean {near[0]!r}?" if near else None
        raise OutputError("no such file", path=path, hint=hint) from error
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error
    try:
        return h5py.File(path, "r", locking="best-effort")
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):  # HDF5's lock; the file itself was readable
            raise OutputError(
                "cannot be read: another program is writing to it",
                path=path,
                hint="close that program and try again",
            ) from error
        raise OutputError(
            "cannot be read: it is truncated or damaged, or no HDF5 file",
            path=path,
            hint="expected a file written by fitpipe fit or Fit.save",
        ) from error


def _check_schema(file: h5py.File, path: Path) -> None:
    try:
        schema = file.attrs.get("schema")
    except _DAMAGE as error:
        raise _damaged(path, str(error)) from error
    name, _, version = str(schema).partition("/")
    if name != SCHEMA_NAME or not version.isdecimal():
        came = "has no schema attribute" if schema is None else f"has schema {schema!r}"
        raise OutputError(
            f"is no fit: expected HDF5 with schema {SCHEMA!r}, this file {came}", path=path
        )
    if int(version) != SCHEMA_VERSION:
        raise OutputError(
            f"has schema {schema!r}, this fitpipe reads {SCHEMA!r}",
            path=path,
            hint="update fitpipe to read it",
        )


def _damaged(path: Path, reason: str) -> OutputError:
    return OutputError(
        f"is damaged: {reason}", path=path, hint="restore it from a copy, or make the fit again"
    )


def _read_variables(file: h5py.File) -> tuple[Variable, ...]:
    """What the file holds of the schema, and all of its provenance."""
    names = [entry.name for entry in ENTRIES if entry.name in file]
    return (*(_read_variable(file[name], name) for name in names), *_read_group(file, "provenance"))


def _read_group(file: h5py.File, group: str) -> tuple[Variable, ...]:
    return tuple(_read_variable(file[group][key], f"{group}/{key}") for key in file[group])


def _provenance(variables: Iterable[Variable]) -> dict[str, Any]:
    """The entries of provenance among the variables, by their names."""
    return {
        v.name.removeprefix("provenance/"): (
            json.loads(v.values.item()) if v.attributes.get("format") == "json" else v.values.item()
        )
        for v in variables
        if v.name.startswith("provenance/")
    }


def _read_variable(dataset: h5py.Dataset, name: str) -> Variable:
    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    values = dataset.asstr()[()] if is_text else dataset[()]
    attributes = {key: dataset.attrs[key] for key in ("units", "format") if key in dataset.attrs}
    dtype = object if is_text else dataset.dtype
    return Variable(name, (), np.asarray(values, dtype), attributes)


def _fit(name: str, variables: tuple[Variable, ...]) -> Fit:
    # a scalar as itself, not as an array without dimensions
    values: dict[str, Any] = {
        v.name: v.values if v.values.ndim else v.values.item() for v in variables
    }
    skeleton = _skeleton(values)
    return Fit(
        name=name,
        skeleton=skeleton,
        sources=tuple(values["source"]),
        time_s=values["time"],
        position=values["position"],
        status=values["status"],
        frame_status=values["frame_status"],
        objective=values["objective"],
        objective_start=values["objective_start"],
        iterations=values["iterations"],
        worst_bone_error=values["worst_bone_error"],
        multiplier=values["multiplier"],
        weight=values["weight"],
        doubt=values.get("doubt", np.zeros(values["weight"].shape, np.uint8)),
        noise=values.get("noise", np.full(values["weight"].shape[1:], np.nan)),
        observation=values.get("observation"),
        residual=values["residual"],
        disagreement=values["disagreement"],
        calibration=_calibration(values),
        provenance=_provenance(variables),
        log=_log(values),
        angles=read_angles(values, skeleton),
    )


def _skeleton(values: _Values) -> Skeleton:
    return Skeleton(
        name=values["skeleton/name"],
        joints=tuple(values["keypoint"]),
        parents=tuple(values["parent"]),
        bone_length_m=values.get("skeleton/bone_length"),
        rest_direction=values["skeleton/rest_direction"],
        mirror=json.loads(values["skeleton/mirror"]),
        rigid_pairs=json.loads(values["skeleton/rigid_pairs"]),
    )


def _calibration(values: _Values) -> Calibration:
    transforms = tuple(
        SourceTransform(
            source=source,
            R_ref_source=values["calibration/R_ref_source"][s],
            t_ref_m=values["calibration/t_ref"][s],
            rms_m=float(values["calibration/rms"][s]),
            n_points=int(values["calibration/n_points"][s]),
            scale=float(values["calibration/scale"][s]),
            **_added(values, s),
        )
        for s, source in enumerate(values["source"])
    )
    lengths = BoneLengths(
        length_m=values["bone_length"],
        low_m=values["bone_length_low"],
        high_m=values["bone_length_high"],
        n_samples=values["bone_length_samples"],
        origin=values["calibration/length_origin"],
    )
    return Calibration(transforms, lengths)


def _added(values: _Values, s: int) -> dict[str, float]:
    """Fields of a transform that files of the first fitpipe lack; then they keep their defaults."""
    fields = {
        "inlier_share": "calibration/inlier_share",
        "time_offset_s": "calibration/time_offset",
        "time_offset_sd_s": "calibration/time_offset_sd",
        "clock_drift": "calibration/clock_drift",
    }
    return {field: float(values[name][s]) for field, name in fields.items() if name in values}


def _log(values: _Values) -> tuple[Finding, ...]:
    columns = (values[f"log/{name}"] for name in ("what", "done", "severity", "otherwise"))
    return tuple(Finding(*row) for row in zip(*columns, strict=True))

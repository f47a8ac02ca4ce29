"""Transforms that are known beforehand, from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.config.toml import read_toml
from fitpipe.errors import CalibrationError, suggest
from fitpipe.records import Finding, SourceTransform

_EXACT: Final = 1e-6
_ROUNDED: Final = 0.02  # two digits behind the point round a rotation by at most this


def read_transforms(
    path: Path, sources: Sequence[str]
) -> tuple[tuple[SourceTransform, ...], list[Finding]]:
    """Transforms from a TOML file with a table per source: ``R_ref_source`` and ``t_ref_m``.

    The first source is the reference; its table may be missing. Other keys and sources are not
    looked at, so that one file serves for many takes.

    Parameters
    ----------
    path : Path
    sources : sequence of str
        Names in order, the reference first.

    Returns
    -------
    transforms : tuple of SourceTransform
        One per source.
    findings : list of Finding
        Rotations that were written with few digits and taken as the nearest rotation.

    Raises
    ------
    ConfigError
        The file cannot be read as TOML.
    CalibrationError
        Lists every source without a table and every table that is no rigid transform.
    """
    tables = read_toml(path)
    transforms, findings, faults = [], [], []
    for number, source in enumerate(sources):
        table = tables.get(source)
        if table is None and number == 0:
            transforms.append(SourceTransform.identity(source))
            continue
        if not isinstance(table, Mapping):
            faults.append(f"no table [{source}]; {suggest(source, tables)}")
            continue
        R = _numbers(table, "R_ref_source", (3, 3), source, faults)
        t = _numbers(table, "t_ref_m", (3,), source, faults)
        if R is None or t is None:
            continue
        U, scale, Vt = np.linalg.svd(R)
        nearest = U @ Vt
        off = float(np.abs(R - nearest).max())
        if np.linalg.det(R) <= 0 or off > _ROUNDED:
            faults.append(
                f"[{source}] R_ref_source is no rotation: determinant {np.linalg.det(R):.4g}, "
                f"stretches by {scale.min():.4g} to {scale.max():.4g}"
            )
            continue
        if number == 0 and max(np.abs(nearest - np.eye(3)).max(), np.abs(t).max()) > _ROUNDED:
            faults.append(f"[{source}] is the reference, whose transform is the identity")
            continue
        if off > _EXACT:
            findings.append(
                Finding(
                    f"source {source!r}: the rotation given is off by {off:.1e}",
                    "took the nearest rotation",
                    "note",
                )
            )
        transforms.append(SourceTransform(source, R if off <= _EXACT else nearest, t))
    if faults:
        raise CalibrationError(
            "does not hold the transforms of this take",
            path=path,
            faults=faults,
            hint="write a table for each source: [NAME], R_ref_source = [[..], [..], [..]] and "
            "t_ref_m = [.., .., ..], with reference = R @ source + t in metres",
        )
    return tuple(transforms), findings


def _numbers(
    table: Mapping[str, Any], key: str, shape: tuple[int, ...], source: str, faults: list[str]
) -> FloatArray | None:
    """The key's numbers; None, and a fault, where they are not of that shape."""
    try:
        values = np.array(table.get(key), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape == shape and np.isfinite(values).all():
        return values
    came = "nothing" if key not in table else repr(table[key])
    faults.append(f"[{source}] {key}: expected {' x '.join(map(str, shape))} numbers, got {came}")
    return None

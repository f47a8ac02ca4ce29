"""What a file claims about its unit and its up axis, held against the body in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fitpipe.arrays import FloatArray, all_of_xyz, any_of_xyz
from fitpipe.errors import InputError
from fitpipe.io.axes import body_height, up_from_labels, up_from_motion
from fitpipe.io.raw import RawTake, ReadOptions
from fitpipe.records import Finding
from fitpipe.units import METRES_PER, parse_axis, parse_length_unit, parse_unit_option

_PERSON_M = (0.5, 2.3)
# head- or shoulder-like to foot-like points of a person: a child that crouches, a tall jumper
_HEIGHT_M = (0.2, 2.6)
_TOO_WIDE_M = 20.0
_TOO_NARROW_M = 0.005
_FAR_M = 100.0
_FEW_POINTS = 5  # fewer points may well be close together
_UNITS_HINT = f"say which with units= (--units): {', '.join(METRES_PER)}, or metres per unit"


def length_unit(
    raw: RawTake,
    labels: Sequence[str],
    position: FloatArray,
    path: Path,
    options: ReadOptions,
    findings: list[Finding],
) -> str:
    """Canonical unit of the numbers: given, else claimed, else assumed; checked on the body.

    Parameters
    ----------
    raw : RawTake
    labels : sequence of str
    position : ndarray, shape (time, point, 3)
        In the file's unit; NaN where missing.
    path : Path
    options : ReadOptions
    findings : list of Finding
        Gets what was assumed or overridden.

    Raises
    ------
    InputError
        No unit is claimed or known, or the body would be no person's in the one claimed.
    """
    claimed = None if raw.unit is None else parse_length_unit(raw.unit)
    if options.units is not None:
        given = parse_unit_option(options.units)
        if given is None:
            raise InputError(
                f"units {options.units!r} is not a length unit", path=path, hint=_UNITS_HINT
            )
        if claimed is not None and claimed != given:
            findings.append(
                Finding(f"the file claims {claimed}, units={given} was given", f"read as {given}")
            )
        return given
    height = body_height(tuple(labels), position)
    if claimed is not None:
        _refuse_giants(height, claimed, f"the file claims {claimed}", path)
        return claimed
    if raw.unit is not None and raw.unit.strip():
        raise InputError(f"the unit {raw.unit!r} is not known", path=path, hint=_UNITS_HINT)
    if raw.assumed_unit is None:
        hint = f"{_UNITS_HINT}{_probably(height)}"
        raise InputError("the file claims no length unit", path=path, hint=hint)
    told = f"the file claims no length unit, and {raw.assumed_unit} was assumed"
    _refuse_giants(height, raw.assumed_unit, told, path)
    spread = _spread(position) * METRES_PER[raw.assumed_unit]
    if spread > _TOO_WIDE_M:
        raise InputError(
            f"the file claims no length unit, and as {raw.assumed_unit} the points would lie "
            f"{spread:.0f} m apart",
            path=path,
            hint=f"{_UNITS_HINT} (probably mm)",
        )
    findings.append(
        Finding(
            "the file claims no length unit",
            f"read as {raw.assumed_unit}, which is the size of a body"
            + (f" ({height * METRES_PER[raw.assumed_unit]:.2f} m)" if height == height else ""),
            "note",
            "units= or --units overrides",
        )
    )
    return raw.assumed_unit


def unit_by_height(labels: Sequence[str], position: FloatArray, *, smallest_m: float) -> str | None:
    """The one unit of length in which the body is a person's size; None if none or several are.

    Parameters
    ----------
    labels : sequence of str
    position : ndarray, shape (time, point, 3)
        In the unit that is looked for.
    smallest_m : float, metres
        Smaller people are not thought of.
    """
    fits = _fitting(body_height(tuple(labels), position), smallest_m)
    return fits[0] if len(fits) == 1 else None


def _fitting(height: float, low: float = _PERSON_M[0]) -> list[str]:
    high = _PERSON_M[1]
    # nobody records in decimetres, and a foot is no unit of motion capture either
    usual = {unit: size for unit, size in METRES_PER.items() if unit not in ("dm", "ft")}
    return [unit for unit, metres in usual.items() if low <= height * metres <= high]


def _probably(height: float) -> str:
    sizes = [f"{height * METRES_PER[unit]:.2f} m in {unit}" for unit in _fitting(height)]
    return f" (foot to head would be {' or '.join(sizes)})" if sizes else ""


def _refuse_giants(height: float, unit: str, claim: str, path: Path) -> None:
    """Stop where the claim makes a body no person has."""
    size = height * METRES_PER[unit]
    if not np.isfinite(height) or _HEIGHT_M[0] <= size <= _HEIGHT_M[1]:
        return
    fits = [other for other in _fitting(height) if other != unit]
    if not fits:
        return  # no other unit would do: told by check_size
    instead = fits[0]
    raise InputError(
        f"{claim}, in which the body is {size:.3g} m from foot to head, expected "
        f"{_PERSON_M[0]} to {_PERSON_M[1]} m",
        path=path,
        hint=f"give units={instead!r} (--units {instead}), or units={unit!r} if it is right",
    )


def check_size(
    labels: Sequence[str], position_m: FloatArray, unit: str, findings: list[Finding]
) -> None:
    """Tell if a body of that size cannot be.

    Parameters
    ----------
    labels : sequence of str
    position_m : ndarray, shape (time, point, 3)
    unit : str
    findings : list of Finding
    """
    spread = _spread(position_m)
    narrow = position_m.shape[1] >= _FEW_POINTS and spread < _TOO_NARROW_M
    height = body_height(tuple(labels), position_m)
    what = ""
    if spread > _TOO_WIDE_M or narrow:
        what = f"read in {unit}, the points lie {spread:.3g} m from their middle"
    elif np.isfinite(height) and not _HEIGHT_M[0] <= height <= _HEIGHT_M[1]:
        what = f"read in {unit}, the body is {height:.3g} m from foot to head"
    if what:
        otherwise = "give the right unit with units= or --units"
        findings.append(Finding(what, "kept", "warning", otherwise))
        return
    with np.errstate(invalid="ignore"):
        far = any_of_xyz(np.abs(position_m) > _FAR_M)
    if far.any():
        farthest = float(np.nanmax(np.abs(position_m)))
        findings.append(
            Finding(
                f"{far.sum()} samples lie more than {_FAR_M:g} m from the origin, the farthest "
                f"{farthest:.3g} m",
                "kept",
                "warning",
                "if the unit is wrong, give it with units= or --units",
            )
        )


def _spread(position: FloatArray) -> float:
    """Median distance of the points of a frame from the middle of that frame."""
    seen = all_of_xyz(np.isfinite(position))
    rows = np.flatnonzero(seen.any(axis=1))
    rows = rows[:: max(1, len(rows) // 100)]  # a hundred frames tell the size of a body
    some = np.where(seen[rows, :, None], position[rows], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # damaged numbers may overflow
        middle = np.nanmedian(some, axis=1, keepdims=True)
        return float(np.nanmedian(np.linalg.norm(some - middle, axis=-1)))


def claimed_axis(claim: str) -> str:
    """Canonical form of an up axis that a file claims; empty if it claims none that is known."""
    return (parse_axis(claim) or "") if claim else ""


def up_axis(
    raw: RawTake,
    labels: Sequence[str],
    position: FloatArray,
    path: Path,
    options: ReadOptions,
    findings: list[Finding],
) -> str:
    """The up axis to go by: given, else told by head and feet, else claimed.

    Parameters
    ----------
    raw : RawTake
    labels : sequence of str
    position : ndarray, shape (time, point, 3)
        In any unit.
    path : Path
    options : ReadOptions
    findings : list of Finding
        Gets contradictions that do not stop the reading.

    Raises
    ------
    InputError
        The file claims an axis, and both the body and its path over the floor say another.
    """
    anatomy = up_from_labels(tuple(labels), position)
    claimed = claimed_axis(raw.up or raw.screen_up)
    if options.up is not None:
        given = parse_axis(options.up)
        if given is None:
            raise InputError(
                f"up axis {options.up!r} is not known",
                path=path,
                hint="give up= (--up) as one of +x, -x, +y, -y, +z, -z",
            )
        if anatomy and anatomy != given:
            findings.append(
                Finding(f"up={given} was given, head and feet say {anatomy}", f"turned by {given}")
            )
        return given
    if not anatomy or not claimed or anatomy == claimed:
        return anatomy or claimed
    level = up_from_motion(position)
    if raw.up and level and level == anatomy[1]:
        raise InputError(
            f"the file claims {claimed} as up, but head and feet say {anatomy}, and the body moves "
            f"least along {level}",
            path=path,
            hint=f"give up={anatomy!r} (--up {anatomy}), or up={claimed!r} if it is right",
        )
    findings.append(
        Finding(
            f"the file claims {claimed} as up, head and feet say {anatomy}",
            f"taken as {anatomy}",
            "warning" if raw.up else "note",
            "up= or --up overrides",
        )
    )
    return anatomy

"""Which way is up in a take, told from its labels or its extent."""

from __future__ import annotations

import re
import warnings

import numpy as np

from fitpipe.arrays import FloatArray, any_of_xyz
from fitpipe.records import Take

_HIGH = re.compile(
    r"head|fhd|bhd|hdf|hdb|nose|(^|[lr_.])(eye|ear)$|temp|^hv$|^occ$|cheec"
    r"|neck|^[ct]v?7$|clav|shoulder|sho$|acro|stern|^strn$|^ij$|^px$",
    re.IGNORECASE,
)
_LOW = re.compile(
    r"foot|toe|heel|hee$|ank|fm[15]$|mt\d?$|mt[12356]|[1256]meta|calc|cal$|fcc$|fal$|tam$|ft\d$",
    re.IGNORECASE,
)
_PELVIS = re.compile(r"hip|pelv|asi|psi|sacr|[lr]fep|^v\.?sac", re.IGNORECASE)
_CLEAR = 0.7  # cosine to the axis above which a direction counts as along it
_FAR_WALK = 0.5  # of the body's size: who moves less may as well rise as walk
_LEVEL = 0.5  # of the smaller horizontal range: the rise and fall of a walk is well below
_ENOUGH_FRAMES = 100  # tell the way up and the size of a body
_FARTHEST = 1e9  # in any unit
_TALLER = 1.3  # a standing body is this much longer than wide


def infer_up(take: Take) -> str:
    """Signed axis that points up: from feet to head by their labels, else the largest extent.

    Parameters
    ----------
    take : Take

    Returns
    -------
    str
        ``"+y"`` and the like; empty if neither labels nor extent tell. The extent has no sign:
        what it tells is given as positive.
    """
    return up_from_labels(take.labels, take.position_m) or _up_from_extent(take.position_m)


def up_from_labels(labels: tuple[str, ...], position: FloatArray) -> str:
    """Signed axis from foot-like to head-like points; empty if the labels name none.

    Parameters
    ----------
    labels : tuple of str
    position : ndarray, shape (time, point, 3)
        NaN where missing; any unit.
    """
    rise = _rise(labels, position)
    if rise is None:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # frames without such a point give NaN
        direction = np.nanmedian(rise, axis=0)
    length = float(np.linalg.norm(direction))
    if not np.isfinite(length) or length == 0:
        return ""
    axis = int(np.argmax(np.abs(direction)))
    if abs(direction[axis]) < _CLEAR * length:
        return ""
    return ("+" if direction[axis] > 0 else "-") + "xyz"[axis]


def body_height(labels: tuple[str, ...], position: FloatArray) -> float:
    """Distance from foot-like to head-like points in the frames where it is largest.

    Parameters
    ----------
    labels : tuple of str
    position : ndarray, shape (time, point, 3)
        NaN where missing; any unit.

    Returns
    -------
    float
        95th percentile over the frames, in the unit of ``position``; NaN if the labels name no
        such points.
    """
    rise = _rise(labels, position)
    if rise is None:
        return float("nan")
    length = np.linalg.norm(rise, axis=1)
    length = length[np.isfinite(length)]
    return float(np.percentile(length, 95)) if length.size else float("nan")


def up_from_motion(position: FloatArray) -> str:
    """The axis (``"y"``) along which the body as a whole moves least; empty if it stays.

    Parameters
    ----------
    position : ndarray, shape (time, point, 3)
        NaN where missing; any unit.
    """
    whole = ~any_of_xyz(np.isnan(position))
    seen = np.where(whole[..., None], position, np.nan)[np.asarray(whole.any(axis=1))]
    if len(seen) < 2:
        return ""
    middle = np.nanmedian(seen, axis=1)
    path = np.percentile(middle, 95, axis=0) - np.percentile(middle, 5, axis=0)
    body = float(np.nanmedian(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0).max())
    least, second, _ = np.argsort(path)
    if path.max() < _FAR_WALK * body or path[least] > _LEVEL * path[second]:
        return ""
    return "xyz"[least]


def _rise(labels: tuple[str, ...], position: FloatArray) -> FloatArray | None:
    """From foot-like to head-like points in every frame, (time, 3); None if there are none."""
    names = [re.split(r"[:]", label)[-1].strip() for label in labels]
    low = [i for i, name in enumerate(names) if _LOW.search(name)]
    high = [i for i, name in enumerate(names) if _HIGH.search(name) and i not in low]
    if not high:
        high = [i for i, name in enumerate(names) if _PELVIS.search(name) and i not in low]
    if not high or not low:
        return None
    some = position[:: max(1, len(position) // _ENOUGH_FRAMES)]
    above, below = (_sane(some[:, columns]) for columns in (high, low))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # frames without such a point give NaN
        return np.asarray(np.nanmedian(above, axis=1) - np.nanmedian(below, axis=1))


def _sane(position: FloatArray) -> FloatArray:
    """Positions without numbers whose squares would overflow."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(position) < _FARTHEST, position, np.nan)


def _up_from_extent(position: FloatArray) -> str:
    seen = position[~np.isnan(position[..., 0]).all(axis=1)]
    seen = seen[:: max(1, len(seen) // _ENOUGH_FRAMES)]
    if seen.shape[1] < 3 or not len(seen):
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        extent = np.nanmedian(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    second, largest = np.argsort(extent)[-2:]
    if extent[largest] < _TALLER * extent[second]:
        return ""
    return "+" + "xyz"[largest]

"""Compares two results of one motion: fits, takes, or files of either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.calibrate import onto_clock
from fitpipe.errors import CalibrationError, MappingError, RecordError
from fitpipe.io import read_take
from fitpipe.mapping import map_take
from fitpipe.output import load_fit
from fitpipe.records import Fit, Skeleton, Take
from fitpipe.report import Comparison, compare_positions

_SAME_TICK = 0.02  # stamps within 2 % of a tick are the same instant
_ENOUGH_COMMON = 0.9  # share of the result's frames that must meet a stamp of the reference


def compare(
    result: Fit | Take | str | Path,
    reference: Fit | Take | str | Path,
    *,
    skeleton: str | Path | Skeleton | None = None,
    result_markerset: str | Path | None = None,
    markerset: str | Path | None = None,
    max_gap_s: float = 0.1,
    **reading: Any,
) -> Comparison:
    """Error of a result against a reference, and how rigid, steady and complete both are.

    Both are brought to common instants: the stamps both have, where nearly every frame of the
    result meets one of the reference; else the result is interpolated at the reference's stamps,
    never across a gap longer than ``max_gap_s``.

    Parameters
    ----------
    result, reference : Fit, Take or path
        A fit, a take, or the file of either.
    skeleton : str, path or Skeleton, optional
        Names the joints and bones to compare; default: the skeleton of the fit, else kinect20.
    result_markerset, markerset : str or path, optional
        Lead the labels of the result and of the reference to joints, if they are takes.
    max_gap_s : float, seconds
    **reading
        ``body``, ``units``, ``up``, ``rate_hz`` for files that are takes; see ``read_take``.

    Returns
    -------
    Comparison

    Raises
    ------
    FitpipeError
        A file cannot be read, or the two share no joint, no instant, or no sample.
    """
    one, other = _loaded(result, reading), _loaded(reference, reading)
    bones = _skeleton(skeleton, one, other)
    a = _as_take(one, bones, result_markerset)
    b = _as_take(other, bones, markerset)
    _check_joints(a, b)
    a, b = _common_instants(a, b, max_gap_s=max_gap_s)
    if not (a.is_observed & b.is_observed).any():
        raise RecordError(
            f"{a.source!r} and {b.source!r} have joints in common, but none at the same time",
            hint="check the time stamps of both",
        )
    # a joint that only the reference has counts against the coverage
    joints = np.flatnonzero(_seen(b)).tolist()
    place = {joint: i for i, joint in enumerate(joints)}
    kept = [(place[p], place[c]) for p, c in bones.bones if p in place and c in place]
    return compare_positions(
        a.position_m[:, joints],
        b.position_m[:, joints],
        b.time_s,
        joints=[bones.joints[j] for j in joints],
        bones=kept,
        result=a.source,
        reference=b.source,
    )


def _loaded(given: Fit | Take | str | Path, reading: dict[str, Any]) -> Fit | Take:
    if isinstance(given, Fit | Take):
        return given
    path = Path(given)
    return load_fit(path) if _is_fit(path) else read_take(path, **reading)


def _is_fit(path: Path) -> bool:
    """Whether a file is HDF5 with a fit's schema; arrays in HDF5 have none."""
    if not path.is_file() or not h5py.is_hdf5(path):
        return False
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            return str(file.attrs.get("schema", "")).startswith("fitpipe.fit/")
    except OSError:
        return True  # damaged: load_fit says how


def _skeleton(given: str | Path | Skeleton | None, *sides: Fit | Take) -> Skeleton:
    if isinstance(given, Skeleton):
        return given
    if given is not None:
        return Skeleton.preset(given)
    fitted = [side.skeleton for side in sides if isinstance(side, Fit)]
    return fitted[0] if fitted else Skeleton.preset("kinect20")


def _as_take(side: Fit | Take, skeleton: Skeleton, markerset: str | Path | None) -> Take:
    if isinstance(side, Fit):
        side = side.to_take()
        markerset = None
    return map_take(side, markerset, skeleton)


def _check_joints(a: Take, b: Take) -> None:
    if not (_seen(a) & _seen(b)).any():
        raise MappingError(
            "the two have no joint in common",
            faults=[
                f"{side.source} has {', '.join(np.array(side.labels)[_seen(side)]) or 'nothing'}"
                for side in (a, b)
            ],
            hint="give --markerset (of the reference) or --result-markerset",
        )


def _seen(take: Take) -> BoolArray:
    return np.asarray(take.is_observed.any(axis=0))


def _common_instants(a: Take, b: Take, *, max_gap_s: float) -> tuple[Take, Take]:
    i, j = _common_stamps(a.time_s, b.time_s)
    inside = (a.time_s >= b.time_s[0]) & (a.time_s <= b.time_s[-1])
    if len(i) and len(i) >= _ENOUGH_COMMON * inside.sum():
        return _frames(a, i), _frames(b, j)
    try:
        a = onto_clock(a, b.time_s, max_gap_s=max_gap_s)
    except CalibrationError as error:
        raise CalibrationError(
            f"{a.source!r} and {b.source!r} have no instant in common: {error.problem}",
            hint=error.hint,
        ) from error
    # outside the result's span there is nothing to compare
    span = np.flatnonzero(a.is_observed.any(axis=1))
    if span.size == 0:
        raise CalibrationError(
            f"{a.source!r} has no sample within {max_gap_s:g} s around any instant of {b.source!r}",
            hint="check the time stamps of both, or give a longer max_gap_s",
        )
    frames = np.arange(span[0], span[-1] + 1)
    return _frames(a, frames), _frames(b, frames)


def _common_stamps(a_s: FloatArray, b_s: FloatArray) -> tuple[IntArray, IntArray]:
    """Indices of frames with the same stamp."""
    ticks = np.concatenate([np.diff(a_s), np.diff(b_s)])
    near = _SAME_TICK * float(np.median(ticks)) if ticks.size else 1e-6
    at = np.searchsorted(b_s, a_s - near)
    at_end = np.minimum(at, len(b_s) - 1)
    same = np.abs(b_s[at_end] - a_s) <= near
    return np.flatnonzero(same), at_end[same]


def _frames(take: Take, frames: IntArray) -> Take:
    return replace(
        take,
        position_m=take.position_m[frames],
        time_s=take.time_s[frames],
        confidence=None if take.confidence is None else take.confidence[frames],
    )

"""Packs a fit for the player of its page: small integers, packed again, as text."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from fitpipe.arrays import FloatArray
from fitpipe.config import ReportConfig
from fitpipe.records import Fit
from fitpipe.report.numbers import mm, quantile, seconds
from fitpipe.report.series import use, worst_moments
from fitpipe.report.upright import upright_turn

_MAX_VALUES = 3_000_000  # coordinates in the page; longer takes show every second frame, or third
_FINEST_M = 2e-4  # nobody sees less, and coarser numbers pack better
_STEPS = 65_000  # of 16 bits
_LEAST_FAR_M = 1e-3
_BEYOND_M = 3.0  # how far outside the fit an observation is still drawn where it is


def player_data(fit: Fit, limits: ReportConfig) -> dict[str, Any]:
    """Everything the player draws, as JSON values.

    ``blocks`` hold arrays as base64 of zlib: coordinates as 16-bit steps, differences along time,
    coordinate after coordinate, low bytes before high bytes; codes as bytes, series after series.
    A coordinate is ``centre + scale * step``; steps of missing samples mean nothing, the codes say
    which they are. Coordinates are turned by ``turn`` so that +y is up.
    """
    has_raw = fit.observation is not None
    n_sources = len(fit.sources) if has_raw else 0
    n_values = fit.n_frames * fit.skeleton.n_joints * 3 * (1 + n_sources)
    stride = max(1, -(-n_values // _MAX_VALUES))
    shown = slice(None, None, stride)
    turn = upright_turn(fit)
    position = fit.position[shown] @ turn.T
    observation = np.empty((len(position), 0, fit.skeleton.n_joints, 3))
    if fit.observation is not None:
        observation = fit.observation[shown].astype(np.float64) @ turn.T
    low, high = _box(position)
    centre = (low + high) / 2
    reach = float((high - low).max()) + 2 * _BEYOND_M
    scale = max(reach / _STEPS, _FINEST_M)
    blocks = {
        "position": _packed_steps(_steps(position, centre, scale)),
        "status": _packed(fit.status[shown].T),
        "frame_status": _packed(fit.frame_status[shown]),
    }
    if has_raw:
        blocks["raw"] = _packed_steps(_steps(observation, centre, scale))
        codes = use(fit)[shown]
        codes[np.isnan(observation[..., 0])] = 0
        blocks["use"] = _packed(np.moveaxis(codes, 0, -1))
    floor = quantile(position[..., 1], 0.01)
    return {
        "n": len(position),
        "n_frames": fit.n_frames,
        "stride": stride,
        "joints": list(fit.skeleton.joints),
        "links": [list(link) for link in fit.skeleton.links],
        "n_bones": fit.skeleton.n_bones,
        "left_right": _left_right(fit),
        "sources": list(fit.sources) if has_raw else [],
        "centre": [round(float(v), 4) for v in centre],
        "scale": scale,
        "floor": None if np.isnan(floor) else round(floor, 3),
        "size": round(_size(position), 3),
        "time": [round(float(t), 4) for t in fit.time_s[shown] - fit.time_s[0]],
        "start": float(fit.time_s[0]),
        "turn": turn.astype(int).tolist(),
        "far_m": _far(fit, limits),
        "worst": [
            {
                "at": moment.frame // stride,
                "text": f"{seconds(moment.time_s)} · frame {moment.frame:,}",
                "about": f"rms {mm(moment.rms_m, 0)}, {moment.joint} {mm(moment.residual_m, 0)}",
            }
            for moment in worst_moments(fit)
        ],
        "blocks": blocks,
    }


def json_for_script(data: Any) -> Markup:
    """JSON that stays data inside a script element, whatever names it holds."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    # ASCII by json.dumps, so U+2028 and its like are escapes already
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no <, > or & is left


def _far(fit: Fit, limits: ReportConfig) -> float:
    """End of the colours: where the fit counts as poor, or nearer if hardly anything is as far."""
    usual = quantile(fit.residual, 0.99)
    if np.isnan(usual) or usual >= limits.rms_m[1]:
        return limits.rms_m[1]
    power = 10.0 ** np.floor(np.log10(max(usual, _LEAST_FAR_M)))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= usual * 0.999))


def _left_right(fit: Fit) -> list[list[int]]:
    """Pairs of (left, right) joints, told by where the skeleton has them at rest: left at +x."""
    across = fit.skeleton.rest_direction[:, 0]
    pairs = []
    for i, j in fit.skeleton.mirror:
        if across[i] != across[j]:
            pairs.append([i, j] if across[i] > across[j] else [j, i])
    return pairs


def _box(position_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of what the fit fills; a box of no size at 0 if it is nowhere."""
    points = position_m[~np.isnan(position_m[..., 0])]
    if not len(points):
        return np.zeros(3), np.zeros(3)
    return points.min(axis=0), points.max(axis=0)


def _size(position_m: FloatArray) -> float:
    """How large the skeleton is: the longest side of its box in the middle frame, metres."""
    given = ~np.isnan(position_m[..., 0])
    frames = np.flatnonzero(given.sum(axis=1) >= 2)
    if not len(frames):
        return 1.0
    frames = frames[:: max(1, len(frames) // 50)]
    sides = [float(np.ptp(position_m[f, given[f]], axis=0).max()) for f in frames]
    return max(float(np.median(sides)), 0.05)


def _steps(values_m: FloatArray, centre: FloatArray, scale: float) -> npt.NDArray[np.int16]:
    """Whole steps from the centre; what is missing repeats the value before it."""
    n = len(values_m)
    flat = values_m.reshape(n, -1)
    is_given = ~np.isnan(flat)
    last = np.maximum.accumulate(np.where(is_given, np.arange(n)[:, None], 0), axis=0)
    held = np.nan_to_num(np.take_along_axis(flat, last, axis=0))
    off = (held.reshape(values_m.shape) - centre) / scale
    limit = _STEPS // 2
    return np.clip(np.rint(off), -limit, limit).astype(np.int16).reshape(n, -1)


def _packed_steps(steps: npt.NDArray[np.int16]) -> str:
    """Differences along time, coordinate after coordinate, low bytes then high bytes."""
    wide = np.diff(steps.astype(np.int32), axis=0, prepend=0)
    halves = np.ascontiguousarray(wide.T.astype("<u2")).view(np.uint8).reshape(-1, 2)
    return _packed(halves.T)


def _packed(codes: npt.NDArray[np.uint8]) -> str:
    data = np.ascontiguousarray(codes, np.uint8).tobytes()
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")

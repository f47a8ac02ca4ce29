"""What can be measured of two depth sensors without knowing the truth: one estimator for all."""

from __future__ import annotations

import numpy as np

from fitpipe.calibrate import align_rigid, onto_clock
from fitpipe.records import Take

_SPELL_S = 0.2  # longer ticks are holes between scenarios


def statistics_of(pair: list[Take]) -> dict[str, list[float]]:
    """Each statistic, for both sensors or for the pair; the takes share one crude frame.

    thigh_sd_m: standard deviation of the left thigh's length. thigh_memory: its autocorrelation
    over ten frames. repeated: share of poses that equal the one before. tick_ms: median tick;
    tick_p1_ms, tick_p99_ms: the ends of its spread. jump_m: largest step of the pelvis from one
    tick to the next. opposed: share of frames in which the shoulder lines oppose. disagreement_m:
    median distance of the sensors after a robust rigid fit. rotation_deg: angle of that fit.
    """
    found: dict[str, list[float]] = {}
    for take in pair:
        for name, value in _of_one(take).items():
            found.setdefault(name, []).append(value)
    return found | {name: [value] for name, value in _of_both(*pair).items()}


def _of_one(take: Take) -> dict[str, float]:
    ticks = np.diff(take.time_s)
    ticks = ticks[ticks < _SPELL_S]
    thigh = np.linalg.norm(_at(take, "HipLeft") - _at(take, "KneeLeft"), axis=1)
    thigh = thigh[~np.isnan(thigh)]
    off = thigh - thigh.mean()
    pose = np.where(take.is_observed[..., None], take.position_m, 0.0)
    step = np.linalg.norm(np.diff(_pelvis(take), axis=0), axis=1)[np.diff(take.time_s) < _SPELL_S]
    return {
        "thigh_sd_m": float(off.std()),
        "thigh_memory": float(np.mean(off[10:] * off[:-10]) / np.mean(off**2)),
        "repeated": float(np.mean(np.all(np.diff(pose, axis=0) == 0, axis=(1, 2)))),
        "tick_ms": float(np.median(ticks)) * 1e3,
        "tick_p1_ms": float(np.percentile(ticks, 1)) * 1e3,
        "tick_p99_ms": float(np.percentile(ticks, 99)) * 1e3,
        "jump_m": float(np.nanmax(step)),
    }


def _of_both(a: Take, b: Take) -> dict[str, float]:
    b = onto_clock(b, a.time_s, max_gap_s=0.1)
    line_a, line_b = _shoulders(a), _shoulders(b)
    cosine = np.sum(line_a * line_b, axis=1)
    both = a.is_observed & b.is_observed
    source, target = b.position_m[both], a.position_m[both]
    weight = None
    for _ in range(30):
        fit = align_rigid(source, target, weight=weight)
        apart = np.linalg.norm(source @ fit.R_target_source.T + fit.t_target_m - target, axis=1)
        weight = 1 / (apart + 0.02)
    angle = np.arccos(np.clip((np.trace(fit.R_target_source) - 1) / 2, -1, 1))
    return {
        "opposed": float(np.mean(cosine[~np.isnan(cosine)] < 0)),
        "disagreement_m": float(np.median(apart)),
        "rotation_deg": float(np.degrees(angle)),
    }


def _at(take: Take, label: str) -> np.ndarray:
    return take.position_m[:, take.index(label)]


def _pelvis(take: Take) -> np.ndarray:
    return _at(take, "SpineBase" if "SpineBase" in take.labels else "HipCenter")


def _shoulders(take: Take) -> np.ndarray:
    """Direction from the right to the left shoulder, level, of unit length."""
    line = (_at(take, "ShoulderLeft") - _at(take, "ShoulderRight"))[:, [0, 2]]
    return line / np.linalg.norm(line, axis=1, keepdims=True)

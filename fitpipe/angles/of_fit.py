"""Joint angles of a fit, and the fit held to their limits where that is asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitpipe.angles.definition import define
from fitpipe.angles.limited import Limited, check_limits, keep_limits
from fitpipe.angles.skeleton_angles import measure
from fitpipe.arrays import BoolArray, FloatArray
from fitpipe.config import AnglesConfig
from fitpipe.errors import ConfigError
from fitpipe.records import Finding, LimitStatus, Skeleton, SkeletonAngles

_EXCEED = "joint angles exceed the limits"


class AnglesOfFit(NamedTuple):
    """Angles, and the positions they belong to."""

    angles: SkeletonAngles
    position_m: FloatArray  # (time, joint, 3)
    is_refitted: BoolArray  # (time,) frames fitted anew within the limits
    is_converged: BoolArray  # (time,) those of them that came to rest
    findings: tuple[Finding, ...]


def angles_of_fit(
    position_m: FloatArray,
    skeleton: Skeleton,
    bone_length_m: FloatArray,
    settings: AnglesConfig,
    *,
    target_m: FloatArray,
    stiffness: FloatArray,
) -> AnglesOfFit:
    """Measure the angles of fitted positions; with ``settings.limits`` hold them to their limits.

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
        NaN where absent.
    skeleton : Skeleton
    bone_length_m : ndarray, shape (link,), metres
    settings : AnglesConfig
    target_m, stiffness : ndarray, shapes (time, joint, 3) and (time, joint)
        What frames beyond the limits are fitted to: the least sum of ½ stiffness |x - target|².

    Raises
    ------
    ConfigError
        The preset does not exist or does not fit the skeleton, or limits are asked for and it has
        none.
    SolveError
        Limits are asked for and rigid pairs are in the way.
    """
    definition = define(skeleton, settings.preset)
    angles = measure(position_m, definition, bone_length_m[: skeleton.n_bones])
    none = np.zeros(len(position_m), np.bool_)
    if not settings.limits:
        return AnglesOfFit(angles, position_m, none, none, _beyond(angles))
    if not definition.is_limited.any():
        raise ConfigError(
            f"angles.limits is true, but the preset {definition.preset.name!r} has no limits",
            hint="set angles.preset to one with limits, or angles.limits = false",
        )
    check_limits(definition)
    limited = keep_limits(angles, definition, position_m, target_m, stiffness)
    return AnglesOfFit(
        limited.angles,
        limited.position_m,
        limited.is_refitted,
        limited.is_converged,
        _refitted(limited, angles, position_m, target_m, stiffness),
    )


def log_of(angles: SkeletonAngles, log: tuple[Finding, ...] = ()) -> tuple[Finding, ...]:
    """A log with what is to be told of these angles, in place of what it told of others."""
    return (*(f for f in log if not f.what.startswith(_EXCEED)), *_beyond(angles))


def _beyond(angles: SkeletonAngles) -> tuple[Finding, ...]:
    """Says which angles exceed their limits, and in how many frames."""
    frames = (angles.limit_status == LimitStatus.BEYOND).any(axis=1)
    if not frames.any():
        return ()
    return (
        Finding(
            f"{_EXCEED} of the preset {angles.preset!r} in "
            f"{np.count_nonzero(frames)} frames ({_worst(angles)})",
            "flagged in angles.limit_status",
            "note",
            "angles.limits = true fits these frames within the limits",
        ),
    )


def _worst(angles: SkeletonAngles) -> str:
    """The segments that exceed their limits most often, with the number of frames."""
    counts = (angles.limit_status == LimitStatus.BEYOND).sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    told = [f"{angles.segment_label[s]} {counts[s]}" for s in order[:5] if counts[s]]
    return ", ".join(told) + (", ..." if np.count_nonzero(counts) > 5 else "")


def _refitted(
    limited: Limited,
    before: SkeletonAngles,
    position_m: FloatArray,
    target_m: FloatArray,
    stiffness: FloatArray,
) -> tuple[Finding, ...]:
    """Says what holding the fit to the limits did."""
    frames = limited.is_refitted
    if not frames.any():
        return ()
    was, now = (
        np.nansum(0.5 * stiffness[frames] * _squares(x[frames] - target_m[frames]))
        for x in (position_m, limited.position_m)
    )
    weight = 0.5 * float(stiffness[frames].sum())
    found = [
        Finding(
            f"joint angles exceeded the limits of the preset {before.preset!r} in "
            f"{np.count_nonzero(frames)} frames ({_worst(before)})",
            "fitted anew within them; their weighted rms distance to the data rose from "
            f"{1e3 * np.sqrt(was / weight):.1f} to {1e3 * np.sqrt(now / weight):.1f} mm",
            "note",
            "angles.limits = false leaves them",
        )
    ]
    open_frames = frames & ~limited.is_converged
    left = (limited.angles.limit_status == LimitStatus.BEYOND).any(axis=1)
    if open_frames.any():
        found.append(
            Finding(
                f"the fit within the joint limits did not come to rest in "
                f"{np.count_nonzero(open_frames)} frames",
                "frame_status is stalled",
            )
        )
    if left.any():
        found.append(
            Finding(
                f"joint angles still exceed their limits in {np.count_nonzero(left)} frames "
                f"({_worst(limited.angles)})",
                "flagged in angles.limit_status",
            )
        )
    return tuple(found)


def _squares(step: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("tjc,tjc->tj", step, step))

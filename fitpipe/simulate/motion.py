"""Motions with known truth: smooth, articulated, of exactly constant bone lengths.

World frame: right-handed, +Y up, floor at y = 0; the person starts facing +Z with the left side
at +X. So a turn about +X bends the trunk forward and the knee backward; hip, shoulder, elbow and
ankle flex by turns about -X.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray
from fitpipe.records import Skeleton
from fitpipe.records.checks import Faults
from fitpipe.simulate.body import STATURE_M, Motion, pose, standing_offsets

# Flexion over one gait cycle, (share of the cycle from heel strike, degrees), drawn after the
# level walking of healthy adults in Winter (2009), Biomechanics and Motor Control, ch. 3.
_GAIT_HIP: Final = ((0.0, 24), (0.12, 19), (0.3, 4), (0.52, -13), (0.65, -1), (0.85, 27), (1.0, 24))
_GAIT_KNEE: Final = (
    (0.0, 6), (0.14, 18), (0.38, 7), (0.52, 18), (0.62, 42), (0.73, 60), (0.88, 24), (1.0, 6)
)  # fmt: skip
_GAIT_ANKLE: Final = (
    (0.0, 1), (0.1, -4), (0.3, 6), (0.46, 10), (0.62, -16), (0.76, 0), (0.88, 2), (1.0, 1)
)  # fmt: skip


def walk(
    n_frames: int,
    rate_hz: float,
    *,
    speed_m_s: float = 1.2,
    cycle_s: float = 1.0,
    radius_m: float = 1.5,
    stature_m: float = STATURE_M,
) -> Motion:
    """A person who walks round a circle about the origin, turning left.

    On a circle the walk stays in view of fixed sensors for any length, and every side of the
    person is shown to each. Feet are placed by joint angles, so they slide a little on the floor.

    Parameters
    ----------
    n_frames : int
    rate_hz : float, frames per second
    speed_m_s : float, metres per second
    cycle_s : float, seconds
        From one left heel strike to the next; a take starts with one.
    radius_m : float, metres
        Of the circle; ``inf`` walks straight ahead from the origin.
    stature_m : float, metres
        Height of the standing person; all bones in proportion.

    Returns
    -------
    Motion
        On the skeleton ``kinect20``.

    Raises
    ------
    RecordError
        An argument is out of its range.
    """
    _check("walk", n_frames, rate_hz, cycle_s=cycle_s, radius_m=radius_m, stature_m=stature_m)
    skeleton = Skeleton.preset("kinect20")
    offset_m = standing_offsets(skeleton, stature_m)
    time_s = np.arange(n_frames) / rate_hz
    phase = 2 * np.pi * time_s / cycle_s
    size = stature_m / STATURE_M

    heading = time_s * speed_m_s / radius_m
    axial = np.radians(5) * np.cos(phase)  # the pelvis turns the swinging hip forward
    turn = {
        "HipCenter": _turns("YZX", heading - axial, np.radians(2) * np.sin(phase), 0.03),
        "Spine": _turns("X", 0.02),
        "ShoulderCenter": _turns("YX", 2 * axial, 0.03 + 0.02 * np.cos(2 * phase)),
        "Head": _turns("YX", -axial, -0.05),
    }
    for side, sign, start in (("Left", 1, 0.0), ("Right", -1, 0.5)):
        share = (time_s / cycle_s + start) % 1.0
        # the arm swings against the leg of its side
        swing = -np.cos(phase + 2 * np.pi * start)
        turn |= {
            f"Elbow{side}": _turns("ZX", 0.12 * sign, -np.radians(2 + 20 * swing)),
            f"Wrist{side}": _turns("XY", -np.radians(24 + 12 * swing), -0.2 * sign),
            f"Hand{side}": _turns("X", -0.1),
            f"Knee{side}": _turns("X", -_periodic(share, _GAIT_HIP)),
            f"Ankle{side}": _turns("X", _periodic(share, _GAIT_KNEE)),
            f"Foot{side}": _turns("X", -_periodic(share, _GAIT_ANKLE)),
        }

    # sway over the standing leg, rise over it, fall in double support
    sway = 0.02 * size * np.sin(phase)
    height = offset_m[0, 1] + size * (-0.008 - 0.013 * np.cos(2 * phase))
    left = np.stack([np.cos(heading), np.zeros(n_frames), -np.sin(heading)], axis=1)
    ahead = np.outer(time_s * speed_m_s, [0.0, 0.0, 1.0])
    path = ahead if np.isinf(radius_m) else -radius_m * left
    root_m = path + sway[:, None] * left
    root_m[:, 1] = height
    return _motion(skeleton, offset_m, time_s, root_m, turn)


def reach_and_turn(
    n_frames: int,
    rate_hz: float,
    *,
    period_s: float = 8.0,
    turn_rad: float = np.radians(120),
    stature_m: float = STATURE_M,
) -> Motion:
    """A person who reaches up with the left hand, turns, reaches down with the right, turns back.

    Parameters
    ----------
    n_frames : int
    rate_hz : float, frames per second
    period_s : float, seconds
        After which all of it starts again.
    turn_rad : float, radians
        How far the person turns, to the left where positive.
    stature_m : float, metres
        Height of the standing person; all bones in proportion.

    Returns
    -------
    Motion
        On the skeleton ``kinect20``; the person stands at the origin.

    Raises
    ------
    RecordError
        An argument is out of its range.
    """
    _check("reach_and_turn", n_frames, rate_hz, period_s=period_s, stature_m=stature_m)
    skeleton = Skeleton.preset("kinect20")
    offset_m = standing_offsets(skeleton, stature_m)
    time_s = np.arange(n_frames) / rate_hz
    clock = time_s / period_s % 1.0

    # every course: share of the period, value; radians
    raise_left = _course(clock, (0.02, 0), (0.16, 1), (0.22, 1), (0.36, 0))
    raise_right = _course(clock, (0.70, 0), (0.82, 1), (0.86, 1), (0.98, 0))
    stoop = _course(clock, (0.42, 0), (0.56, 1), (0.60, 1), (0.72, 0))
    yaw = turn_rad * _course(clock, (0.24, 0), (0.48, 1), (0.66, 1), (0.94, 0))
    twist = 0.35 * _course(clock, (0.20, 0), (0.30, 1), (0.46, 0), (0.62, 0), (0.70, -1), (0.9, 0))
    lean = 0.15 * (raise_left - raise_right)
    crouch = 0.45 * stoop
    lift = {
        "Left": _course(clock, (0.27, 0), (0.32, 1), (0.37, 0), (0.78, 0), (0.83, 1), (0.88, 0)),
        "Right": _course(clock, (0.35, 0), (0.40, 1), (0.45, 0), (0.70, 0), (0.75, 1), (0.80, 0)),
    }

    pitch = 0.35 * stoop
    turn = {
        "HipCenter": _turns("YX", yaw, pitch),
        "Spine": _turns("YX", 0.4 * twist, 0.3 * stoop),
        "ShoulderCenter": _turns("YZX", 0.6 * twist, lean, 0.4 * stoop),
        "Head": _turns("YX", 0.5 * twist, -0.4 * stoop - 0.4 * (raise_left + raise_right)),
    }
    sides = (("Left", 1, raise_left, 0.35 * stoop), ("Right", -1, raise_right, 1.3 * stoop))
    for side, sign, up, forward in sides:
        # thigh, shank and foot turned by -a, +2a, -a keep the ankle under the hip, the foot level
        bend = 0.03 + crouch + 0.45 * lift[side]
        turn |= {
            f"Shoulder{side}": _turns("Z", 0.35 * sign * up),
            f"Elbow{side}": _turns("ZX", sign * (0.15 - 0.3 * up), -(0.05 + 2.5 * up + forward)),
            f"Wrist{side}": _turns("XY", -(0.3 + 0.5 * up * (1 - up)), -0.2 * sign),
            f"Hand{side}": _turns("X", -0.1 - 0.2 * (up + stoop)),
            f"Knee{side}": _turns("X", -pitch - bend),
            f"Ankle{side}": _turns("X", 2 * bend),
            f"Foot{side}": _turns("X", -bend),
        }

    leg_m = float(np.linalg.norm(offset_m[13]) + np.linalg.norm(offset_m[14]))
    root_m = np.zeros((n_frames, 3))
    root_m[:, 1] = offset_m[0, 1] - leg_m * (1 - np.cos(0.03 + crouch))
    return _motion(skeleton, offset_m, time_s, root_m, turn)


def stand_still(n_frames: int, rate_hz: float, *, stature_m: float = STATURE_M) -> Motion:
    """A person who stands and sways: the body leans from the ankles by up to a degree.

    The sway is a sum of slow sines without a common period (0.1 to 0.8 Hz), as the centre of
    pressure in quiet standing moves.

    Parameters
    ----------
    n_frames : int
    rate_hz : float, frames per second
    stature_m : float, metres

    Returns
    -------
    Motion
        On the skeleton ``kinect20``; the person stands at the origin and faces +Z.

    Raises
    ------
    RecordError
        An argument is out of its range.
    """
    _check("stand_still", n_frames, rate_hz, stature_m=stature_m)
    skeleton = Skeleton.preset("kinect20")
    offset_m = standing_offsets(skeleton, stature_m)
    time_s = np.arange(n_frames) / rate_hz

    def sway(*parts: tuple[float, float, float]) -> FloatArray:
        waves = [np.radians(deg) * np.sin(2 * np.pi * hz * time_s + at) for deg, hz, at in parts]
        return np.asarray(np.sum(waves, axis=0))

    forward = np.radians(1.5) + sway((0.4, 0.13, 0.0), (0.25, 0.31, 1.0), (0.1, 0.79, 2.0))
    sideways = sway((0.2, 0.11, 0.5), (0.12, 0.37, 1.7))
    breath = 0.01 * np.sin(2 * np.pi * 0.25 * time_s)
    turn = {
        "HipCenter": _turns("ZX", sideways, forward),
        "ShoulderCenter": _turns("X", breath),
        "Head": _turns("X", -forward),
    }
    for side, sign in (("Left", 1), ("Right", -1)):
        turn |= {
            # the arms hang, whatever the trunk does
            f"Elbow{side}": _turns("ZX", 0.08 * sign - sideways, -0.05 - forward),
            f"Wrist{side}": _turns("X", -0.2 - 0.3 * breath),
            f"Foot{side}": _turns("ZX", -sideways, -forward),
        }
    ankle_m = offset_m[0, 1]
    root_m = np.stack(
        [-ankle_m * np.sin(sideways), ankle_m * np.cos(forward), ankle_m * np.sin(forward)], axis=1
    )
    return _motion(skeleton, offset_m, time_s, root_m, turn)


def punch(
    n_frames: int, rate_hz: float, *, period_s: float = 0.9, stature_m: float = STATURE_M
) -> Motion:
    """A person who punches straight ahead with the left and the right fist in turn.

    Fast motion: the fists reach 6 to 7 m/s.

    Parameters
    ----------
    n_frames : int
    rate_hz : float, frames per second
    period_s : float, seconds
        From one left punch to the next.
    stature_m : float, metres

    Returns
    -------
    Motion
        On the skeleton ``kinect20``; the person stands at the origin and faces +Z.

    Raises
    ------
    RecordError
        An argument is out of its range.
    """
    _check("punch", n_frames, rate_hz, period_s=period_s, stature_m=stature_m)
    skeleton = Skeleton.preset("kinect20")
    offset_m = standing_offsets(skeleton, stature_m)
    time_s = np.arange(n_frames) / rate_hz
    out = {}
    for side, start in (("Left", 0.0), ("Right", 0.5)):
        clock = (time_s / period_s + start) % 1.0
        out[side] = _course(clock, (0.05, 0), (0.22, 1), (0.26, 1), (0.5, 0))
    lean = out["Left"] - out["Right"]
    turn = {
        "HipCenter": _turns("Y", -0.15 * lean),
        "Spine": _turns("Y", -0.15 * lean),
        "ShoulderCenter": _turns("YX", -0.3 * lean, 0.08),
        "Head": _turns("Y", 0.6 * lean),
    }
    for side, sign in (("Left", 1), ("Right", -1)):
        reach = out[side]
        turn |= {
            f"Elbow{side}": _turns("ZX", 0.2 * sign * (1 - reach), -(0.35 + 1.15 * reach)),
            f"Wrist{side}": _turns("X", -2.2 * (1 - reach)),
            f"Knee{side}": _turns("X", np.full(n_frames, -0.2)),
            f"Ankle{side}": _turns("X", np.full(n_frames, 0.4)),
            f"Foot{side}": _turns("X", np.full(n_frames, -0.2)),
        }
    leg_m = float(np.linalg.norm(offset_m[13]) + np.linalg.norm(offset_m[14]))
    root_m = np.zeros((n_frames, 3))
    root_m[:, 1] = offset_m[0, 1] - leg_m * (1 - np.cos(0.2))
    return _motion(skeleton, offset_m, time_s, root_m, turn)


def _motion(
    skeleton: Skeleton,
    offset_m: FloatArray,
    time_s: FloatArray,
    root_m: FloatArray,
    turn: dict[str, Rotation],
) -> Motion:
    whole = {joint: _over_time(rotation, len(time_s)) for joint, rotation in turn.items()}
    position_m = pose(skeleton, offset_m, root_m=root_m, turn=whole)
    length_m = np.array([np.linalg.norm(offset_m[child]) for _, child in skeleton.bones])
    return Motion(position_m, time_s, skeleton.with_lengths(length_m))


def _turns(axes: str, *angle_rad: FloatArray | float) -> Rotation:
    """Turns about the bone's own axes, one after the other; each angle one number or (time,)."""
    angles = np.stack(np.broadcast_arrays(*angle_rad), axis=-1)
    return Rotation.from_euler(axes, angles.reshape(-1, len(axes)))


def _over_time(rotation: Rotation, n_frames: int) -> Rotation:
    quat = rotation.as_quat()
    return Rotation.from_quat(np.broadcast_to(quat, (n_frames, 4)))


def _periodic(share: FloatArray, knots_deg: Sequence[tuple[float, float]]) -> FloatArray:
    """Periodic cubic spline through (share of the cycle, degrees), in radians."""
    at, value = zip(*knots_deg, strict=True)
    return np.radians(CubicSpline(at, value, bc_type="periodic")(share))


def _course(clock: FloatArray, *keys: tuple[float, float]) -> FloatArray:
    """Minimum-jerk moves from key to key (time, value), at rest in each; zero at both ends."""
    value = np.zeros_like(clock)
    for (t0, v0), (t1, v1) in pairwise(keys):
        u = np.clip((clock - t0) / (t1 - t0), 0.0, 1.0)
        # Flash and Hogan (1985), doi:10.1523/JNEUROSCI.05-07-01688.1985
        value += (v1 - v0) * u**3 * (10 - 15 * u + 6 * u**2)
    return value


def _check(what: str, n_frames: int, rate_hz: float, **positive: float) -> None:
    faults = Faults(what)
    faults.unless(n_frames >= 1, f"n_frames is {n_frames}, expected 1 or more")
    faults.unless(0 < rate_hz < np.inf, f"rate_hz is {rate_hz:g}, expected above 0")
    for name, value in positive.items():
        faults.unless(value > 0, f"{name} is {value:g}, expected above 0")
    faults.raise_if_any()

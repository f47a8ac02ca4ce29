"""How far every joint moves over a take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitpipe.angles.definition import Definition
from fitpipe.records import LimitStatus, SkeletonAngles, TwistStatus


@dataclass(frozen=True, slots=True)
class Range:
    """One angle over a take.

    Parameters
    ----------
    joint, angle : str
        For people: ``"left knee"``, ``"flexion"``.
    low_deg, high_deg : float, degrees
        NaN where the segment is absent in all frames.
    n_frames : int
        Frames that have the angle.
    n_gimbal : int
        Frames near gimbal lock.
    n_straight : int
        Frames in which the limb's turn about itself was carried over from others.
    n_beyond : int
        Frames in which the segment exceeds a limit.
    """

    joint: str
    angle: str
    low_deg: float
    high_deg: float
    n_frames: int
    n_gimbal: int
    n_straight: int
    n_beyond: int


def ranges(
    angles: SkeletonAngles, definition: Definition, *, everything: bool = False
) -> list[Range]:
    """The range of every angle.

    Parameters
    ----------
    angles : SkeletonAngles
    definition : Definition
        That of the angles.
    everything : bool
        Also angles that say nothing by themselves: those of the bones that make up a body, a
        hinge's second and third, and turns about an axis that no point shows.
    """
    found = []
    for s, names in enumerate(angles.angle_names):
        bone = s - definition.n_bodies
        if not everything and bone >= 0 and definition.body_of(bone) >= 0:
            continue
        status = angles.twist_status[:, s]
        is_shown = np.isin(status, (TwistStatus.MEASURED, TwistStatus.CARRIED)).any()
        n_told = 3 if is_shown else 2
        if bone >= 0 and definition.hinge_of(bone) >= 0:
            n_told = 1
        for i, angle in enumerate(names[: 3 if everything else n_told]):
            values = np.degrees(angles.euler_rad[:, s, i])
            values = values[~np.isnan(values)]
            found.append(
                Range(
                    joint=angles.segment_label[s],
                    angle=angle,
                    low_deg=float(values.min()) if values.size else float("nan"),
                    high_deg=float(values.max()) if values.size else float("nan"),
                    n_frames=values.size,
                    n_gimbal=int(np.count_nonzero(angles.is_gimbal[:, s])),
                    n_straight=int(np.count_nonzero(status == TwistStatus.CARRIED)),
                    n_beyond=int(np.count_nonzero(angles.limit_status[:, s] == LimitStatus.BEYOND)),
                )
            )
    return found

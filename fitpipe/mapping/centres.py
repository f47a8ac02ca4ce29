"""Joint centres inside the body from markers on the skin."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray

# Harrington, Zavatsky, Lawson, Yuan and Theologis (2007), J. Biomech. 40:595-602,
# doi:10.1016/j.jbiomech.2006.02.003: metres and shares of pelvic depth and width, from the middle
# between the ASIS: forwards, upwards, and to the side.
_HARRINGTON: Final = ((-0.24, 0.0, -0.0099), (0.0, -0.30, -0.0109), (0.0, 0.33, 0.0073))
# Bell, Pedersen and Brand (1990), J. Biomech. 23:617-621, doi:10.1016/0021-9290(90)90054-7
_BELL: Final = ((0.0, -0.19, 0.0), (0.0, -0.30, 0.0), (0.0, 0.36, 0.0))
REGRESSIONS: Final = {"harrington": _HARRINGTON, "bell": _BELL}
# Rab, Petuskey and Bagley (2002), Gait Posture 15:113-119, doi:10.1016/S0966-6362(01)00184-2
ACROMION_SHARE: Final = 0.17


def hip_centre(
    asis_left_m: FloatArray,
    asis_right_m: FloatArray,
    back_m: FloatArray,
    *,
    side: str,
    regression: str = "harrington",
) -> FloatArray:
    """Hip joint centre by regression on the size of the pelvis.

    Parameters
    ----------
    asis_left_m, asis_right_m : ndarray, shape (time, 3), metres
        Anterior superior iliac spines.
    back_m : ndarray, shape (time, 3), metres
        Middle between the posterior spines, or the sacrum between them.
    side : {"left", "right"}
    regression : {"harrington", "bell"}
        Harrington et al. (2007) by width and depth, doi:10.1016/j.jbiomech.2006.02.003; mean
        errors against MRI 2 to 5 mm an axis in adults and children. Bell et al. (1990) by width
        alone, doi:10.1016/0021-9290(90)90054-7.

    Returns
    -------
    ndarray, shape (time, 3), metres
        NaN where a marker is missing. Width and depth are medians over the take.
    """
    middle = (asis_left_m + asis_right_m) / 2
    across = asis_right_m - asis_left_m
    forwards = middle - back_m
    width, depth = _median_length(across), _median_length(forwards)
    right = _unit(across)
    up = _unit(np.cross(right, forwards))
    front = np.cross(up, right)
    x, y, z = (a * depth + b * width + c for a, b, c in REGRESSIONS[regression])
    sign = -1.0 if side == "left" else 1.0
    return np.asarray(middle + x * front + y * up + sign * z * right)


def shoulder_centre(
    acromion_m: FloatArray, other_acromion_m: FloatArray, top_m: FloatArray, bottom_m: FloatArray
) -> FloatArray:
    """Shoulder joint centre: below the acromion, by a share of the distance between the acromia.

    Parameters
    ----------
    acromion_m, other_acromion_m : ndarray, shape (time, 3), metres
        Of this side, and of the other.
    top_m, bottom_m : ndarray, shape (time, 3), metres
        Two points of the trunk; down is from the first to the second.

    Returns
    -------
    ndarray, shape (time, 3), metres

    References
    ----------
    Rab, Petuskey and Bagley (2002), doi:10.1016/S0966-6362(01)00184-2: 17 %.
    """
    width = _median_length(acromion_m - other_acromion_m)
    return np.asarray(acromion_m + ACROMION_SHARE * width * _unit(bottom_m - top_m))


def chord_centre(
    above_m: FloatArray, lateral_m: FloatArray, plane_m: FloatArray, half_width_m: float
) -> FloatArray:
    """Centre of a knee or ankle half a joint's width inwards from its lateral marker.

    The centre X makes a right angle between the joint above and the lateral marker, lies in the
    plane of the two and the segment's own marker, and on the other side of their line than that.

    Parameters
    ----------
    above_m : ndarray, shape (time, 3), metres
        Centre of the joint above.
    lateral_m : ndarray, shape (time, 3), metres
    plane_m : ndarray, shape (time, 3), metres
        A marker on the outside of the segment between the two.
    half_width_m : float, metres
        Half the width of the joint, and the radius of a marker.

    Returns
    -------
    ndarray, shape (time, 3), metres

    References
    ----------
    Davis, Ounpuu, Tyburski and Gage (1991), Hum. Mov. Sci. 10:575-587,
    doi:10.1016/0167-9457(91)90046-Z.
    """
    down = lateral_m - above_m
    length = np.linalg.norm(down, axis=-1, keepdims=True)
    along = down / length
    outwards = plane_m - above_m
    outwards = _unit(outwards - np.sum(outwards * along, axis=-1, keepdims=True) * along)
    with np.errstate(invalid="ignore"):
        sine = np.where(length > half_width_m, half_width_m / length, np.nan)
    # the foot of the right angle over the line from the joint above to the marker (Thales)
    return np.asarray(lateral_m - half_width_m * (sine * along + np.sqrt(1 - sine**2) * outwards))


def _unit(vector: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(vector / np.linalg.norm(vector, axis=-1, keepdims=True))


def _median_length(vector: FloatArray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # never seen together: NaN
        return float(np.nanmedian(np.linalg.norm(vector, axis=-1)))

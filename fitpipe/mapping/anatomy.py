"""Whether joints lie where a person has them: lengths of bones, and left on the left."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray

# metres between neighbours, for a child of 1.1 m and a tall adult, with joints in the body or on
# the skin over it
BONES_M: Final[Mapping[tuple[str, str], tuple[float, float]]] = {
    ("HipCenter", "Spine"): (0.03, 0.45),
    ("Spine", "ShoulderCenter"): (0.08, 0.50),
    ("ShoulderCenter", "Head"): (0.07, 0.40),
    ("ShoulderCenter", "Shoulder"): (0.07, 0.30),
    ("Shoulder", "Elbow"): (0.15, 0.42),
    ("Elbow", "Wrist"): (0.12, 0.36),
    ("Wrist", "Hand"): (0.02, 0.22),
    ("HipCenter", "Hip"): (0.04, 0.25),
    ("Hip", "Knee"): (0.22, 0.60),
    ("Knee", "Ankle"): (0.20, 0.55),
    ("Ankle", "Foot"): (0.04, 0.28),
}
_STEADY: Final = 0.2  # a bone's length varies by less than this share of it
_SIDES: Final = ("Left", "Right")
_PAIRS: Final = ("Hip", "Knee", "Ankle", "Foot", "Shoulder", "Elbow")


def neighbours(joint: str) -> list[tuple[str, tuple[float, float]]]:
    """Joints next to one of the 20 of ``kinect20``, and how far away they can be, metres."""
    side = next((side for side in _SIDES if joint.endswith(side)), "")
    base = joint.removesuffix(side) if side else joint
    found = []
    for (a, b), limits in BONES_M.items():
        if base in (a, b):
            other = b if base == a else a
            is_paired = not other.endswith("Center") and other not in ("Spine", "Head")
            named = [other + s for s in ([side] if side else _SIDES)] if is_paired else [other]
            found += [(name, limits) for name in named]
    return found


def oddities(joint: str, at: Mapping[str, FloatArray]) -> list[str]:
    """What speaks against a joint's place; empty if nothing does.

    Parameters
    ----------
    joint : str
        One of the 20 joints of ``kinect20``.
    at : mapping of str to ndarray, shape (time, 3), metres
        The joints that are placed.
    """
    odd = []
    for other, (low, high) in neighbours(joint):
        if other not in at:
            continue
        length = np.linalg.norm(at[joint] - at[other], axis=1)
        length = length[np.isfinite(length)]
        if not length.size:
            continue
        middle = float(np.median(length))
        if not low <= middle <= high:
            odd.append(f"{middle:.2f} m from {other}, expected {low:g} to {high:g}")
        elif length.std() > _STEADY * middle:
            odd.append(f"its distance to {other} varies by {100 * length.std():.0f} cm")
    return odd


def wrong_sides(at: Mapping[str, FloatArray]) -> list[str]:
    """Pairs of joints whose left one lies on the person's right.

    Up is from the ankles to the head or shoulders and forwards from ankle to toe, else left is
    where most pairs have it.

    Parameters
    ----------
    at : mapping of str to ndarray, shape (time, 3), metres
    """
    across = {
        pair: at[f"{pair}Left"] - at[f"{pair}Right"]
        for pair in _PAIRS
        if f"{pair}Left" in at and f"{pair}Right" in at
    }
    if not across:
        return []
    left = _left(at)
    if left is None:
        total = np.nansum([_unit(vector) for vector in across.values()], axis=0)
        left = total if len(across) > 2 else None
    if left is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # pairs never seen together
        return [
            pair
            for pair, vector in across.items()
            if np.nanmedian(np.sum(_unit(vector) * _unit(left), axis=1)) < 0
        ]


def _left(at: Mapping[str, FloatArray]) -> FloatArray | None:
    """The person's left in every frame, by feet and head; None if they are not there."""
    feet = [f"{name}{side}" for name in ("Ankle", "Foot") for side in _SIDES]
    top = next((name for name in ("Head", "ShoulderCenter", "HipCenter") if name in at), None)
    if top is None or any(name not in at for name in feet):
        return None
    ankles = (at["AnkleLeft"] + at["AnkleRight"]) / 2
    toes = (at["FootLeft"] + at["FootRight"]) / 2
    return np.asarray(np.cross(at[top] - ankles, toes - ankles))


def _unit(vector: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vector / np.linalg.norm(vector, axis=1, keepdims=True))

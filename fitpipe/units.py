"""Length units and axes as files spell them, and what they are in metres and rotations."""

from __future__ import annotations

from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray

METRES_PER: Final[dict[str, float]] = {
    "m": 1.0,
    "dm": 0.1,
    "cm": 0.01,
    "mm": 1e-3,
    "in": 0.0254,
    "ft": 0.3048,
}

_SPELLINGS: Final[dict[str, str]] = {
    "m": "m", "mete": "m", "meter": "m", "meters": "m", "metre": "m", "metres": "m",
    "dm": "dm", "decimeter": "dm", "decimeters": "dm", "decimetre": "dm", "decimetres": "dm",
    "cm": "cm", "cent": "cm", "centimeter": "cm", "centimeters": "cm", "centimetre": "cm",
    "centimetres": "cm",
    "mm": "mm", "mill": "mm", "millimeter": "mm", "millimeters": "mm", "millimetre": "mm",
    "millimetres": "mm",
    "in": "in", "inch": "in", "inches": "in",
    "ft": "ft", "foot": "ft", "feet": "ft",
}  # fmt: skip

AXES: Final[tuple[str, ...]] = ("+x", "-x", "+y", "-y", "+z", "-z")


def parse_length_unit(text: str) -> str | None:
    """Canonical unit (a key of ``METRES_PER``) for a spelling, or None if it is not known."""
    return _SPELLINGS.get(text.strip().strip("\x00()[]").strip().lower())


def parse_unit_option(text: str) -> str | None:
    """Canonical unit for what a user says: a spelling, or metres per unit as a number.

    ``"0.0254"`` gives ``"0.0254 m"``; None if it is neither.
    """
    known = parse_length_unit(text)
    if known is not None:
        return known
    try:
        metres = float(text)
    except ValueError:
        return None
    return f"{metres:g} m" if np.isfinite(metres) and metres > 0 else None


def metres_per(unit: str) -> float:
    """Metres in one unit, as ``parse_unit_option`` names it."""
    return METRES_PER[unit] if unit in METRES_PER else float(unit.removesuffix(" m"))


def parse_axis(text: str) -> str | None:
    """Canonical signed axis (``"+y"``) for ``"y"``, ``"+Y"`` and the like; None if unknown."""
    name = text.strip().lower()
    name = name if name.startswith(("+", "-")) else f"+{name}"
    return name if name in AXES else None


def axis_vector(axis: str) -> FloatArray:
    """Unit vector (3,) of a signed axis such as ``"-y"``."""
    return np.asarray(np.eye(3)["xyz".index(axis[1])] * (-1.0 if axis[0] == "-" else 1.0))


def rotation_to_y_up(up: str) -> FloatArray:
    """Rotation (3, 3), det = +1, that carries a frame with up axis ``up`` into one with +Y up."""
    sign = -1.0 if up[0] == "-" else 1.0
    x, y, z = np.eye(3)
    axis = {"x": x, "y": y, "z": z}[up[1]] * sign
    if up[1] == "y":
        return np.diag([1.0, sign, sign])
    # a quarter turn: the up axis goes to +Y and the axis of the turn stays
    stay = z if up[1] == "x" else x
    return (
        np.outer(y, axis) + np.outer(stay, stay) + np.outer(np.cross(stay, y), np.cross(stay, axis))
    )

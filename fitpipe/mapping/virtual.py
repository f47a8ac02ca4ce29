"""Points that a marker set makes from markers before joints are: the centres of joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import suggest
from fitpipe.mapping.centres import REGRESSIONS, chord_centre, hip_centre, shoulder_centre

# what each kind is made from: role -> how many labels (fewest, most)
_ROLES: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = {
    "first": {"of": (1, 9)},
    "mean": {"of": (2, 9)},
    "hip": {"asis": (2, 2), "back": (1, 2)},
    "shoulder": {"acromion": (1, 1), "other": (1, 1), "top": (1, 2), "bottom": (1, 2)},
    "chord": {"above": (1, 1), "lateral": (1, 1), "plane": (1, 1)},
    "sphere": {"base": (3, 9), "distal": (1, 9)},
    "score": {"base": (3, 9), "distal": (3, 9)},
}
_OPTIONS: Final = {
    "hip": ("side", "regression"),
    "chord": ("half_width_m",),
    "sphere": ("sd_m",),
    "score": ("sd_m",),
}
_SURE_M: Final = 0.01
_TURN_RAD: Final = 0.1  # noise and sliding skin are taken for a turn below


@dataclass(frozen=True)
class Virtual:
    """A point made from markers.

    Parameters
    ----------
    name : str
        Used in the recipes of joints like a label.
    kind : {"first", "mean", "hip", "shoulder", "chord", "sphere", "score"}
        first: the first of some labels that is there. mean: the middle of ``of``. hip: regression
        on ``asis`` (left, right) and ``back`` (both posterior spines, or the sacrum). shoulder:
        below ``acromion``. chord: ``half_width_m`` inwards from ``lateral``. sphere, score: the
        point about which ``distal`` turns in ``base``, taken only if the take moves enough to
        place it within ``sd_m``.
    markers : mapping of str to tuple of str
        Labels by role; a label may be another virtual point that stands before.
    segment : tuple of str
        Three markers or more that move with the point: with a static trial that shows what the
        take does not, the point is carried over by them.
    options : mapping of str to str or float
    """

    name: str
    kind: str
    markers: Mapping[str, tuple[str, ...]]
    segment: tuple[str, ...] = ()
    options: Mapping[str, Any] | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every label it is made from."""
        return tuple(dict.fromkeys(label for labels in self.markers.values() for label in labels))

    def make(self, at: Callable[[str], FloatArray]) -> tuple[FloatArray, str]:
        """The point (time, 3) in metres, and why it cannot be made; empty if it can.

        Parameters
        ----------
        at : callable
            Position (time, 3) of a label.
        """
        options = self.options or {}
        points = {role: [at(label) for label in labels] for role, labels in self.markers.items()}
        if self.kind in ("first", "mean"):
            return np.asarray(np.mean(points["of"], axis=0)), ""
        if self.kind == "hip":
            back = np.mean(points["back"], axis=0)
            left, right = points["asis"]
            regression = options.get("regression", "harrington")
            made = hip_centre(left, right, back, side=options["side"], regression=regression)
            return made, ""
        if self.kind == "shoulder":
            top, bottom = (np.mean(points[role], axis=0) for role in ("top", "bottom"))
            return shoulder_centre(points["acromion"][0], points["other"][0], top, bottom), ""
        if self.kind == "chord":
            above, lateral, plane = (points[role][0] for role in ("above", "lateral", "plane"))
            return chord_centre(above, lateral, plane, options["half_width_m"]), ""
        return self._from_motion(points, float(options.get("sd_m", _SURE_M)))

    def _from_motion(
        self, points: Mapping[str, Sequence[FloatArray]], sd_m: float
    ) -> tuple[FloatArray, str]:
        from fitpipe.mapping.functional import score_centre, sphere_centre

        base, distal = (np.stack(points[role], axis=1) for role in ("base", "distal"))
        found = (sphere_centre if self.kind == "sphere" else score_centre)(base, distal)
        if found is None:
            return np.empty((0, 3)), "too few frames show its markers, or nothing turns"
        if not found.turn_rad >= _TURN_RAD:
            return np.empty((0, 3)), (
                f"it turns too little: by {np.degrees(found.turn_rad):.0f} degrees about its "
                f"second axis ({np.degrees(_TURN_RAD):.0f} wanted)"
            )
        if not found.sd_m <= sd_m:
            return np.empty((0, 3)), (
                f"the motion places it no better than {1000 * found.sd_m:.0f} mm "
                f"({1000 * sd_m:.0f} mm wanted)"
            )
        return found.centre_m, ""


def read_virtual(table: Any, faults: list[str]) -> dict[str, Virtual]:
    """Virtual points from the table of a marker set; faults are noted.

    Parameters
    ----------
    table : mapping
        Name -> table with ``kind``, the labels of each role, and options.
    faults : list of str
    """
    if not isinstance(table, Mapping):
        faults.append(f"virtual is {table!r}, expected a table: name = {{ kind = ..., ... }}")
        return {}
    made = {}
    for name, given in table.items():
        if isinstance(given, Virtual):
            made[str(name)] = given
            continue
        before = len(faults)
        virtual = _read_one(str(name), given, faults)
        if virtual is not None and len(faults) == before:
            made[str(name)] = virtual
    return made


def _read_one(name: str, given: Any, faults: list[str]) -> Virtual | None:
    if not isinstance(given, Mapping) or given.get("kind") not in _ROLES:
        kind = given.get("kind") if isinstance(given, Mapping) else given
        faults.append(f"virtual {name}: kind {kind!r}; {suggest(str(kind), _ROLES)}")
        return None
    kind = str(given["kind"])
    roles = _ROLES[kind]
    allowed = ("kind", "segment", *roles, *_OPTIONS.get(kind, ()))
    faults += [
        f"virtual {name}: unknown key {key!r}; {suggest(str(key), allowed)}"
        for key in given
        if key not in allowed
    ]
    markers = {}
    for role, (fewest, most) in roles.items():
        labels = _labels(given.get(role))
        if labels is None or not fewest <= len(labels) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            faults.append(
                f"virtual {name}: {role} is {given.get(role)!r}, expected {wanted} labels"
            )
        else:
            markers[role] = labels
    segment = _labels(given.get("segment", []))
    if segment is None or 0 < len(segment) < 3:
        faults.append(f"virtual {name}: segment is {given.get('segment')!r}, expected 3 labels")
        segment = ()
    options = {key: given[key] for key in _OPTIONS.get(kind, ()) if key in given}
    faults += [f"virtual {name}: {fault}" for fault in _option_faults(kind, options)]
    return Virtual(name, kind, markers, segment, options)


def _labels(given: Any) -> tuple[str, ...] | None:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or not all(isinstance(lb, str) and lb for lb in given):
        return None
    return tuple(given)


def _option_faults(kind: str, options: Mapping[str, Any]) -> list[str]:
    faults = []
    if kind == "hip" and options.get("side") not in ("left", "right"):
        faults.append(f"side is {options.get('side')!r}, expected 'left' or 'right'")
    regression = options.get("regression", "harrington")
    if regression not in REGRESSIONS:
        faults.append(f"regression {regression!r}; {suggest(str(regression), REGRESSIONS)}")
    for key in ("half_width_m", "sd_m"):
        value = options.get(key, 0.01 if key == "sd_m" or kind != "chord" else None)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < 1 or not math.isfinite(value):
            faults.append(f"{key} is {value!r}, expected metres between 0 and 1")
    return faults

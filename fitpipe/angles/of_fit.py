"""Joint angles of a fit, block by block, and the fit held to their limits if that is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fitpipe.angles.laying import define
from fitpipe.angles.limited import check_limits, keep_limits
from fitpipe.angles.running_on import RunningOn
from fitpipe.angles.skeleton_angles import measure
from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.config import AnglesConfig
from fitpipe.errors import ConfigError
from fitpipe.records import Finding, LimitStatus, Skeleton, SkeletonAngles

REACH_FRAMES = 1024  # on either side of a block, from which twist is carried into it
_EXCEED = "joint angles exceed the limits"


class Window(NamedTuple):
    """Fitted frames, and what they are fitted to: the least sum of ½ stiffness |x - target|²."""

    position_m: FloatArray  # (time, joint, 3), NaN where absent
    target_m: FloatArray  # (time, joint, 3)
    stiffness: FloatArray  # (time, joint)

    def followed_by(self, other: Window) -> Window:
        """These frames, then others."""
        return Window(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def rows(self, rows: slice | BoolArray) -> Window:
        """Some of the frames."""
        return Window(*(array[rows] for array in self))


class AnglesOfBlock(NamedTuple):
    """Angles of a block, and the positions they belong to."""

    angles: SkeletonAngles
    position_m: FloatArray  # (time, joint, 3)
    is_refitted: BoolArray  # (time,) frames fitted anew within the limits
    is_converged: BoolArray  # (time,) those of them that came to rest


class AnglesOfFit:
    """The angles of fitted positions; with ``settings.limits`` these are held to their limits.

    Each block is seen with the frames around it, and its angles run on from the block before.

    Parameters
    ----------
    skeleton : Skeleton
    bone_length_m : ndarray, shape (link,), metres
    settings : AnglesConfig
    n_frames : int
        Of all blocks together.

    Raises
    ------
    ConfigError
        The preset does not exist or does not fit the skeleton, or limits are asked for and it has
        none.
    SolveError
        Limits are asked for and rigid pairs are in the way.
    """

    def __init__(
        self, skeleton: Skeleton, bone_length_m: FloatArray, settings: AnglesConfig, n_frames: int
    ) -> None:
        self._definition = define(skeleton, settings.preset)
        self._length_m = bone_length_m[: skeleton.n_bones]
        self._has_limits, self._n_frames = settings.limits, n_frames
        n_segments = len(self._definition.segments)
        self._running = RunningOn([self._definition.most_rad(s) for s in range(n_segments)])
        self._beyond = _Beyond()  # as measured
        self._left = _Beyond()  # after the fit within the limits
        self._n_refitted = self._n_open = 0
        self._moved = np.zeros(3)  # J0 before and after, and half the stiffness, of refitted frames
        if settings.limits:
            if not self._definition.is_limited.any():
                raise ConfigError(
                    f"angles.limits is true, but the preset {self._definition.preset.name!r} has "
                    "no limits",
                    hint="set angles.preset to one with limits, or angles.limits = false",
                )
            check_limits(self._definition)

    def needs(self, begin: int, end: int) -> tuple[int, int]:
        """The frames that have a say in the angles of frames ``begin`` to ``end``."""
        return max(begin - REACH_FRAMES, 0), min(end + REACH_FRAMES, self._n_frames)

    def of_block(self, window: Window, begin: int, end: int) -> AnglesOfBlock:
        """The angles of frames ``begin`` to ``end``; ``window`` holds those that they need."""
        low, _ = self.needs(begin, end)
        own = slice(begin - low, end - low)
        angles = measure(window.position_m, self._definition, self._length_m)
        self._beyond.add(angles, own)
        if not self._has_limits:
            none = np.zeros(end - begin, np.bool_)
            return AnglesOfBlock(self._run_on(angles, own), window.position_m[own], none, none)
        limited = keep_limits(angles, self._definition, *window)
        self._left.add(limited.angles, own)
        refitted, converged = limited.is_refitted[own], limited.is_converged[own]
        self._n_refitted += int(refitted.sum())
        self._n_open += int((refitted & ~converged).sum())
        self._moved += _moved(window.rows(own), limited.position_m[own], refitted)
        return AnglesOfBlock(
            self._run_on(limited.angles, own), limited.position_m[own], refitted, converged
        )

    def findings(self) -> tuple[Finding, ...]:
        """What was noticed in the blocks so far."""
        preset = repr(self._definition.preset.name)
        found: list[Finding] = []
        if not self._has_limits:
            found += self._beyond.findings(preset)
        if self._n_refitted:
            was, now = 1e3 * np.sqrt(self._moved[:2] / self._moved[2])
            found.append(
                Finding(
                    f"joint angles exceeded the limits of the preset {preset} in "
                    f"{self._n_refitted} frames ({self._beyond.worst})",
                    "fitted anew within them; their weighted rms distance to the data rose from "
                    f"{was:.1f} to {now:.1f} mm",
                    "note",
                    "angles.limits = false leaves them",
                )
            )
        if self._n_open:
            found.append(
                Finding(
                    f"the fit within the joint limits did not come to rest in {self._n_open} "
                    "frames",
                    "frame_status is stalled",
                )
            )
        if self._left.n_frames:
            found.append(
                Finding(
                    f"joint angles still exceed their limits in {self._left}",
                    "flagged in angles.limit_status",
                )
            )
        return tuple(found)

    def _run_on(self, angles: SkeletonAngles, own: slice) -> SkeletonAngles:
        if own == slice(0, self._n_frames):
            return angles
        part: dict[str, Any] = {name: array[own] for name, array in angles.per_frame.items()}
        return self._running.on(replace(angles, **part))


def log_of(angles: SkeletonAngles, log: tuple[Finding, ...] = ()) -> tuple[Finding, ...]:
    """A log with what is to be told of these angles, in place of what it told of others."""
    beyond = _Beyond()
    beyond.add(angles, slice(None))
    kept = (finding for finding in log if not finding.what.startswith(_EXCEED))
    return (*kept, *beyond.findings(repr(angles.preset)))


class _Beyond:
    """Counts the frames in which angles exceed their limits."""

    def __init__(self) -> None:
        self.n_frames = 0
        self._labels: tuple[str, ...] = ()
        self._counts: IntArray = np.zeros(0, np.int64)  # (segment,)

    def add(self, angles: SkeletonAngles, own: slice) -> None:
        beyond = angles.limit_status[own] == LimitStatus.BEYOND
        self._labels = angles.segment_label
        self._counts = beyond.sum(axis=0) + (self._counts if self._counts.size else 0)
        self.n_frames += int(beyond.any(axis=1).sum())

    def findings(self, preset: str) -> tuple[Finding, ...]:
        """Says which angles exceed their limits, and in how many frames."""
        if not self.n_frames:
            return ()
        return (
            Finding(
                f"{_EXCEED} of the preset {preset} in {self}",
                "flagged in angles.limit_status",
                "note",
                "angles.limits = true fits these frames within the limits",
            ),
        )

    @property
    def worst(self) -> str:
        """The segments that exceed their limits most often, with the number of frames."""
        order = np.argsort(-self._counts, kind="stable")
        told = [f"{self._labels[s]} {self._counts[s]}" for s in order[:5] if self._counts[s]]
        return ", ".join(told) + (", ..." if np.count_nonzero(self._counts) > 5 else "")

    def __str__(self) -> str:
        return f"{self.n_frames} frames ({self.worst})"


def _moved(window: Window, position_m: FloatArray, refitted: BoolArray) -> FloatArray:
    """J0 of the refitted frames before and after, and half their stiffness."""
    _, target, stiffness = window.rows(refitted)
    steps = [x[refitted] - target for x in (window.position_m, position_m)]
    J0 = [np.nansum(0.5 * stiffness * np.einsum("tjc,tjc->tj", step, step)) for step in steps]
    return np.array([*J0, 0.5 * stiffness.sum()])

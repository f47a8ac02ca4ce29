"""Fits frame after frame, each pulled to where the ones before it lead: for live use.

Every frame minimises J0(x) + w_P Σ_i |x_i − p_i|² under exact bones (formulation.md section 1),
with p_i = the last fitted joint moved on by its velocity, that of an α–β filter: with
α_i = h_i / (h_i + 2 w_P) the share the data have in joint i, it follows the correction with gain
β = α² / (2 − α) (Benedict and Bordner 1962, doi:10.1109/TAC.1962.1105477).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fitpipe.arrays import BoolArray, ByteArray, FloatArray
from fitpipe.config import FitConfig, SolveConfig, make_config
from fitpipe.errors import RecordError, SolveError, suggest
from fitpipe.kernels.tree_newton import fit_tree
from fitpipe.records import FrameStatus, JointStatus, Skeleton, SourceTransform
from fitpipe.solve.frames import kernel_tree
from fitpipe.solve.gaps import ONE_SIDED, ROUNDING
from fitpipe.solve.problem import weighted_mean
from fitpipe.solve.residuals import residuals
from fitpipe.solve.rigid_pairs import refuse_rigid_pairs
from fitpipe.solve.smoothness import CHI_MEDIAN, robust_weight

_LEARNING = 0.05  # least share by which a noise level moves in a frame
_TRUSTED_AFTER = 10  # sightings before a noise level may set observations aside


@dataclass(frozen=True, eq=False)
class FrameFit:
    """The skeleton fitted to one frame.

    Parameters
    ----------
    time_s : float, seconds
    position : ndarray, shape (joint, 3), metres
        In the reference frame; NaN where absent.
    status : ndarray of uint8, shape (joint,)
        JointStatus.
    frame_status : FrameStatus
        Of the frame's own problem, given the frames before.
    objective : float, square metres
        J0: the weighted sum of squared distances to the observations; NaN without a skeleton.
    iterations : int
    worst_bone_error : float, metres
        NaN without a skeleton.
    multiplier : ndarray, shape (bone,)
        How hard data and prediction pull on each bone, metres.
    weight, residual : ndarray, shape (source, joint)
        What each observation counted for, and its distance to the fitted joint, metres.
    """

    time_s: float
    position: FloatArray
    status: ByteArray
    frame_status: FrameStatus
    objective: float
    iterations: int
    worst_bone_error: float
    multiplier: FloatArray
    weight: FloatArray
    residual: FloatArray


class Tracker:
    """Fits a skeleton to frames as they come, from one or several sources.

    The same frames give the same numbers, bit for bit, as a fit with
    ``solve.temporal = "previous"`` that is given the same bone lengths and transforms.

    Parameters
    ----------
    skeleton : Skeleton
        With bone lengths.
    sources : int or sequence of str
        How many there are, or their names.
    transforms : sequence of SourceTransform, optional
        Into the reference frame, one per source; None if all observations are in it already.
    rate_hz : float, frames per second
        Time between two frames where ``update`` is not told.
    config : FitConfig, SolveConfig or mapping, optional
        As for ``fitpipe.fit``; of it, ``solve`` counts.

    Raises
    ------
    RecordError, SolveError, ConfigError
        The skeleton has no lengths, or transforms and sources do not fit each other.

    Examples
    --------
    >>> tracker = Tracker(skeleton, sources=("left", "right"))
    >>> fit = tracker.update({"left": points_left, "right": points_right})
    """

    def __init__(
        self,
        skeleton: Skeleton,
        *,
        sources: int | Sequence[str] = 1,
        transforms: Sequence[SourceTransform] | None = None,
        rate_hz: float = 30.0,
        config: FitConfig | SolveConfig | Mapping[str, Any] | None = None,
    ) -> None:
        if skeleton.bone_length_m is None:
            raise RecordError(
                f"skeleton {skeleton.name!r} has no bone lengths",
                hint="take fit(...).skeleton of a take, which has them, or skeleton.with_lengths",
            )
        refuse_rigid_pairs(skeleton)
        if isinstance(sources, int):
            sources = [str(i) for i in range(sources)]
        self.skeleton, self.sources = skeleton, tuple(sources)
        if transforms is not None and len(transforms) != len(self.sources):
            raise SolveError(f"{len(transforms)} transforms for {len(self.sources)} sources")
        if not rate_hz > 0:
            raise SolveError(f"rate_hz is {rate_hz:g}, expected above 0")
        self._transforms = transforms
        self._tick_s = 1.0 / rate_hz
        self._settings = (
            config if isinstance(config, SolveConfig) else make_config(FitConfig, config).solve
        )
        self._tree = kernel_tree(skeleton)
        self._back = np.argsort(self._tree.order)
        self._of_pairs = np.full(skeleton.n_links - skeleton.n_bones, np.nan)  # of unknown length
        self.reset()

    def reset(self) -> None:
        """Forget all frames."""
        n_joints, n_sources = self.skeleton.n_joints, len(self.sources)
        self._time_s: float | None = None
        self._position = np.full((n_joints, 3), np.nan)  # by slot, like all below
        self._velocity = np.zeros((n_joints, 3))
        self._seen_s = np.full(n_joints, -np.inf)
        self._typical = np.zeros((n_sources, n_joints))  # distance to the prediction
        self._sightings = np.zeros((n_sources, n_joints), np.int64)

    def update(
        self,
        observations: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
        *,
        time_s: float | None = None,
        weight: npt.ArrayLike | None = None,
    ) -> FrameFit:
        """Fit the next frame.

        Parameters
        ----------
        observations : mapping of source to array, or array of shape (source, joint, 3), metres
            NaN where a joint was not seen; a source left out of the mapping saw nothing. With one
            source, an array of shape (joint, 3) will do.
        time_s : float, seconds, optional
            Later than the frame before; by default one tick later.
        weight : array of shape (source, joint), optional
            Non-negative; 1 by default.

        Raises
        ------
        SolveError
            An array has the wrong shape, a source is unknown, or time does not go on.
        """
        observed = self._stacked(observations)
        given = self._weights(weight, observed)
        before = self._time_s
        if time_s is None:
            time_s = 0.0 if before is None else before + self._tick_s
        elapsed = 0.0 if before is None else time_s - before
        if before is not None and not elapsed > 0:
            raise SolveError(f"frame at {time_s:g} s comes after one at {before:g} s")
        return self._fit(observed, given, float(time_s), elapsed)

    def _fit(
        self, observed: FloatArray, given: FloatArray, time_s: float, elapsed: float
    ) -> FrameFit:
        """One frame; arrays (source, joint, ...) by slot."""
        settings, tree = self._settings, self._tree
        limit_s = ONE_SIDED * settings.max_gap_s * ROUNDING
        predicted = self._position + elapsed * self._velocity
        is_recent = time_s - self._seen_s <= limit_s
        is_led = np.asarray(~np.isnan(predicted[:, 0]) & is_recent)
        weight = self._judged(observed, given, predicted, is_led)
        target, total = (a[0] for a in weighted_mean(observed[None], weight[None]))
        data = 2.0 * total
        pull = np.where(is_led, 2.0 * settings.previous_weight, 0.0)
        stiffness = data + pull
        led = np.where(is_led[:, None], predicted, 0.0)
        mixed = data[:, None] * target + pull[:, None] * led
        mixed /= np.where(stiffness > 0, stiffness, 1.0)[:, None]
        fitted = fit_tree(
            mixed[None],
            stiffness[None],
            tree.length_m,
            tree.parent,
            start=self._start(predicted, is_led),
            rest=tree.rest,
            tolerance_m=settings.stop_step_m,
            max_iterations=settings.max_iterations,
        )
        position, active = fitted.position[0], fitted.active[0]
        share = np.divide(data, stiffness, out=np.zeros_like(data), where=stiffness > 0)
        if elapsed > 0:
            # x - p is α times the innovation already
            gain = share / (2.0 - share) / elapsed
            follow = np.where(is_led & active, gain, 0.0)[:, None]
            self._velocity = self._velocity + follow * np.where(
                is_led[:, None], position - led, 0.0
            )
        self._velocity[~is_led] = 0.0
        self._seen_s = np.where(data > 0, time_s, self._seen_s)
        self._position, self._time_s = position, time_s

        status = np.where(active, JointStatus.CARRIED, JointStatus.ABSENT)
        status = np.where(is_led, JointStatus.INTERPOLATED, status)
        status = np.where(data > 0, JointStatus.OBSERVED, status).astype(np.uint8)
        back = self._back
        residual = residuals(position[None], observed[None])[0]
        outcome = FrameStatus(int(fitted.outcome[0]))
        squared = np.where(weight > 0, residual, 0.0) ** 2
        return FrameFit(
            time_s=time_s,
            position=position[back],
            status=status[back],
            frame_status=outcome,
            objective=float((weight * squared).sum()) if outcome else float("nan"),
            iterations=int(fitted.iterations[0]),
            worst_bone_error=float(fitted.worst_bone_error[0]),
            multiplier=np.concatenate([fitted.multiplier[0, tree.child], self._of_pairs]),
            weight=weight[:, back],
            residual=residual[:, back],
        )

    def _start(self, predicted: FloatArray, is_led: BoolArray) -> FloatArray | None:
        """Predicted directions of the bones, (1, joint, 3); None where one is not known."""
        bone = np.flatnonzero(self._tree.parent >= 0)
        parent = self._tree.parent[bone]
        if not (is_led[bone] & is_led[parent]).all():
            return None
        along = predicted[bone] - predicted[parent]
        length = np.linalg.norm(along, axis=-1, keepdims=True)
        start = self._tree.rest.copy()
        start[bone] = np.divide(along, length, out=start[bone], where=length > 0)
        return start[None]

    def _judged(
        self, observed: FloatArray, given: FloatArray, predicted: FloatArray, is_led: BoolArray
    ) -> FloatArray:
        """Weights against the prediction; the noise levels learn from what is seen."""
        if not self._settings.robust:
            return given
        known = (given > 0) & is_led
        apart = np.where(known, np.linalg.norm(observed - predicted, axis=-1), 0.0)
        trusted = known & (self._sightings >= _TRUSTED_AFTER)
        noise = np.where(trusted, self._typical / CHI_MEDIAN, np.inf)
        judged: FloatArray = robust_weight(
            given[None], observed[None], np.where(is_led[:, None], predicted, 0.0)[None], noise
        )[0]
        # A running median: a step up or down, whatever the distance, so outliers do not pull it.
        self._sightings = self._sightings + known
        step = np.maximum(_LEARNING, 1.0 / np.maximum(self._sightings, 1))
        moved = self._typical * np.where(apart > self._typical, 1.0 + step, 1.0 / (1.0 + step))
        moved = np.where(self._typical > 0, moved, apart)
        self._typical = np.where(known, moved, self._typical)
        return judged

    def _stacked(self, observations: Any) -> FloatArray:
        """(source, joint, 3) by slot, in the reference frame; samples not finite are NaN."""
        n_sources, n_joints = len(self.sources), self.skeleton.n_joints
        if isinstance(observations, Mapping):
            unknown = [name for name in observations if name not in self.sources]
            if unknown:
                raise SolveError(
                    f"no source {unknown[0]!r}", hint=suggest(str(unknown[0]), self.sources)
                )
            nothing = np.full((n_joints, 3), np.nan)
            observations = [observations.get(name, nothing) for name in self.sources]
        array = np.asarray(observations, dtype=np.float64)
        if n_sources == 1 and array.shape == (n_joints, 3):
            array = array[None]
        if array.shape != (n_sources, n_joints, 3):
            raise SolveError(
                f"observations have shape {array.shape}, expected ({n_sources}, {n_joints}, 3): "
                "source, joint, xyz"
            )
        if self._transforms is not None:
            array = np.stack([t.apply(a) for t, a in zip(self._transforms, array, strict=True)])
        array = array[:, self._tree.order]
        return np.where(np.isfinite(array).all(axis=-1, keepdims=True), array, np.nan)

    def _weights(self, weight: npt.ArrayLike | None, observed: FloatArray) -> FloatArray:
        seen = ~np.isnan(observed[..., 0])
        if weight is None:
            return seen.astype(np.float64)
        array = np.asarray(weight, dtype=np.float64)
        if array.shape != seen.shape:
            raise SolveError(f"weight has shape {array.shape}, expected {seen.shape}")
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise SolveError("weight has values that are negative or not finite")
        return np.where(seen, array[:, self._tree.order], 0.0)

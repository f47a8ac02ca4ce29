"""The rigid transform between two clouds of paired points: least squares, and robust."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from fitpipe.arrays import BoolArray, FloatArray, IntArray
from fitpipe.calibrate.robust import tukey_weights
from fitpipe.errors import DegenerateCloudError

_NOISE_FLOOR_M: Final = 1e-6  # no sensor is better than a micrometre; keeps exact data finite
_START_SAMPLES: Final = 1_000
_N_STARTS: Final = 30  # chance that none of 30 triples is clean at 30 % outliers: 3e-6
_KEPT: Final = 0.6  # share of the points a start must explain
_STRETCHES: Final = 20
# Depth of joints below the skin differs by so much (rms per axis): flesh is 3 to 12 cm thick.
# Joints that lie further apart are tracked wrongly, and not by the same vector all the time.
_SKIN_M: Final = 0.01
_MAX_ROUNDS: Final = 100
_CONVERGED: Final = 1e-8  # metres and radians, alike


class Alignment(NamedTuple):
    """Result of ``align_rigid`` and ``align_robust``."""

    R_target_source: FloatArray
    t_target_m: FloatArray
    rms_m: float
    scale: float
    inlier_share: float = 1.0

    def distance(self, source_m: FloatArray, target_m: FloatArray) -> FloatArray:
        """How far each carried source point lies from its target, metres."""
        left = _turned(source_m, self.R_target_source) + self.t_target_m - target_m
        return _norm(left)


def align_rigid(
    source_m: FloatArray,
    target_m: FloatArray,
    *,
    weight: FloatArray | None = None,
    min_spread_m: float = 1e-3,
) -> Alignment:
    """Rotation and translation that carry one point cloud onto another (weighted Kabsch).

    Parameters
    ----------
    source_m, target_m : ndarray, shape (point, 3), metres
        Row i of both is the same point.
    weight : ndarray, shape (point,), optional
        Non-negative; zero leaves the point out.
    min_spread_m : float, metres
        Both clouds must be at least this wide (rms) in two directions.

    Returns
    -------
    Alignment
        ``R_target_source`` (3, 3) with det = +1, ``t_target_m`` (3,), so that
        ``target ≈ R @ source + t``; the weighted rms distance left; and the scale that would fit
        best, which is not applied.

    Raises
    ------
    DegenerateCloudError
        The points lie on a line or coincide, so no rotation is determined.

    References
    ----------
    Kabsch (1976), doi:10.1107/S0567739476001873. Umeyama (1991), doi:10.1109/34.88573, for the
    reflection guard (his equations 39 and 40) and the scale (41 and 42).
    """
    w = np.ones(len(source_m)) if weight is None else np.asarray(weight, dtype=np.float64)
    _check_spread(source_m, target_m, w, min_spread_m)
    w = w / w.sum()
    source_centre, target_centre = _mean(source_m, w), _mean(target_m, w)
    R = _rotation(_product(target_m - target_centre, source_m - source_centre, w))
    return _alignment(R, target_centre - R @ source_centre, source_m, target_m, w)


def align_robust(
    source_m: FloatArray,
    target_m: FloatArray,
    joint: IntArray,
    *,
    weight: FloatArray | None = None,
    min_spread_m: float = 1e-3,
) -> Alignment:
    """Rigid transform between two clouds with wrong points, and joints the sources see apart.

    Wrong points lose their weight (Tukey's biweight, re-weighted until it settles, from the best
    of many starts on few points). A sensor sees the skin on its own side, so that two sensors
    place a joint apart by a constant vector of its own; each joint's vector is taken as a random
    effect whose variance τ² is estimated along with the noise σ². Where joints move, their
    movement then decides the rotation; where they stand still, their places do.

    Parameters
    ----------
    source_m, target_m : ndarray, shape (sample, 3), metres
        Row i of both is the same joint at the same time.
    joint : ndarray of int, shape (sample,)
        Which joint each row is, from 0.
    weight : ndarray, shape (sample,), optional
        Non-negative; zero leaves the sample out.
    min_spread_m : float, metres
        Both clouds must be at least this wide (rms) in two directions.

    Returns
    -------
    Alignment
        With rms and scale over the inliers, and their share of all samples of weight above zero.

    Raises
    ------
    DegenerateCloudError
        The points lie on a line or coincide, so no rotation is determined.

    References
    ----------
    Start: Rousseeuw and Van Driessen (2006), doi:10.1007/s10618-005-0024-4. Variances by the
    method of moments, DerSimonian and Laird (1986), doi:10.1016/0197-2456(86)90046-2.
    """
    given = np.ones(len(source_m)) if weight is None else np.asarray(weight, dtype=np.float64)
    _check_spread(source_m, target_m, given, min_spread_m)
    used = given > 0
    source, target, group, base = source_m[used], target_m[used], joint[used], given[used]
    start = _start(source, target, base)
    R, t = start.R_target_source, start.t_target_m
    apart = np.zeros((int(group.max()) + 1, 3))
    for _ in range(_MAX_ROUNDS):
        left = _turned(source, R) + t - target - apart[group]
        w = base * tukey_weights(_norm(left), dimensions=3, floor=_NOISE_FLOOR_M)
        before = R, t
        R, t, apart = _mixed_step(source, target, group, w, R)
        if max(np.abs(R - before[0]).max(), np.abs(t - before[1]).max()) < _CONVERGED:
            break
    _check_spread(source, target, w, min_spread_m)
    left = _turned(source, R) + t - target - apart[group]
    is_inlier = tukey_weights(_norm(left), dimensions=3, floor=_NOISE_FLOOR_M) > 0
    found = _alignment(R, t, source[is_inlier], target[is_inlier], base[is_inlier])
    return found._replace(inlier_share=float(is_inlier.mean()))


def _mixed_step(
    source: FloatArray, target: FloatArray, group: IntArray, w: FloatArray, R: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Variances at the rotation R, then the transform and each joint's own offset at those."""
    n_groups = int(group.max()) + 1
    total = np.bincount(group, w, n_groups).astype(np.float64)
    seen: BoolArray = total > 0
    source_mean, target_mean = (_means(cloud, group, w, total) for cloud in (source, target))
    ds, dt = source - source_mean[group], target - target_mean[group]
    turned = _turned(ds, R)
    within = turned - dt
    dof = 3 * max(w.sum() - seen.sum(), 1.0)
    noise2 = max(np.einsum("i,ij,ij->", w, within, within) / dof, _NOISE_FLOOR_M**2)
    repeats = _design_effect(turned, within, w)
    # variance of a joint's mean: noise / weight + τ²; moment estimator with its equal weights
    mean_noise2 = noise2 * repeats / np.where(seen, total, 1.0)
    between = (source_mean @ R.T - target_mean)[seen]
    between = between - between.mean(axis=0)
    spread2 = float((between**2).sum()) / max(3 * seen.sum() - 6, 1)
    tau2 = max(spread2 - float(mean_noise2[seen].mean()), 0.0) if seen.sum() > 2 else 0.0
    tau2 = min(tau2, _SKIN_M**2)

    omega = np.where(seen, 1 / (tau2 + mean_noise2), 0.0)
    source_centre, target_centre = (omega @ m / omega.sum() for m in (source_mean, target_mean))
    H = _product(dt, ds, w) / (noise2 * repeats)
    H += _product(target_mean - target_centre, source_mean - source_centre, omega)
    R = _rotation(H)
    t = target_centre - R @ source_centre
    shrink = np.where(seen, tau2 / (tau2 + mean_noise2), 0.0)
    return R, t, shrink[:, None] * (source_mean @ R.T + t - target_mean)


def _design_effect(arm: FloatArray, within: FloatArray, w: FloatArray) -> float:
    """Variance of the rotation over what independent samples would give it, 1 or more.

    Errors of one sensor drift over time and are shared by the joints of a frame. Torques of the
    residuals, summed over stretches of time, show by how much that matters.
    """
    torque = w[:, None] * np.cross(arm, within)
    naive = float(np.einsum("ij,ij->", torque, torque))
    stretches = np.linspace(0, len(w), _STRETCHES + 1).astype(np.int64)[:-1]
    if len(w) < 10 * _STRETCHES or naive <= 0:
        return 1.0
    sums = np.add.reduceat(torque, stretches)
    return max(1.0, float(np.einsum("ij,ij->", sums, sums)) / naive)


def _start(source: FloatArray, target: FloatArray, weight: FloatArray) -> Alignment:
    """A transform near most of the points: the best of least squares and many triples."""
    some = drawn(len(source), _START_SAMPLES)
    s, t, w = source[some], target[some], weight[some]
    n_kept = max(3, int(np.ceil(_KEPT * len(s))))
    rng = np.random.default_rng(0)
    subsets = [np.arange(len(s))]
    if len(s) > 3:
        subsets += [rng.choice(len(s), 3, replace=False) for _ in range(_N_STARTS)]
    best, best_loss = align_rigid(source, target, weight=weight), np.inf
    for subset in subsets:
        try:
            found = align_rigid(s[subset], t[subset], weight=w[subset])
            for _ in range(3):  # concentration: fit again to the points that fit best
                nearest = np.argsort(found.distance(s, t), kind="stable")[:n_kept]
                found = align_rigid(s[nearest], t[nearest], weight=w[nearest])
        except DegenerateCloudError:
            continue  # this subset determines no rotation; the others do
        loss = float(np.sort(found.distance(s, t))[:n_kept].sum())
        if loss < best_loss:
            best, best_loss = found, loss
    return best


def _check_spread(
    source_m: FloatArray, target_m: FloatArray, weight: FloatArray, min_spread_m: float
) -> None:
    if weight.sum() <= 0:
        raise DegenerateCloudError("no point has a weight above zero")
    w = weight / weight.sum()
    for name, cloud in (("source", source_m), ("target", target_m)):
        centred = cloud - _mean(cloud, w)
        widths = np.sqrt(np.linalg.eigvalsh(_product(centred, centred, w)).clip(0))[::-1]
        if widths[1] < min_spread_m:
            raise DegenerateCloudError(
                f"the {len(w)} {name} points are collinear or coincide (rms widths "
                f"{', '.join(f'{s * 1e3:.2f}' for s in widths)} mm), so the turn about that line "
                "is undetermined",
                hint="give points that do not lie on a line",
            )


def _rotation(H: FloatArray) -> FloatArray:
    """The rotation, det = +1, that maximises tr(R Hᵀ)."""
    U, _, Vt = np.linalg.svd(H)
    sign = 1.0 if np.linalg.det(U) * np.linalg.det(Vt) > 0 else -1.0
    return np.asarray((U * [1.0, 1.0, sign]) @ Vt)


def _alignment(
    R: FloatArray, t: FloatArray, source_m: FloatArray, target_m: FloatArray, weight: FloatArray
) -> Alignment:
    w = weight / weight.sum()
    ds, dt = source_m - _mean(source_m, w), target_m - _mean(target_m, w)
    shared = np.einsum("i,ij,ij->", w, _turned(ds, R), dt)
    left = _turned(source_m, R) + t - target_m
    rms = float(np.sqrt(np.einsum("i,ij,ij->", w, left, left)))
    return Alignment(R, t, rms, float(shared / np.einsum("i,ij,ij->", w, ds, ds)))


def _means(cloud: FloatArray, group: IntArray, w: FloatArray, total: FloatArray) -> FloatArray:
    sums = [np.bincount(group, w * column, len(total)) for column in cloud.T]
    return np.stack(sums, axis=1) / np.where(total > 0, total, 1.0)[:, None]


# Sums by einsum, not by BLAS, whose threads add in an order of their own and wait for each other.


def _mean(cloud: FloatArray, w: FloatArray) -> FloatArray:
    """Weighted mean of a cloud; the weights add up to 1."""
    return np.asarray(np.einsum("i,ij->j", w, cloud))


def _product(left: FloatArray, right: FloatArray, w: FloatArray) -> FloatArray:
    """Σ w left rightᵀ, shape (3, 3)."""
    return np.asarray(np.einsum("ij,ik->jk", w[:, None] * left, right))


def _turned(cloud: FloatArray, R: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,kj->ik", cloud, R))


def _norm(vector: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vector, vector)))


def drawn(n: int, most: int) -> IntArray:
    """Indices of at most so many of n samples, in order; the same for the same n.

    Drawn, since even steps would favour some joints.
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))

"""What one would do without fitpipe, each as well as it is usually done. NumPy and SciPy only.

All peers get the observations that fitpipe itself registered and put on one clock, (time, source,
joint, 3) metres with NaN where missing, and the sensors' own confidences. Gaps of up to half a
second are closed before filtering (the Kalman smoother closes them itself); in longer ones the
other source counts alone.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt

LONGEST_GAP_S = 0.5
# Two passes of a second-order filter: its own cut-off is raised so that both together have the one
# asked for (Winter 2009, Biomechanics and Motor Control, section 2.2.4.4).
_TWO_PASSES = 0.802
_RATIOS = np.logspace(-1, 7, 17)  # process over measurement noise, per m²/s⁵; the best is chosen


def mean_of_sources(observed: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Mean weighted by the sensors' confidences, (time, joint, 3)."""
    weight = np.where(np.isnan(observed[..., 0]), 0.0, confidence)
    total = weight.sum(axis=1)
    mean = np.einsum("tsj,tsjx->tjx", weight, np.nan_to_num(observed))
    return np.where((total > 0)[..., None], mean / np.where(total > 0, total, 1)[..., None], np.nan)


def butterworth(
    observed: np.ndarray, confidence: np.ndarray, time_s: np.ndarray, cutoff_hz: float = 6.0
) -> np.ndarray:
    """Zero-lag Butterworth of fourth order in all on each source, then the mean.

    Filters need even ticks: each joint is resampled with a cubic spline through its samples onto
    an even grid, and back.
    """
    filtered = np.full(observed.shape, np.nan)
    tick_s = float(np.median(np.diff(time_s)))
    grid_s = np.arange(time_s[0], time_s[-1] + tick_s / 2, tick_s)
    sos = butter(2, min(cutoff_hz / _TWO_PASSES * 2 * tick_s, 0.99), output="sos")
    for s in range(observed.shape[1]):
        for j in range(observed.shape[2]):
            seen = np.flatnonzero(~np.isnan(observed[:, s, j, 0]))
            if len(seen) < 4:
                continue
            spline = CubicSpline(time_s[seen], observed[seen, s, j])
            inside = np.clip(grid_s, time_s[seen[0]], time_s[seen[-1]])
            smooth = sosfiltfilt(sos, spline(inside), axis=0, padlen=min(15, len(grid_s) - 1))
            back = CubicSpline(grid_s, smooth)(np.clip(time_s, grid_s[0], grid_s[-1]))
            near = _bridged(time_s, seen)
            filtered[near, s, j] = back[near]
    return mean_of_sources(filtered, _carried(confidence, observed))


def kalman(observed: np.ndarray, confidence: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Rauch-Tung-Striebel smoother of each source (constant acceleration), then the mean.

    Driven by white jerk. Its strength relative to the measurement noise is chosen for every joint
    of every source by maximum likelihood, the noise level itself in closed form.
    """
    smoothed = np.full(observed.shape, np.nan)
    for s in range(observed.shape[1]):
        best = np.full(observed.shape[2], -np.inf)
        for ratio in _RATIOS:
            position, likelihood = _smooth(observed[:, s], time_s, ratio)
            better = likelihood > best
            best[better] = likelihood[better]
            smoothed[:, s, better] = position[:, better]
        for j in range(observed.shape[2]):
            seen = np.flatnonzero(~np.isnan(observed[:, s, j, 0]))
            smoothed[~_bridged(time_s, seen), s, j] = np.nan
    return mean_of_sources(smoothed, _carried(confidence, observed))


def snap_bones(
    position: np.ndarray, parents: tuple[int, ...], order: np.ndarray, length_m: np.ndarray
) -> np.ndarray:
    """From the root to the tips, each joint moved along its bone to the bone's length.

    ``length_m`` (joint,): of the bone to the parent; NaN leaves a joint where it is.
    """
    snapped = position.copy()
    for j in order.tolist():
        p = parents[j]
        if p < 0 or np.isnan(length_m[j]):
            continue
        step = position[:, j] - position[:, p]
        norm = np.linalg.norm(step, axis=-1, keepdims=True)
        moved = snapped[:, p] + length_m[j] * step / np.where(norm > 0, norm, 1)
        whole = ~np.isnan(moved[:, 0])
        snapped[whole, j] = moved[whole]
    return snapped


def _bridged(time_s: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Frames seen, or within a gap short enough to be closed."""
    if len(seen) == 0:
        return np.zeros(len(time_s), dtype=bool)
    after = np.searchsorted(seen, np.arange(len(time_s))).clip(0, len(seen) - 1)
    before = np.where(seen[after] <= np.arange(len(time_s)), after, after - 1)
    inside = (before >= 0) & (seen[after] >= np.arange(len(time_s)))
    return inside & (time_s[seen[after]] - time_s[seen[before.clip(0)]] <= LONGEST_GAP_S)


def _carried(confidence: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Confidence with that of the last sample seen in gaps that were closed."""
    filled = confidence.copy()
    lost = np.isnan(observed[..., 0])
    filled[0][lost[0]] = 0.2
    for t in range(1, len(filled)):
        filled[t] = np.where(lost[t], filled[t - 1], filled[t])
    return filled


def _smooth(
    observed: np.ndarray, time_s: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """Smoothed positions (time, joint, 3) and log-likelihood (joint,) at a noise ratio."""
    n_time, n_joints, _ = observed.shape
    seen = ~np.isnan(observed[..., 0])
    ticks = np.diff(time_s, prepend=time_s[0])
    first = seen.argmax(axis=0)
    mean = np.zeros((n_joints, 3, 3))  # joint, state (x, v, a), axis
    mean[:, 0] = np.nan_to_num(observed[first, np.arange(n_joints)])
    covariance = np.tile(np.diag([1e2, 1e4, 1e6]), (n_joints, 1, 1)).astype(float)
    means, covariances, before_means, before_covariances = [], [], [], []
    square, log_s, count = np.zeros(n_joints), np.zeros(n_joints), np.zeros(n_joints)
    for t in range(n_time):
        F, Q = _model(ticks[t], ratio)
        mean = F @ mean
        covariance = F @ covariance @ F.T + Q
        before_means.append(mean)
        before_covariances.append(covariance)
        S = covariance[:, 0, 0] + 1.0
        gain = np.where(seen[t, :, None], covariance[:, :, 0] / S[:, None], 0.0)
        off = np.where(seen[t, :, None], observed[t] - mean[:, 0], 0.0)
        settled = seen[t] & (t > first + 3)
        square += np.where(settled, np.sum(off**2, axis=1) / S, 0.0)
        log_s += np.where(settled, 3 * np.log(S), 0.0)
        count += np.where(settled, 3, 0)
        mean = mean + gain[:, :, None] * off[:, None, :]
        covariance = covariance - gain[:, :, None] * covariance[:, None, 0, :]
        means.append(mean)
        covariances.append(covariance)
    result = np.empty(observed.shape)
    result[-1] = means[-1][:, 0]
    late = means[-1]
    for t in range(n_time - 2, -1, -1):
        F, _ = _model(ticks[t + 1], ratio)
        G = covariances[t] @ F.T @ np.linalg.inv(before_covariances[t + 1])
        late = means[t] + G @ (late - before_means[t + 1])
        result[t] = late[:, 0]
    count = np.maximum(count, 1)
    likelihood = -0.5 * (count * np.log(np.maximum(square / count, 1e-12)) + log_s)
    return result, likelihood


def _model(tick_s: float, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Transition and noise of a white-jerk process over a tick, measurement noise 1."""
    h = tick_s
    F = np.array([[1, h, h * h / 2], [0, 1, h], [0, 0, 1]])
    Q = ratio * np.array(
        [
            [h**5 / 20, h**4 / 8, h**3 / 6],
            [h**4 / 8, h**3 / 3, h**2 / 2],
            [h**3 / 6, h**2 / 2, h],
        ]
    )
    return F, Q

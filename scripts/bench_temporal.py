"""Compares fits over time with what else one would do about noise, on motions with known truth.

Usage: python scripts/bench_temporal.py [--frames 6000] [--quick]

Two sources see a simulated motion at 30 Hz with Gaussian noise on every axis and a share of samples
displaced by 150 mm; the transforms, the clock and the bone lengths are known, so that only the
treatment of noise differs. Errors are mean distances to the true joints, in millimetres. Speed is
frames per second of processor time on one core, kernels loaded, the choice of smoothness included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.signal import butter, sosfiltfilt

from fitpipe.arrays import FloatArray
from fitpipe.config import SolveConfig
from fitpipe.records import Skeleton
from fitpipe.simulate import Motion, reach_and_turn, walk
from fitpipe.solve import Tracker, fit_frames, fit_take, pose_problem

RATE_HZ = 30.0
OUTLIER_M = 0.15
SETS = ((0.015, 0.0), (0.015, 0.03), (0.015, 0.10), (0.005, 0.03))  # noise, outlier share


def observe(motion: Motion, noise_m: float, outlier_share: float, seed: int = 0) -> FloatArray:
    """Two sources' observations, (time, source, joint, 3)."""
    rng = np.random.default_rng(seed)
    shape = (len(motion.time_s), 2, motion.skeleton.n_joints)
    noise = noise_m * rng.standard_normal((*shape, 3))
    away = rng.standard_normal((*shape, 3))
    away *= OUTLIER_M / np.linalg.norm(away, axis=-1, keepdims=True)
    is_outlier = rng.random(shape) < outlier_share
    return np.asarray(motion.position_m[:, None] + noise + away * is_outlier[..., None])


def butterworth(y: FloatArray, cutoff_hz: float) -> FloatArray:
    """Zero-lag fourth-order low-pass of every source, as gait laboratories do it."""
    sos = butter(2, cutoff_hz, fs=RATE_HZ, output="sos")
    return np.asarray(sosfiltfilt(sos, y, axis=0))


def kalman_rts(y: FloatArray) -> FloatArray:
    """Constant-velocity Kalman filter and Rauch-Tung-Striebel smoother of every source.

    Measurement noise of each source's joint from third differences, process noise by likelihood.
    """
    rough = np.diff(y, 3, axis=0)
    r = (np.median(np.abs(rough), axis=(0, 3)) / 0.6745) ** 2 / 20.0
    r = np.repeat(r[..., None], 3, axis=-1)  # (source, joint, 3)
    best, score = np.empty_like(y), np.full(r.shape, np.inf)
    for q in 10.0 ** np.arange(-2.0, 3.5):
        smoothed, loss = _kalman_rts(y, r, q)
        better = loss < score
        score = np.where(better, loss, score)
        best = np.where(better, smoothed, best)
    return best


def _kalman_rts(y: FloatArray, r: FloatArray, q: float) -> tuple[FloatArray, FloatArray]:
    dt = 1.0 / RATE_HZ
    n_time = len(y)
    x, v = y[0].copy(), np.zeros_like(y[0])
    a, b, c = r.copy(), np.zeros_like(r), np.full_like(r, 10.0)  # covariance [[a, b], [b, c]]
    kept: list[tuple[FloatArray, ...]] = []
    loss = np.zeros_like(r)
    for t in range(n_time):
        if t:
            px, pv = x + dt * v, v
            pa = a + 2 * dt * b + dt * dt * c + q * dt**3 / 3
            pb = b + dt * c + q * dt**2 / 2
            pc = c + q * dt
        else:
            px, pv, pa, pb, pc = x, v, a, b, c
        innovation, s = y[t] - px, pa + r
        loss += np.log(s) + innovation**2 / s
        k0, k1 = pa / s, pb / s
        x, v = px + k0 * innovation, pv + k1 * innovation
        a, b, c = pa - k0 * pa, pb - k0 * pb, pc - k1 * pb
        kept.append((x, v, a, b, c, px, pv, pa, pb, pc))
    out = np.empty_like(y)
    out[-1] = x
    for t in range(n_time - 2, -1, -1):
        fx, fv, a, b, c = kept[t][:5]
        px, pv, pa, pb, pc = kept[t + 1][5:]
        det = pa * pc - pb * pb
        c0, c1 = a + dt * b, b + dt * c  # P Fᵀ = [[c0, b], [c1, c]]
        g00, g01 = (c0 * pc - b * pb) / det, (b * pa - c0 * pb) / det
        g10, g11 = (c1 * pc - c * pb) / det, (c * pa - c1 * pb) / det
        dx, dv = x - px, v - pv
        x, v = fx + g00 * dx + g01 * dv, fv + g10 * dx + g11 * dv
        out[t] = x
    return out, loss


def per_frame(y: FloatArray, skeleton: Skeleton) -> FloatArray:
    """The fit of single frames, equal weights."""
    return fit_frames(pose_problem(y, np.ones(y.shape[:3]), skeleton), SolveConfig()).position


def over_time(y: FloatArray, motion: Motion, **settings: object) -> FloatArray:
    """What fitpipe does with `solve.temporal`."""
    config = SolveConfig.model_validate(settings)
    weight = np.ones(y.shape[:3])
    return fit_take(y, weight, motion.skeleton, motion.time_s, config).frames.position


def methods(y: FloatArray, motion: Motion) -> dict[str, Callable[[], FloatArray]]:
    """Every way to treat the observations."""
    skeleton = motion.skeleton
    trajectory = {"temporal": "trajectory"}
    return {
        "one source": lambda: y[:, 0],
        "mean of sources": lambda: y.mean(axis=1),
        "per-frame fit": lambda: per_frame(y, skeleton),
        "Butterworth 6 Hz, mean": lambda: butterworth(y, 6.0).mean(axis=1),
        "Butterworth 6 Hz, fit": lambda: per_frame(butterworth(y, 6.0), skeleton),
        "Butterworth 3 Hz, fit": lambda: per_frame(butterworth(y, 3.0), skeleton),
        "Kalman/RTS, mean": lambda: kalman_rts(y).mean(axis=1),
        "Kalman/RTS, fit": lambda: per_frame(kalman_rts(y), skeleton),
        "previous": lambda: over_time(y, motion, temporal="previous"),
        "trajectory, order 2": lambda: over_time(y, motion, **trajectory, smoothness_order=2),
        "trajectory, order 3": lambda: over_time(y, motion, **trajectory),
        "trajectory, not robust": lambda: over_time(y, motion, **trajectory, robust=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=6000)
    parser.add_argument("--quick", action="store_true", help="one noise level only")
    options = parser.parse_args()
    motions = {"walk": walk, "reach": reach_and_turn}
    columns = [
        (name, noise, share)
        for noise, share in (SETS[1:2] if options.quick else SETS)
        for name in motions
    ]
    errors: dict[str, list[float]] = {}
    speed: dict[str, float] = {}
    for name, noise_m, share in columns:
        motion = motions[name](options.frames, RATE_HZ)
        y = observe(motion, noise_m, share)
        for method, run in methods(y, motion).items():
            if method not in speed:
                run()  # load the kernels
            begin = time.process_time()
            position = run()
            taken = time.process_time() - begin
            speed[method] = max(speed.get(method, 0.0), options.frames / max(taken, 1e-9))
            error = np.linalg.norm(position - motion.position_m, axis=-1).mean()
            errors.setdefault(method, []).append(1e3 * float(error))
    print(f"mean error in mm, {options.frames} frames at {RATE_HZ:g} Hz, two sources")
    print(f"{'':24}" + "".join(f"{name:>9}" for name, _, _ in columns) + f"{'frames/s':>11}")
    noises = "".join(f"{f'{1e3 * n:g}mm {o:.0%}':>9}" for _, n, o in columns)
    print(f"{'noise, outliers':24}{noises}")
    for method, row in errors.items():
        print(f"{method:24}" + "".join(f"{e:9.2f}" for e in row) + f"{speed[method]:11,.0f}")

    motion = walk(2000, RATE_HZ)
    tracker = Tracker(motion.skeleton, sources=2)
    taken_s = []
    for frame in observe(motion, 0.015, 0.03):
        begin = time.perf_counter()
        tracker.update(frame)
        taken_s.append(time.perf_counter() - begin)
    median, p99 = np.percentile(1e3 * np.array(taken_s[10:]), [50, 99])
    print(f"\nTracker.update, two sources: median {median:.2f} ms, p99 {p99:.2f} ms a frame")


if __name__ == "__main__":
    main()

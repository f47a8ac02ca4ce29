"""A crane of two arms (1.0 and 0.75 m) on a swivel hinge follows a target that leaves its reach.

Too far, the arms lie straight towards the target; too near, they fold; in between the law of
cosines gives the angle between them. Drawn as an animation.

Usage: python scripts/examples/crane.py [results/crane.gif]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

from fitpipe.angles import Chain, Effector, Joint, solve_ik

MAST_M, BOOM_M, JIB_M = 0.3, 1.0, 0.75
FRAMES, RATE_HZ = 120, 20
BLUE, ORANGE, GREEN, INK, GREY = "#0072B2", "#D55E00", "#009E73", "#222222", "#BBBBBB"
CRANE = Chain(
    [
        Joint("swivel", axis=(0, 1, 0)),
        Joint("boom", axis=(0, 0, 1), offset_m=(0, MAST_M, 0)),
        Joint("jib", axis=(0, 0, 1), offset_m=(BOOM_M, 0, 0)),
    ],
    [Effector("jib", (JIB_M, 0, 0), "hook")],
)


def target_path() -> np.ndarray:
    """(frame, 3) metres, y up: once round, out to 2.1 m and in to 0.15 m from the mast's top."""
    t = np.linspace(0, 2 * np.pi, FRAMES, endpoint=False)
    far = 1.125 + 0.975 * np.sin(2 * t)
    height = np.radians(20) + np.radians(15) * np.cos(3 * t)
    level = far * np.cos(height)
    return np.column_stack([level * np.cos(t), MAST_M + far * np.sin(height), level * np.sin(t)])


def main(path: Path) -> None:
    target = target_path()
    start = solve_ik(CRANE, target[0], solver="two_bone", q0=[0.0, 1.0, -1.0]).q
    result = solve_ik(CRANE, target, solver="two_bone", q0=start, follow=True)
    placed = CRANE.forward(result.q)
    foot = np.zeros((FRAMES, 1, 3))
    points = np.concatenate([foot, placed.joint_m[:, 1:], placed.tip_m], axis=1)
    t = np.arange(FRAMES) / RATE_HZ

    figure = plt.figure(figsize=(8.5, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.5, 1])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    turn = np.linspace(0, 2 * np.pi, 100)
    reach = BOOM_M + JIB_M
    space.plot(reach * np.cos(turn), reach * np.sin(turn), 0, color=GREY, lw=0.8)
    space.plot(*target[:, [0, 2, 1]].T, color=ORANGE, lw=0.8, alpha=0.6)
    (arm,) = space.plot([], [], [], color=INK, lw=3.5, marker="o", ms=5, solid_capstyle="round")
    (trail,) = space.plot([], [], [], color=BLUE, lw=1.2)
    (mark,) = space.plot([], [], [], marker="x", color=ORANGE, ms=9, mew=2.5, ls="none")
    space.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), zlim=(0, 1.8))
    space.set_box_aspect((2, 2, 1), zoom=1.12)
    space.view_init(elev=28, azim=-60)
    space.tick_params(labelsize=7, pad=-2)
    left = figure.add_subplot(grid[0, 1])
    left.plot(t, result.error, color=GREEN, lw=1.6)
    left.set(ylabel="distance left (m)", ylim=(-0.02, 0.5))
    bent = figure.add_subplot(grid[1, 1], sharex=left)
    bent.plot(t, 180 - np.abs(np.degrees(result.q[:, 2])), color=BLUE, lw=1.6)
    bent.set(xlabel="time (s)", ylabel="angle between arms (°)", ylim=(-5, 190))
    bent.set_yticks([0, 90, 180], ["0 folded", "90", "180 straight"])
    now = [axes.axvline(0, color=ORANGE, lw=1) for axes in (left, bent)]
    for axes in (left, bent):
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)

    def draw(frame: int) -> None:
        arm.set_data_3d(*points[frame][:, [0, 2, 1]].T)
        trail.set_data_3d(*points[: frame + 1, -1][:, [0, 2, 1]].T)
        mark.set_data_3d(*target[frame : frame + 1, [0, 2, 1]].T)
        for line in now:
            line.set_xdata([t[frame]])
        space.set_title(f"{result.status[frame]}, {result.error[frame]:.2f} m left", fontsize=10)

    path.parent.mkdir(parents=True, exist_ok=True)
    FuncAnimation(figure, draw, frames=FRAMES).save(path, writer=PillowWriter(RATE_HZ), dpi=75)
    for status in np.unique(result.status):
        print(f"{status}: {np.count_nonzero(result.status == status)} of {FRAMES} frames")
    turned = np.degrees(np.abs(np.diff(result.q, axis=0)).max())
    print(f"largest turn of a joint in a frame: {turned:.1f} deg")
    print(f"wrote {path}")


if __name__ == "__main__":
    here = Path(__file__).parents[2] / "results"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "crane.gif")

"""Fits one take seen by two sensors and looks at the result from all sides.

Usage: python scripts/examples/fit_one_take.py [results/one_take]

Writes the fit (walk.h5), two figures and a page to look at (walk.html).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np

import fitpipe as fp

DATA = Path(__file__).parents[2] / "data"


def main(folder: Path) -> None:
    # one file per sensor; the first gives the frame of reference and the clock
    takes = [fp.read_take(DATA / f"walk_kinect_{sensor}.csv") for sensor in "ab"]
    for take in takes:
        print(take)

    fit = fp.fit(takes, name="walk")
    print(fit)
    print(f"rms distance to the observations: {1e3 * fit.rms_m:.1f} mm")
    print(f"worst deviation of a bone from its length: {fit.worst_bone_m:.0e} m")
    for finding in fit.log:  # what was repaired or left out, in words
        print(f"- {finding}")

    # arrays: positions are (time, joint, xyz) in metres, NaN where absent
    hand = fit.position[:, fit.skeleton.joint_index("HandRight")]
    way_m = np.linalg.norm(np.diff(hand, axis=0), axis=1)
    print(f"way of the right hand: {np.nansum(way_m):.1f} m")

    # a table with one row per frame and joint, for pandas
    table = fit.to_dataframe()
    by_joint = table.groupby("joint", observed=True)["residual_m:walk_kinect_a"].median()
    print("joint farthest from sensor a:", by_joint.idxmax())

    folder.mkdir(parents=True, exist_ok=True)
    fit.save(folder / "walk.h5")
    fp.plot.residuals(fit).figure.savefig(folder / "residuals.png", dpi=120)
    fp.plot.bones(fit).figure.savefig(folder / "bones.png", dpi=120)
    (folder / "walk.html").write_text(fp.report_page(fit), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/one_take"))

"""Seated takes, several people in one file, static trials, and what else a file says."""

from __future__ import annotations

from pathlib import Path
from shutil import copy

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.batch.verify import verify
from fitpipe.mapping import map_take
from fitpipe.records import JointStatus, Skeleton
from fitpipe.simulate import walk

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ASIDE = np.array([1.5, 0, 0])
JOINTS = Skeleton.preset("kinect20").joints


def recording(name: str) -> Path:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"recording {name} is not here")
    return path


def table(path: Path, position: np.ndarray, labels: tuple[str, ...], body: str = "") -> list[str]:
    """Rows of a wide table, with a header if the file is new."""
    lead = "time,person," if body else "time,"
    rows = [] if path.exists() else [
        lead + ",".join(f"{label}_{axis}" for label in labels for axis in "xyz")
    ]  # fmt: skip
    for i, row in enumerate(position):
        cells = ",".join(f"{value:.6f}" for value in row.ravel())
        rows.append(f"{i / 30:.6f}," + (f"{body}," if body else "") + cells)
    with path.open("a") as file:
        file.write("\n".join(rows) + "\n")
    return rows


@pytest.mark.parametrize("others", ["left out", "zero"])
def test_a_seated_take_of_the_upper_ten_joints_is_fitted(tmp_path: Path, others: str) -> None:
    """The Kinect's seated mode tracks joints 2 to 11: head, shoulders and arms."""
    motion = walk(60, 30.0)
    upper = slice(2, 12)
    path = tmp_path / "seated.csv"
    if others == "zero":
        position = np.zeros_like(motion.position_m)
        position[:, upper] = motion.position_m[:, upper]
        table(path, position, JOINTS)
    else:
        table(path, motion.position_m[:, upper], JOINTS[upper])
    fit = fp.fit(fp.read_take(path))
    assert fit.is_fitted.all()
    assert np.abs(fit.position[:, upper] - motion.position_m[:, upper]).max() < 1e-5
    outside = np.r_[0:2, 12:20]
    assert np.all(fit.status[:, outside] == JointStatus.ABSENT)
    assert np.isnan(fit.position[:, outside]).all()
    assert fit.worst_bone_m < 1e-9
    fit.save(tmp_path / "seated.h5")
    assert np.array_equal(fp.load_fit(tmp_path / "seated.h5").status, fit.status)


def test_two_people_in_one_table_are_fitted_one_at_a_time(tmp_path: Path) -> None:
    motion = walk(30, 30.0)
    path = tmp_path / "two.csv"
    table(path, motion.position_m, JOINTS, body="Anna")
    table(path, motion.position_m + ASIDE, JOINTS, body="Ben")
    takes = fp.read_takes(path)
    assert [take.origin.metadata["body"] for take in takes] == ["Anna", "Ben"]
    with pytest.raises(fp.FitpipeError, match=r"2 people: 'Anna', 'Ben'.*body"):
        fp.fit(takes)
    ben = fp.fit(fp.read_take(path, body="Ben"))
    assert np.abs(ben.position - motion.position_m - ASIDE).max() < 1e-5


def test_events_subject_and_software_of_a_file_stay_with_the_result(tmp_path: Path) -> None:
    take = fp.read_take(recording("btkdata/PiG_Motion-FlatFoot-Full.c3d"))
    events = take.origin.metadata["events"]
    assert events.count(";") == 11
    assert "Left Foot Strike" in events
    fit = fp.fit(take, markerset="pig39")
    fit.save(tmp_path / "walk.h5")
    (kept,) = fp.load_fit(tmp_path / "walk.h5").provenance["inputs"]
    assert kept["metadata"]["events"] == events
    assert kept["metadata"]["software"] == take.origin.metadata["software"]


def test_a_static_trial_gives_a_walk_its_knees_and_ankles() -> None:
    walk_take = fp.read_take(recording("opensim_core/gait10dof_subject01_walk.trc"))
    static = fp.read_take(recording("opensim_core/subject01_static.trc"))
    without = fp.fit(walk_take, markerset="gait2354")
    fit = fp.fit(walk_take, markerset="gait2354", static=static)
    knee = fit.skeleton.joints.index("KneeLeft")
    assert np.isnan(without.position[:, knee]).all()
    assert np.isfinite(fit.position[:, knee]).all()
    lengths = dict(zip(fit.skeleton.bone_names, fit.bone_length, strict=True))
    still = map_take(static, "gait2354", Skeleton.preset("kinect20"))
    for a, b in (("HipLeft", "KneeLeft"), ("KneeLeft", "AnkleLeft"), ("HipRight", "KneeRight")):
        bone = still.position_m[:, still.index(b)] - still.position_m[:, still.index(a)]
        length = np.median(np.linalg.norm(bone, axis=1))
        assert lengths[f"{a}-{b}"] == pytest.approx(length, abs=0.02)
    assert without.provenance["static"] is None


def test_a_fit_with_a_static_trial_is_verified_with_it(tmp_path: Path) -> None:
    for name in ("gait10dof_subject01_walk.trc", "subject01_static.trc"):
        copy(recording(f"opensim_core/{name}"), tmp_path)
    still = tmp_path / "subject01_static.trc"
    walk_take = fp.read_take(tmp_path / "gait10dof_subject01_walk.trc")
    fit = fp.fit(walk_take, markerset="gait2354", static=fp.read_take(still))
    fit.save(tmp_path / "walk.h5")
    assert verify(tmp_path / "walk.h5").verdict == "bit-equal"
    still.write_bytes(still.read_bytes() + b"\n")
    found = verify(tmp_path / "walk.h5")
    assert found.verdict == "bit-equal"
    told = f"takes.static: the file it names was {fit.provenance['static']['sha256']}, is "
    assert [line.startswith(told) for line in found.changed] == [True]

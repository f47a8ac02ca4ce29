"""Joint centres from markers: regressions, chords, motion, and a static trial."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.errors import MappingError
from fitpipe.mapping import MarkerSet, map_take
from fitpipe.mapping.centres import chord_centre, hip_centre, shoulder_centre
from fitpipe.mapping.functional import carried, score_centre, sphere_centre
from fitpipe.records import Skeleton, Take

SKELETON = Skeleton.preset("kinect20")
RNG = np.random.default_rng(11)
# +Y up, facing +Z, the person's left at +X; metres from the middle between the ASIS
PELVIS = {"LASI": (0.125, 0, 0), "RASI": (-0.125, 0, 0), "LPSI": (0.05, 0, -0.16),
          "RPSI": (-0.05, 0, -0.16)}  # fmt: skip


def turned(points: np.ndarray, n: int = 5) -> tuple[np.ndarray, Rotation, np.ndarray]:
    """Points (point, 3) carried to (time, point, 3) by random poses, and the poses."""
    turn, shift = Rotation.random(n, rng=3), RNG.normal(size=(n, 1, 3))
    return np.stack([turn.apply(p) for p in points], axis=1) + shift, turn, shift[:, 0]


@pytest.mark.parametrize(
    ("regression", "expected"),
    [
        # width 250 mm, depth 160 mm: x = -0.24 PD - 9.9, y = -0.30 PW - 10.9, z = 0.33 PW + 7.3
        ("harrington", (0.0898, -0.0859, -0.0483)),
        # x = -0.19 PW, y = -0.30 PW, z = 0.36 PW
        ("bell", (0.09, -0.075, -0.0475)),
    ],
)
def test_hips_lie_where_the_regression_puts_them_in_any_pose(
    regression: str, expected: tuple[float, float, float]
) -> None:
    points, turn, shift = turned(np.array([PELVIS[k] for k in PELVIS], dtype=float))
    back = (points[:, 2] + points[:, 3]) / 2
    for side, sign in (("left", 1), ("right", -1)):
        made = hip_centre(points[:, 0], points[:, 1], back, side=side, regression=regression)
        mirrored = np.array(expected) * [sign, 1, 1]
        assert made == pytest.approx(turn.apply(mirrored) + shift, abs=1e-12)


def test_a_chord_finds_the_centre_its_marker_was_placed_from() -> None:
    """Centre X; lateral marker at a right angle to the bone, in the plane of the thigh marker."""
    hip, centre, w = np.array([0.0, 0, 0]), np.array([0.02, -0.42, 0.01]), 0.057
    along = (centre - hip) / np.linalg.norm(centre - hip)
    out = np.array([1.0, 0, 0.2])
    out = out - (out @ along) * along
    out /= np.linalg.norm(out)
    lateral, thigh = centre + w * out, hip + 0.5 * (centre - hip) + 0.09 * out
    points, turn, shift = turned(np.array([hip, lateral, thigh]))
    made = chord_centre(points[:, 0], points[:, 1], points[:, 2], w)
    assert made == pytest.approx(turn.apply(centre) + shift, abs=1e-12)


def test_shoulders_lie_below_the_acromia() -> None:
    points = np.array([[0.2, 1.4, 0], [-0.2, 1.4, 0], [0, 1.4, 0], [0, 1.1, 0]])
    moved, turn, shift = turned(points)
    made = shoulder_centre(moved[:, 0], moved[:, 1], moved[:, 2], moved[:, 3])
    assert made == pytest.approx(turn.apply([0.2, 1.4 - 0.17 * 0.4, 0]) + shift, abs=1e-12)


def hip_motion(rom_deg: float, noise_m: float, n: int = 400) -> tuple[np.ndarray, ...]:
    """Pelvis markers, thigh markers and the hip's centre of a leg that circles."""
    t = np.linspace(0, 8 * np.pi, n)
    swing = np.c_[np.sin(t), 0.6 * np.sin(1.3 * t), 0.3 * np.sin(0.7 * t)]
    hip = Rotation.from_euler("xyz", rom_deg * swing, degrees=True)
    sway = np.c_[5 * np.sin(t), 8 * np.sin(0.5 * t), 4 * np.cos(t)]
    pelvis = Rotation.from_euler("xyz", sway, degrees=True)
    shift = np.c_[0.1 * t, 1 + 0.03 * np.sin(2 * t), 0 * t]
    centre = pelvis.apply([0.09, -0.086, -0.048]) + shift
    base = np.stack([pelvis.apply(PELVIS[k]) + shift for k in PELVIS], axis=1)
    thigh = [(0.08, -0.2, 0.05), (0.09, -0.4, 0.0), (0.02, -0.35, 0.05)]
    distal = np.stack([(pelvis * hip).apply(p) + centre for p in thigh], axis=1)
    noise = np.random.default_rng(1).normal(scale=noise_m, size=(n, 7, 3))
    return base + noise[:, :4], distal + noise[:, 4:], centre


@pytest.mark.parametrize("find", [sphere_centre, score_centre])
def test_a_leg_that_circles_places_its_hip_within_5_mm(find) -> None:
    base, distal, centre = hip_motion(rom_deg=40, noise_m=0.002)
    found = find(base, distal)
    off = np.linalg.norm(found.centre_m - centre, axis=1)
    assert np.sqrt(np.mean(off**2)) < 0.005
    # the claimed deviation is that of the whole take's centre, without the frame's own noise
    assert found.sd_m < 0.005
    assert found.turn_rad > 0.1


@pytest.mark.parametrize("find", [sphere_centre, score_centre])
def test_exact_motion_gives_the_exact_centre(find) -> None:
    base, distal, centre = hip_motion(rom_deg=30, noise_m=0.0)
    found = find(base, distal)
    assert np.abs(found.centre_m - centre).max() < 1e-9


def take_of(points: dict[str, np.ndarray]) -> Take:
    position = np.stack(list(points.values()), axis=1)
    return Take("lab", tuple(points), position, np.arange(len(position)) / 100)


def pelvis_and_leg(rom_deg: float) -> tuple[Take, np.ndarray]:
    base, distal, centre = hip_motion(rom_deg, noise_m=0.001)
    points = {name: base[:, i] for i, name in enumerate(PELVIS)}
    return take_of({**points, "LTHI": distal[:, 0], "LKNE": distal[:, 1]}), centre


HIP = {
    "name": "hip",
    "joint": {"HipLeft": ["LHJC"], "KneeLeft": "LKNE"},
    "virtual": {
        "LHJC_motion": {
            "kind": "sphere", "base": ["LASI", "RASI", "LPSI", "RPSI"], "distal": ["LTHI", "LKNE"],
        },
        "LHJC_spines": {
            "kind": "hip", "side": "left", "asis": ["LASI", "RASI"], "back": ["LPSI", "RPSI"],
        },
        "LHJC": {"kind": "first", "of": ["LHJC_motion", "LHJC_spines"]},
    },
}  # fmt: skip


def test_motion_places_the_hip_where_there_is_enough_and_the_pelvis_where_not() -> None:
    for rom_deg, most_m in ((40, 0.005), (8, 0.02)):
        take, centre = pelvis_and_leg(rom_deg)
        mapped = map_take(take, HIP, SKELETON)
        hip = mapped.position_m[:, mapped.index("HipLeft")]
        said = "; ".join(map(str, mapped.repairs))
        if rom_deg == 40:
            assert np.linalg.norm(hip - centre, axis=1).mean() < most_m
            assert "turns too little" not in said
        else:
            at = {label: take.position_m[:, i] for i, label in enumerate(take.labels)}
            back = (at["LPSI"] + at["RPSI"]) / 2
            by_pelvis = hip_centre(at["LASI"], at["RASI"], back, side="left")
            assert np.array_equal(hip, by_pelvis)
            assert "LHJC_motion (sphere): it turns too little: by 2 degrees" in said


def test_a_static_trial_carries_medial_markers_into_a_walk() -> None:
    shank = np.array(
        [[0.06, -0.42, 0], [0.1, -0.25, 0.03], [0.03, -0.2, -0.04], [-0.04, -0.42, 0.01]]
    )
    names = ("LKNE", "LTHI", "LTHI2", "LKNEM")
    rules = {
        "joint": {"KneeLeft": [["LKJC"], ["LKNE"]], "HipLeft": "LTHI2"},
        "virtual": {
            "LKJC": {"kind": "mean", "of": ["LKNE", "LKNEM"], "segment": ["LKNE", "LTHI", "LTHI2"]}
        },
    }
    still, _, _ = turned(shank, n=3)
    walk, turn, shift = turned(shank, n=6)
    static = take_of({name: still[:, i] for i, name in enumerate(names)})
    take = take_of({name: walk[:, i] for i, name in enumerate(names[:3])})
    knee = map_take(take, rules, SKELETON, static=static)
    expected = turn.apply((shank[0] + shank[3]) / 2) + shift
    assert knee.position_m[:, knee.index("KneeLeft")] == pytest.approx(expected, abs=1e-12)
    assert "LKJC: its markers are in the static trial alone" in "; ".join(map(str, knee.repairs))
    without = map_take(take, rules, SKELETON)
    assert np.array_equal(without.position_m[:, without.index("KneeLeft")], walk[:, 0])


def test_carrying_needs_three_markers_in_the_frame() -> None:
    points, turn, shift = turned(RNG.normal(size=(4, 3)), n=6)
    points[2, 1] = np.nan
    made = carried(points[:1, :3], points[:1, 3], points[:, :3])
    assert np.isnan(made[2]).all()
    rest = [0, 1, 3, 4, 5]
    assert made[rest] == pytest.approx(points[rest, 3], abs=1e-12)
    del turn, shift


def test_faults_of_virtual_points_are_all_told() -> None:
    table = {
        "joint": {"HipLeft": "A"},
        "virtual": {
            "A": {"kind": "hipp"},
            "B": {"kind": "hip", "asis": ["x"], "back": "y", "side": "up", "extra": 1},
            "C": {"kind": "chord", "above": "a", "lateral": "b", "plane": "c", "half_width_m": 57},
            "D": {"kind": "mean", "of": ["a", "b"], "segment": ["a"]},
        },
    }
    with pytest.raises(MappingError) as caught:
        MarkerSet.from_table(table)
    text = "\n".join(caught.value.faults)
    for part in (
        "virtual A: kind 'hipp'; did you mean 'hip'?",
        "virtual B: unknown key 'extra'",
        "virtual B: asis is ['x'], expected 2 labels",
        "virtual B: side is 'up'",
        "virtual C: half_width_m is 57",
        "virtual D: segment is ['a']",
    ):
        assert part in text


def test_marker_sets_with_virtual_points_pickle() -> None:
    import pickle

    rules = MarkerSet.preset("pig39")
    again = pickle.loads(pickle.dumps(rules))  # noqa: S301 - our own bytes
    assert again.virtual == rules.virtual
    assert "LTHI" in again.labels
    assert "LHJC" not in again.labels

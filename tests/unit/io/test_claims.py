"""What a file claims about unit and axes, held against the body in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take
from fitpipe.io.axes import body_height, up_from_motion
from fitpipe.simulate import walk

from .take_files import LABELS, trc_text, write_c3d


def person_m() -> np.ndarray:
    """Head, hip and feet of somebody of 1.7 m, who walks 2 m along z."""
    rest = np.array([[0, 1.65, 0], [0, 0.95, 0], [0.1, 0.05, 0], [-0.1, 0.05, 0]])
    t = np.linspace(0, 1, 30)[:, None, None]
    bob = 0.02 * np.sin(20 * t) * np.array([0, 1, 0])
    return rest + t * np.array([0.3, 0, 2.0]) + bob


@pytest.mark.parametrize(
    ("claimed", "true_per_m", "instead"),
    [("mm", 100, "cm"), ("mm", 1, "m"), ("m", 1000, "mm"), ("cm", 1000, "mm")],
)
def test_a_unit_that_makes_no_person_stops_and_names_the_option(
    tmp_path: Path, claimed: str, true_per_m: float, instead: str
) -> None:
    path = tmp_path / "walk.trc"
    path.write_text(trc_text(person_m() * true_per_m, keys={"Units": claimed}))
    with pytest.raises(InputError, match=rf"claims {claimed}.*foot to head.*--units {instead}"):
        read_take(path)
    take = read_take(path, units=instead)
    assert np.abs(take.position_m - person_m()).max() < 1e-4
    assert f"claims {claimed}, units={instead} was given" in take.repairs[0].what


def test_a_claim_may_be_insisted_on(tmp_path: Path) -> None:
    path = tmp_path / "walk.trc"
    path.write_text(trc_text(person_m() * 100, keys={"Units": "mm"}))
    take = read_take(path, units="mm")
    assert "the body is 0.16 m from foot to head" in take.repairs[-1].what


@pytest.mark.parametrize("size", [0.45, 1.0, 1.3])
def test_children_and_tall_people_are_believed(tmp_path: Path, size: float) -> None:
    path = write_c3d(tmp_path / "walk.c3d", person_m() * 1000 * size)
    assert read_take(path).repairs == ()


def test_an_axis_that_body_and_path_deny_stops_and_one_that_the_body_alone_denies_is_told(
    tmp_path: Path,
) -> None:
    z_up = person_m() @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)
    joints = ("Head", "SpineBase", "FootLeft", "FootRight")
    frames = [
        {
            "timestamp_usec": 33_333 * i,
            "bodies": [{"body_id": 1, "joint_positions": (1000 * row).tolist()}],
        }
        for i, row in enumerate(z_up)
    ]
    import json

    path = tmp_path / "walk.json"
    path.write_text(json.dumps({"joint_names": joints, "frames": frames}))
    with pytest.raises(InputError, match=r"claims -y as up, but head and feet say \+z.*--up \+z"):
        read_take(path)
    turned = read_take(path, up="+z")
    assert np.abs(turned.position_m - person_m()).max() < 1e-9
    # somebody who stays may as well lie
    for frame in frames:
        frame["bodies"][0]["joint_positions"] = (1000 * z_up[0]).tolist()
    path.write_text(json.dumps({"joint_names": joints, "frames": frames}))
    still = read_take(path)
    assert any("claims -y as up, head and feet say +z" in f.what for f in still.repairs)
    assert still.origin.up == "+z"


def test_everything_a_file_does_not_say_is_asked_for_at_once(tmp_path: Path) -> None:
    path = tmp_path / "walk.trc"
    text = trc_text(person_m(), drop=("Units", "DataRate")).split("\n")
    rows = ["\t".join([f, "", *rest]) for f, _, *rest in (row.split("\t") for row in text[6:-1])]
    path.write_text("\n".join([*text[:6], *rows]))
    with pytest.raises(InputError) as caught:
        read_take(path)
    assert len(caught.value.faults) == 2
    assert "--units" in str(caught.value)
    assert "--rate-hz" in str(caught.value)
    assert read_take(path, units="m", rate_hz=100).n_frames == 30


def test_height_and_the_level_axis_of_a_simulated_walk() -> None:
    motion = walk(200, 30.0)
    height = body_height(motion.skeleton.joints, motion.position_m)
    assert 1.0 < height < 1.8
    assert up_from_motion(motion.position_m) == "y"
    assert up_from_motion(motion.position_m[:1]) == ""
    damaged = np.array(motion.position_m)
    damaged[3, :, 1] = np.nan  # a frame without one whole sample
    damaged[7, 2, 0] = np.nan
    assert up_from_motion(damaged) == "y"
    assert np.isnan(body_height(LABELS[:2], person_m()[:, :2]))

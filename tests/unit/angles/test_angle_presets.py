"""Angle presets that do not fit a skeleton, or are no presets: all that is wrong at once."""

from __future__ import annotations

import pytest

from fitpipe.angles import define
from fitpipe.config.angle_preset import AnglePreset, load_angle_preset
from fitpipe.errors import ConfigError
from fitpipe.records import Skeleton

KINECT20 = Skeleton.preset("kinect20")


def faults_of(changes, skeleton=KINECT20):
    """Faults of the kinect20 preset with other rows; keys are (joint or body, key)."""
    table = load_angle_preset("kinect20").model_dump()
    for (name, key), value in changes.items():
        rows = [
            r for r in (*table["bone"], *table["body"]) if name in (r.get("joint"), r.get("name"))
        ]
        rows[0][key] = value
    with pytest.raises(ConfigError) as error:
        define(skeleton, AnglePreset.model_validate(table))
    return error.value.faults


def test_a_preset_that_does_not_fit_the_skeleton_is_told_with_everything_that_is_wrong():
    faults = faults_of({("Head", "joint"): "Haed", ("pelvis", "lines"): (("Spine", "Hip"),)})
    assert len(faults) == 2
    assert any("'Haed'; did you mean 'Head'?" in fault for fault in faults)
    faults = faults_of(
        {
            ("KneeLeft", "axis"): "+y",
            ("WristRight", "sequence"): ("+z", "+x", "+y"),
            ("FootLeft", "along"): None,
            ("Head", "limits_deg"): {"turn to the left": (-80, 80)},
            ("Spine", "limits_deg"): {"flexion": (-80, 80)},
            ("HandLeft", "parent"): "Wrist",
            ("HandRight", "label"): "left wrist",
            ("AnkleRight", "limits_deg"): {"flexon": (0, 1)},
        }
    )
    assert len(faults) == 11, faults


def test_parents_in_a_circle_and_unknown_presets_are_told():
    assert "round in a circle" in faults_of({("pelvis", "parent"): "thorax"})[0]
    with pytest.raises(ConfigError, match=r"did you mean 'kinect20'\?"):
        define(KINECT20, "kinect2")
    with pytest.raises(ConfigError, match="no bone of 'chain' ends at 'Spine'"):
        define(Skeleton("chain", ("a", "b"), (-1, 0)), "kinect20")


def test_preset_files_with_odd_values_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\nbone = [{ joint = "Head", sequence = ["+x", "-x", "+y"], '
        "limits_deg = { x = [10, -10] } }]\nstraight = 3\n"
    )
    with pytest.raises(ConfigError) as error:
        define(KINECT20, path)
    text = str(error.value)
    assert "expected x, y and z once each" in text
    assert "expected the lower limit first" in text
    assert "did you mean 'straight_deg'?" in text

"""read_transforms: what a file of transforms may hold, and what is wrong with the rest."""

from __future__ import annotations

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.calibrate import read_transforms
from fitpipe.errors import CalibrationError, ConfigError
from fitpipe.simulate import DepthSensor, observe, walk

TURN = "R_ref_source = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]\nt_ref_m = [1, 2, 3.5]\n"


def written(tmp_path, text):
    path = tmp_path / "transforms.toml"
    path.write_text(text)
    return path


def test_transforms_are_read_in_the_order_of_the_sources(tmp_path):
    path = written(
        tmp_path, f"[c]\n{TURN}rate_hz = 30\n[b]\n{TURN.replace('3.5', '4')}[other]\nx=1"
    )
    (a, b, c), findings = read_transforms(path, ["a", "b", "c"])
    assert [t.source for t in (a, b, c)] == ["a", "b", "c"]
    np.testing.assert_array_equal(a.R_ref_source, np.eye(3))
    np.testing.assert_array_equal(b.t_ref_m, [1, 2, 4])
    np.testing.assert_array_equal(c.apply(np.array([0.0, 0, 1])), [2, 2, 3.5])
    assert findings == []


def test_a_rounded_rotation_becomes_the_nearest_one_and_that_is_told(tmp_path):
    rows = "[[0.866, 0, 0.5], [0, 1, 0], [-0.5, 0, 0.866]]"
    path = written(tmp_path, f"[b]\nR_ref_source = {rows}\nt_ref_m = [0, 0, 0]\n")
    (_, b), (finding,) = read_transforms(path, ["a", "b"])
    np.testing.assert_allclose(b.R_ref_source @ b.R_ref_source.T, np.eye(3), atol=1e-12)
    assert b.R_ref_source[0, 0] == pytest.approx(np.sqrt(0.75), abs=1e-3)
    assert "took the nearest rotation" in str(finding)


def test_every_fault_is_listed(tmp_path):
    text = (
        "[b]\nR_ref_source = [[1, 0], [0, 1]]\nt_ref_m = [0, 'x', 0]\n"
        "[c]\nR_ref_source = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]\nt_ref_m = [0, 0, 0]\n"
        "[d]\nR_ref_source = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]\nt_ref_m = [0, 0, 0]\n"
        f"[a]\n{TURN}"
    )
    with pytest.raises(CalibrationError) as caught:
        read_transforms(written(tmp_path, text), ["a", "b", "c", "d", "bb"])
    faults = "\n".join(caught.value.faults)
    assert len(caught.value.faults) == 6
    for part in (
        "[a] is the reference",
        "[b] R_ref_source: expected 3 x 3 numbers",
        "[b] t_ref_m: expected 3 numbers, got [0, 'x', 0]",
        "[c] R_ref_source is no rotation: determinant -1",
        "[d] R_ref_source is no rotation: determinant 8, stretches by 2 to 2",
        "no table [bb]; did you mean 'b'?",
    ):
        assert part in faults


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_transforms(tmp_path / "none.toml", ["a", "b"])


def test_a_registration_that_is_no_file_is_refused():
    with pytest.raises(ConfigError, match=r"\[calibrate\] registration.*got 'guess'"):
        fp.fit([], config={"calibrate": {"registration": "guess"}})


def test_a_fit_uses_the_file(tmp_path):
    motion = walk(60, 30.0)
    sensors = [
        DepthSensor.looking_at("a", [0, 0.9, 0], from_m=[0.3, 1.2, 3.4]),
        DepthSensor.looking_at("b", [0.1, 0.8, 0], from_m=[3.4, 1.6, 0.5]),
    ]
    takes = [observe(motion, sensor, seed=i) for i, sensor in enumerate(sensors)]
    true = sensors[1].transform_into(sensors[0])
    R, t = true.R_ref_source.tolist(), true.t_ref_m.tolist()
    path = written(tmp_path, f"[b]\nR_ref_source = {R}\nt_ref_m = {t}\n")
    fit = fp.fit(takes, config={"calibrate": {"registration": str(path)}})
    used = fit.calibration.transforms[1]
    np.testing.assert_array_equal(used.R_ref_source, true.R_ref_source)
    np.testing.assert_array_equal(used.t_ref_m, true.t_ref_m)
    assert used.rms_m > 0.01

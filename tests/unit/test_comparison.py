"""Two results of one motion are brought to the same joints and instants, then compared."""

from dataclasses import replace

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.errors import CalibrationError, MappingError, RecordError
from fitpipe.simulate import walk


def truth(rate_hz=30.0, n_frames=60):
    motion = walk(n_frames, rate_hz)
    return fp.Take("truth", motion.skeleton.joints, motion.position_m, motion.time_s)


def shifted(take, off=(0.03, 0.04, 0.0)):
    return replace(take, source="shifted", position_m=take.position_m + off)


def test_a_fit_against_a_take_and_against_itself():
    motion = walk(30, 30.0)
    take = fp.Take("truth", motion.skeleton.joints, motion.position_m, motion.time_s)
    fit = fp.fit(shifted(take), bone_length_m=motion.skeleton.bone_length_m)
    found = fp.compare(fit, take)
    assert found.error.mean_m == pytest.approx(0.05, abs=1e-6)
    assert found.aligned.mean_m == pytest.approx(0, abs=1e-6)
    assert len(found.of_result.bone) == 19
    assert fp.compare(fit, fit).error.rms_m == 0


def test_a_denser_reference_is_met_at_its_common_stamps_without_interpolation():
    found = fp.compare(shifted(truth(30.0, 30)), truth(60.0, 61))
    assert found.n_frames == 30
    assert found.error.p90_m == pytest.approx(0.05, abs=1e-12)


def test_clocks_that_never_meet_are_bridged_by_interpolation():
    late = shifted(truth(90.0, 180), (0.0, 0.0, 0.0))
    late = replace(late, time_s=late.time_s + 0.004)
    clean = replace(truth(30.0, 60))
    at_own = fp.compare(replace(late, time_s=late.time_s - 0.004), clean)
    bridged = fp.compare(late, clean)
    assert at_own.error.mean_m < 1e-12
    # 4 ms late at about 1.2 m/s
    assert 0.004 < bridged.error.median_m < 0.007
    assert bridged.n_frames == 59


def test_order_of_labels_and_joints_the_reference_lacks_do_not_matter():
    take = truth()
    order = np.random.default_rng(0).permutation(20)[:15]
    part = fp.Take("part", [take.labels[i] for i in order], take.position_m[:, order], take.time_s)
    found = fp.compare(shifted(take), part)
    assert set(found.joint) == {take.labels[i] for i in order}
    assert found.error.mean_m == pytest.approx(0.05)
    assert found.coverage == 1


def test_joints_only_the_reference_has_lower_the_coverage():
    take = truth()
    half = fp.Take("half", take.labels[:10], take.position_m[:, :10], take.time_s)
    assert fp.compare(half, take).coverage == 0.5


def test_nothing_in_common_is_said():
    take = truth()
    upper = fp.Take("upper", take.labels[:10], take.position_m[:, :10], take.time_s)
    lower = fp.Take("lower", take.labels[10:], take.position_m[:, 10:], take.time_s)
    with pytest.raises(MappingError, match="no joint in common") as caught:
        fp.compare(upper, lower)
    assert "upper has HipCenter" in str(caught.value)
    with pytest.raises(CalibrationError, match="no instant in common"):
        fp.compare(replace(take, time_s=take.time_s + 100), take)
    first, last = take.position_m.copy(), take.position_m.copy()
    first[30:], last[:30] = np.nan, np.nan
    with pytest.raises(RecordError, match="none at the same time"):
        fp.compare(replace(take, position_m=first), replace(take, position_m=last))

"""A source that takes the back for the front is told from the one that does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.calibrate import flipped_sources
from fitpipe.records import Doubt, Skeleton, Take
from fitpipe.simulate import reach_and_turn, walk

SKELETON = Skeleton.preset("kinect20")
MIRROR = np.arange(20)
for _i, _j in SKELETON.mirror:
    MIRROR[[_i, _j]] = _j, _i


def seen(motion, n_sources, noise_m=0.01, seed=0):
    rng = np.random.default_rng(seed)
    shape = (len(motion.time_s), n_sources, 20, 3)
    return motion.position_m[:, None] + rng.normal(0, noise_m, shape)


def flip(observation, where):
    out = observation.copy()
    for source, frames in where:
        out[frames, source] = out[frames, source][:, MIRROR]
    planted = np.zeros(observation.shape[:2], np.bool_)
    for source, frames in where:
        planted[frames, source] = True
    return out, planted


@pytest.mark.parametrize("motion", [walk(400, 30.0), reach_and_turn(400, 30.0)])
@pytest.mark.parametrize(
    "where",
    [
        [],
        [(0, slice(100, 130))],
        [(1, slice(100, 130)), (0, slice(200, 201))],
        [(1, slice(0, 50)), (0, slice(300, 400))],
        [(0, slice(100, 130)), (1, slice(131, 150))],
    ],
)
@pytest.mark.parametrize("n_sources", [2, 3])
def test_planted_flips_are_found_in_the_right_source(motion, where, n_sources):
    observation, planted = flip(seen(motion, n_sources), where)
    found = flipped_sources(observation, observation, motion.time_s, SKELETON)
    np.testing.assert_array_equal(found, planted)


def test_order_and_frame_do_not_matter():
    motion = walk(300, 30.0)
    observation, planted = flip(seen(motion, 3), [(0, slice(50, 90)), (2, slice(200, 220))])
    R = Rotation.from_rotvec([1.0, -2.0, 0.5]).as_matrix()
    turned = observation[:, [2, 0, 1]] @ R.T + 4.0
    found = flipped_sources(turned, turned, motion.time_s, SKELETON)
    np.testing.assert_array_equal(found, planted[:, [2, 0, 1]])


def test_both_flipped_in_between_is_worked_out_from_who_turned():
    """First one flips, then the other; the first flips back first."""
    motion = walk(400, 30.0)
    observation, planted = flip(seen(motion, 2), [(1, slice(100, 200)), (0, slice(150, 260))])
    found = flipped_sources(observation, observation, motion.time_s, SKELETON)
    both = planted.all(axis=1)
    np.testing.assert_array_equal(found[~both], planted[~both])
    assert not found[both].any()  # nothing opposes anything there


def test_gaps_and_sources_alone_are_no_flips():
    motion = walk(300, 30.0)
    observation, planted = flip(seen(motion, 2), [(0, slice(50, 90))])
    observation[60:70, 1] = np.nan
    observation[200:, 0] = np.nan
    planted[60:70] = False
    found = flipped_sources(observation, observation, motion.time_s, SKELETON)
    np.testing.assert_array_equal(found, planted)


def test_a_skeleton_without_left_and_right_has_no_flips():
    line = Skeleton("line", ("a", "b"), (-1, 0))
    observation = np.ones((5, 2, 2, 3))
    assert not flipped_sources(observation, observation, np.arange(5.0), line).any()


def test_the_fit_uses_the_other_source_and_says_when():
    motion = walk(300, 30.0)
    observation, planted = flip(seen(motion, 2, 0.005), [(1, slice(100, 140))])
    takes = [
        Take(name, SKELETON.joints, observation[:, s], motion.time_s) for s, name in enumerate("ab")
    ]
    # a swap within one source would be put back before sources are compared
    fit = fp.fit(takes, config={"weights": {"swaps": "off"}})
    flipped = (fit.doubt == Doubt.FLIPPED).any(axis=2)
    assert (flipped & planted).sum() >= 38
    assert not (flipped & ~planted).any()
    assert (fit.weight[flipped] == 0).all()
    assert np.nanmax(np.linalg.norm(fit.position - motion.position_m, axis=-1)) < 0.05
    (finding,) = [f for f in fit.log if "back for the front" in f.what]
    assert "source 'b'" in finding.what

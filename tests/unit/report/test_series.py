"""What a fit says over time, against values planted or worked out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitpipe.records import Doubt, JointStatus
from fitpipe.report.series import (
    Cover,
    Use,
    bin_edges,
    cover,
    envelope,
    frame_rms,
    longest_run,
    middle_of_bins,
    source_lengths,
    use,
    worst_moments,
)

from .fits import planted, remade

NAN = np.nan
maybe = st.one_of(st.floats(-1e3, 1e3), st.just(NAN))


@given(st.lists(maybe, min_size=1, max_size=60), st.integers(1, 80))
def test_envelopes_are_those_of_each_bin_by_itself(values, n_bins):
    values = np.array(values)
    edges = bin_edges(len(values), n_bins)
    found = envelope(values, edges)
    assert len(edges) == min(len(values), n_bins)
    for k, part in enumerate(np.split(values, edges[1:])):
        given_ = part[~np.isnan(part)]
        expected = (given_.min(), given_.mean(), given_.max()) if given_.size else (NAN,) * 3
        np.testing.assert_allclose([line[k] for line in found], expected, rtol=1e-12, atol=1e-9)


def test_the_middle_code_of_a_bin():
    codes = np.array([[0, 4], [4, 4], [4, 3], [3, 0], [0, 0]], np.uint8)
    np.testing.assert_array_equal(middle_of_bins(codes, bin_edges(5, 2)), [[0, 4], [3, 0]])
    np.testing.assert_array_equal(middle_of_bins(codes, bin_edges(5, 9)), codes)


@pytest.mark.parametrize(
    ("flags", "longest"), [("", 0), ("...", 0), ("xx.x", 2), ("x..xxx", 3), ("xxxx", 4)]
)
def test_the_longest_run(flags, longest):
    assert longest_run(np.array([flag == "x" for flag in flags], bool)) == longest


def test_worst_moments_are_the_planted_ones_and_half_a_second_apart():
    fit = planted(90)
    observation = np.array(fit.observation)
    for frame, joint, off in ((40, 1, 0.5), (43, 0, 0.4), (70, 2, 0.3)):
        observation[frame, 0, joint] = fit.position[frame, joint] + [0, 0, off]
    moments = worst_moments(remade(fit, observation=observation), 2)
    assert [(m.frame, m.joint) for m in moments] == [(40, "Knee"), (70, "Ankle")]
    assert [m.residual_m for m in moments] == pytest.approx([0.5, 0.3], abs=1e-6)
    assert moments[0].time_s == fit.time_s[40]
    assert moments[0].rms_m == pytest.approx(frame_rms(remade(fit, observation=observation))[40])


def test_an_observation_of_no_weight_makes_no_worst_moment():
    fit = planted(90)
    observation, weight = np.array(fit.observation), np.array(fit.weight)
    observation[40, 0, 1] = 9.0
    weight[40, 0, 1] = 0.0
    assert worst_moments(remade(fit, observation=observation, weight=weight))[0].rms_m < 0.05


def test_cover_tells_who_saw_a_joint():
    fit = planted(5)
    weight, status = np.array(fit.weight), np.array(fit.status)
    position = np.array(fit.position)
    weight[1, 0, 0] = 0.0
    weight[2:, :, 0] = 0.0
    status[2:, 0] = [JointStatus.CARRIED, JointStatus.INTERPOLATED, JointStatus.ABSENT]
    position[4, 0] = NAN
    found = cover(remade(fit, weight=weight, status=status, position=position))
    expected = [Cover.ALL, Cover.SOME, Cover.CARRIED, Cover.INTERPOLATED, Cover.ABSENT]
    assert list(found[:, 0]) == expected
    assert (found[:, 1:] == Cover.ALL).all()


def test_use_tells_what_became_of_an_observation():
    fit = planted(6)
    observation, weight, doubt = map(np.array, (fit.observation, fit.weight, fit.doubt))
    doubt[1, 0, 0] = Doubt.BONES
    doubt[2, 0, 0], observation[2, 0, 0], weight[2, 0, 0] = Doubt.JUMP, NAN, 0.0
    doubt[3, 0, 0], weight[3, 0, 0] = Doubt.FLIPPED, 0.0
    weight[4, 0, 0] = 0.0
    observation[5, 0, 0], weight[5, 0, 0] = NAN, 0.0
    found = use(remade(fit, observation=observation, weight=weight, doubt=doubt))
    expected = [Use.USED, Use.REDUCED, Use.LEFT_OUT, Use.LEFT_OUT, Use.LEFT_OUT, Use.MISSING]
    assert list(found[:, 0, 0]) == expected
    assert (found[:, 1] == Use.USED).all()


def test_lengths_the_sources_saw_are_their_quartiles():
    fit = planted(5)
    observation = np.array(fit.observation, np.float64)
    observation[:, 0, 0], observation[:, 0, 1] = 0.0, 0.0
    observation[:, 0, 1, 1] = [0.3, 0.5, 0.4, 0.45, 0.35]
    observation[:, 1, 1] = NAN
    quartiles = source_lengths(remade(fit, observation=observation))
    np.testing.assert_allclose(quartiles[0, 0], [0.35, 0.4, 0.45], rtol=1e-6)
    assert np.isnan(quartiles[1, 0]).all()

"""What the player unpacks is what the fit holds."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fitpipe.config import ReportConfig
from fitpipe.records import FrameStatus, JointStatus
from fitpipe.report import player
from fitpipe.report.series import Use
from fitpipe.report.upright import upright_turn

from .fits import HOSTILE, planted, remade


def unpacked(data, name):
    return np.frombuffer(zlib.decompress(base64.b64decode(data["blocks"][name])), np.uint8)


def coordinates(data, name):
    """Positions (time, series, xyz) by the page's own rule."""
    low, high = unpacked(data, name).astype(np.int64).reshape(2, -1)
    steps = np.cumsum((low + (high << 8)).reshape(-1, data["n"]), axis=1)
    steps = (steps + 2**15) % 2**16 - 2**15
    points = steps.T.reshape(data["n"], -1, 3)
    return np.array(data["centre"]) + data["scale"] * points


def gappy():
    fit = planted(80)
    position, status = np.array(fit.position), np.array(fit.status)
    observation, weight = np.array(fit.observation), np.array(fit.weight)
    frame_status = np.array(fit.frame_status)
    position[:10] = np.nan
    status[:10] = JointStatus.ABSENT
    frame_status[:10] = FrameStatus.NO_DATA
    observation[:10] = np.nan
    observation[30:40, 1, 2] = np.nan
    weight[50, 0, 0] = 0.0
    return remade(
        fit, position=position, status=status, observation=observation, weight=weight,
        frame_status=frame_status,
    )  # fmt: skip


def test_positions_and_observations_come_out_to_a_tenth_of_a_millimetre():
    fit = gappy()
    data = player.player_data(fit, ReportConfig())
    seen = ~np.isnan(fit.position[..., 0])
    found = coordinates(data, "position")
    np.testing.assert_allclose(found[seen], fit.position[seen], atol=2e-4)
    raw = coordinates(data, "raw").reshape(fit.observation.shape)
    given = ~np.isnan(fit.observation[..., 0])
    np.testing.assert_allclose(raw[given], fit.observation[given], atol=2e-4)


def test_codes_tell_what_is_missing():
    fit = gappy()
    data = player.player_data(fit, ReportConfig())
    np.testing.assert_array_equal(unpacked(data, "status").reshape(3, 80).T, fit.status)
    np.testing.assert_array_equal(unpacked(data, "frame_status"), fit.frame_status)
    codes = unpacked(data, "use").reshape(2, 3, 80)
    np.testing.assert_array_equal(codes > 0, ~np.isnan(fit.observation[..., 0]).transpose(1, 2, 0))
    assert codes[0, 0, 50] == Use.LEFT_OUT
    assert (codes[:, :, 60:] == Use.USED).all()


def test_an_observation_far_away_does_not_coarsen_the_rest():
    fit = planted(20)
    observation = np.array(fit.observation)
    observation[5, 0, 0] = [1e5, -1e5, 0]
    data = player.player_data(remade(fit, observation=observation), ReportConfig())
    assert data["scale"] == 2e-4
    raw = coordinates(data, "raw").reshape(observation.shape)
    np.testing.assert_allclose(raw[5, 1:], observation[5, 1:], atol=2e-4)


def test_a_very_long_take_is_thinned_and_its_worst_moment_stays(monkeypatch):
    fit = planted(100)
    observation = np.array(fit.observation)
    observation[61, 0, 1, 2] += 1.0
    monkeypatch.setattr(player, "_MAX_VALUES", 100 * 27 // 3)
    data = player.player_data(remade(fit, observation=observation), ReportConfig())
    assert (data["stride"], data["n"], data["n_frames"]) == (3, 34, 100)
    np.testing.assert_allclose(coordinates(data, "position"), fit.position[::3], atol=2e-4)
    assert "frame 61" in data["worst"][0]["text"]
    assert data["worst"][0]["at"] == 20


def test_a_fit_of_an_earlier_file_has_no_observations():
    fit = dataclasses.replace(planted(), observation=None)
    data = player.player_data(fit, ReportConfig())
    assert data["sources"] == []
    assert "raw" not in data["blocks"]


def test_a_take_without_any_position_is_packed_too():
    fit = planted(4)
    nothing = np.full_like(fit.position, np.nan)
    fit = remade(
        fit, position=nothing, status=np.zeros_like(fit.status),
        frame_status=np.zeros_like(fit.frame_status),
        observation=np.full_like(fit.observation, np.nan),
    )  # fmt: skip
    data = player.player_data(fit, ReportConfig())
    assert data["floor"] is None
    assert data["worst"] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_json_in_a_script_holds_no_markup_and_reads_back(name):
    text = player.json_for_script({"joints": [name]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"joints": [name]}


QUARTERS = list(Rotation.create_group("O").as_matrix().round().astype(int))


@pytest.mark.parametrize("turn", QUARTERS, ids=lambda turn: str(turn.tolist()))
def test_a_body_stands_upright_whatever_axis_points_up(turn):
    fit = planted(30)
    turned = remade(
        fit, position=fit.position @ turn.T, observation=fit.observation @ turn.T.astype(np.float32)
    )
    found = upright_turn(turned)
    assert np.linalg.det(found) == 1
    np.testing.assert_array_equal((found @ turn)[:, 1], [0, 1, 0])
    data = player.player_data(turned, ReportConfig())
    shown = coordinates(data, "position")
    np.testing.assert_allclose(shown @ np.array(data["turn"]), turned.position, atol=2e-4)
    np.testing.assert_allclose(shown[..., 1], fit.position[..., 1], atol=2e-4)


def test_a_body_that_turns_over_keeps_y_up():
    fit = planted(30)
    angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    over = Rotation.from_rotvec(angle[:, None] * [0, 0, 1]).as_matrix()
    position = np.einsum("tij,tnj->tni", over, fit.position)
    np.testing.assert_array_equal(upright_turn(remade(fit, position=position)), np.eye(3))


def test_colours_end_where_hardly_anything_is_farther_but_not_beyond_poor():
    fit = planted(400)
    assert player.player_data(fit, ReportConfig())["far_m"] == pytest.approx(0.05)
    tight = ReportConfig(rms_m=(0.01, 0.015))
    assert player.player_data(fit, tight)["far_m"] == 0.015
    exact = remade(fit, observation=np.broadcast_to(fit.position[:, None], fit.observation.shape))
    assert player.player_data(exact, ReportConfig())["far_m"] == pytest.approx(0.001)

"""Figures hold the fit's own numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.errors import MissingExtraError, RecordError

from .fits import planted, remade

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_all():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_residuals_over_time_are_means_over_joints():
    fit = planted()
    axes = fp.plot.residuals(fit)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    for s, line in enumerate(axes.get_lines()):
        np.testing.assert_array_equal(line.get_xdata(), fit.time_s)
        np.testing.assert_allclose(line.get_ydata(), 1e3 * fit.residual[:, s].mean(axis=1))


def test_the_worst_joint_is_on_top():
    fit = planted()
    observation = np.array(fit.observation)
    observation[:, 0, 2, 1] += 0.2
    axes = fp.plot.joint_residuals(remade(fit, observation=observation))
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "Ankle"


def test_coverage_draws_one_cell_a_joint_and_frame():
    axes = fp.plot.coverage(planted(31))
    (image,) = axes.get_images()
    assert image.get_array().shape == (3, 31)
    assert axes.get_xlim() == pytest.approx((2.0 - 1 / 60, 3.0 + 1 / 60))


def test_bones_show_their_interval():
    axes = fp.plot.bones(planted())
    bars = [bar for bar in axes.patches if bar.get_width() > 0]
    assert [bar.get_x() for bar in bars] == pytest.approx([-10, -10])
    assert [bar.get_width() for bar in bars] == pytest.approx([30, 30])


def test_positions_of_a_joint_and_given_axes():
    import matplotlib.pyplot as plt

    fit = planted()
    _, given = plt.subplots()
    assert fp.plot.positions(fit, "Knee", ax=given) is given
    fitted = [line for line in given.get_lines() if line.get_label() == "x"]
    np.testing.assert_array_equal(fitted[0].get_ydata(), fit.position[:, 1, 0])
    with pytest.raises(RecordError, match="did you mean 'Knee'"):
        fp.plot.positions(fit, "Knees")


def test_the_skeleton_stands_upright():
    fit = planted()
    axes = fp.plot.skeleton(fit, 5)
    xs, ys, zs = axes.get_lines()[0].get_data_3d()
    np.testing.assert_allclose(np.stack([ys, zs, xs], axis=1), fit.position[5, :2])
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    drawn = np.ptp(limits, axis=1) / axes._box_aspect
    np.testing.assert_allclose(drawn, drawn[0])  # a metre is a metre on every axis
    with pytest.raises(RecordError, match="60 frames, no frame 60"):
        fp.plot.skeleton(fit, 60)


def test_one_frame_is_drawn_by_all(tmp_path):
    fit = planted(1)
    for draw in (fp.plot.residuals, fp.plot.joint_residuals, fp.plot.coverage, fp.plot.bones):
        draw(fit).figure.savefig(tmp_path / "figure.svg")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"fp\.plot\.residuals needs .* matplotlib") as told:
        fp.plot.residuals(planted())
    assert 'pip install "fitpipe[report]"' in str(told.value)

"""Charts of the joint angles, where a fit has them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fitpipe.report import report_page
from fitpipe.report.angle_charts import angle_charts

from .fits import planted


def turning():
    """A fit whose first segment swings by 30 degrees; the second is never there."""
    fit = planted(400)
    euler = np.full((400, 2, 3), np.nan)
    euler[:, 0] = np.radians(30) * np.sin(fit.time_s)[:, None] * [1.0, 0.5, 0.0]
    lock = np.zeros((400, 2), bool)
    lock[:40, 0] = True
    names = ("flexion", "abduction", "<i>rotation</i>")
    angles = SimpleNamespace(
        segment_label=("left <b>knee</b>", "head"),
        angle_names=(names, names),
        euler_rad=euler,
        is_gimbal=lock,
    )
    object.__setattr__(fit, "angles", angles)
    return fit


def test_each_segment_that_turns_has_a_chart_in_degrees():
    (chart,) = angle_charts(turning())
    assert chart.title == "left <b>knee</b>"
    assert chart.unit == "degrees"
    assert "from -30 to 30 degrees" in chart.about
    assert [key.text for key in chart.legend] == ["flexion", "abduction", "<i>rotation</i>"]
    assert chart.note == "Near gimbal lock in 10 % of the frames."


def test_they_are_in_the_page_as_text():
    page = report_page(turning())
    assert 'id="angles"' in page
    assert "left &lt;b&gt;knee&lt;/b&gt;" in page
    assert 'id="angles"' not in report_page(planted())

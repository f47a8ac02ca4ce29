"""The page of a take: complete, quiet about nothing, and deaf to hostile names."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from fitpipe.config import ReportConfig
from fitpipe.records import Doubt, Finding, FrameStatus, JointStatus
from fitpipe.report import report_page
from fitpipe.report.charts import cover_chart, frame_status_chart, residual_chart, use_charts
from fitpipe.report.tables import bone_table, joint_table, source_table

from .fits import HOSTILE, planted, remade


class Page(HTMLParser):
    """Elements and text of a page as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.data = [], "", ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id", tag) if tag in ("script", "style") else ""

    def handle_endtag(self, _):
        self._inside = ""

    def handle_data(self, data):
        if not self._inside:
            self.text += data
        elif self._inside == "player-data":
            self.data += data


def hostile_fit():
    a, b, c = HOSTILE
    return planted(
        joints=(a, b, c, "x" * 300), sources=(a, c), name=b, log=(Finding(a, b, "warning", c),)
    )


def test_hostile_names_stay_text():
    fit = hostile_fit()
    harmless = Page(
        report_page(planted(joints=("p", "q", "r", "s"), log=(Finding("x", "y", "warning", "z"),)))
    )
    page = Page(report_page(fit, back="report.html"))
    tags = [tag for tag, _ in page.elements if tag != "a"]
    assert tags == [tag for tag, _ in harmless.elements if tag != "a"]
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    for name in HOSTILE:
        assert name in page.text
    assert json.loads(page.data)["joints"] == list(fit.skeleton.joints)


def test_the_page_asks_for_nothing_and_forbids_all_other_scripts():
    text = report_page(planted())
    page = Page(text)
    addresses = [
        value
        for _, attrs in page.elements
        for key, value in attrs.items()
        if key in ("src", "href")
    ]
    assert all(address.startswith("#") for address in addresses)
    assert not re.search(r"https?:|@import|url\(", text)
    (policy,) = (a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/]+=*'", policy)


def test_every_control_and_chart_has_a_name():
    page = Page(report_page(planted()))
    for tag, attrs in page.elements:
        if tag in ("figure", "nav", "canvas"):
            assert attrs.get("aria-label"), (tag, attrs)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    anchors = {a["href"][1:] for t, a in page.elements if t == "a" and a["href"].startswith("#")}
    assert anchors <= set(ids)


def test_the_same_fit_makes_the_same_page():
    assert report_page(planted()) == report_page(planted())


def never_seen():
    fit = planted(30)
    position, status = np.array(fit.position), np.array(fit.status)
    observation, weight = np.array(fit.observation), np.array(fit.weight)
    observation[:, :, 2], weight[:, :, 2], position[:, 2] = np.nan, 0.0, np.nan
    status[:, 2] = JointStatus.ABSENT
    return dataclasses.replace(
        remade(fit, position=position, status=status, observation=observation, weight=weight),
        noise=np.full((2, 3), np.nan),
    )


def nothing_at_all():
    fit = planted(5)
    return remade(
        fit, position=np.full_like(fit.position, np.nan), status=np.zeros_like(fit.status),
        frame_status=np.full_like(fit.frame_status, FrameStatus.NO_DATA),
        observation=np.full_like(fit.observation, np.nan), objective=np.full(5, np.nan),
        worst_bone_error=np.full(5, np.nan),
    )  # fmt: skip


@pytest.mark.parametrize(
    "fit",
    [
        pytest.param(planted(1, sources=("a",)), id="one frame"),
        pytest.param(never_seen(), id="a joint never seen"),
        pytest.param(nothing_at_all(), id="no data in any frame"),
        pytest.param(planted(2, joints=("only",)), id="no bones"),
        pytest.param(dataclasses.replace(planted(), provenance={}, observation=None), id="bare"),
        pytest.param(planted(20, sources=tuple("abcdefgh")), id="eight sources"),
    ],
)
def test_what_is_not_known_is_said_to_be_so(fit):
    text = report_page(fit)  # warnings are errors in these tests
    assert not re.search(r"\bnan\b", Page(text).text.lower())
    assert not re.search(r"[\s,(]nan[\s,)\"]", text)
    html = fit._repr_html_()
    assert fit.name in html
    assert "nan" not in html


def test_a_page_of_ten_thousand_frames_of_two_sources_stays_below_eight_megabytes():
    fit = planted(10_000, joints=[f"joint {j}" for j in range(20)])
    assert len(report_page(fit).encode()) < 8e6


def test_the_numbers_of_the_tables_are_those_of_the_fit():
    fit = planted(101)
    observation, status = np.array(fit.observation, np.float64), np.array(fit.status)
    observation[:, 0, 1] = fit.position[:, 1] + np.linspace(0, 0.1, 101)[:, None] * [0, 0, 1]
    status[20:36, 1] = JointStatus.CARRIED
    fit = remade(fit, observation=observation, status=status)
    table = joint_table(fit)
    assert table.rows[0].name == "Knee"
    assert table.rows[0].bars[0].text == "50 – 90"
    assert table.rows[0].gap == "16 (0.53 s)"
    assert (table.rows[0].seen, table.rows[0].carried) == ("84.2 %", "15.8 %")
    bones = bone_table(fit)
    assert (bones.rows[0].length, bones.rows[0].interval) == ("400.0 mm", "390.0 – 420.0")


def test_exclusions_are_counted_by_their_reason():
    fit = planted(50)
    doubt, weight = np.array(fit.doubt), np.array(fit.weight)
    doubt[:10, 1, 0], weight[:10, 1, 0] = Doubt.FLIPPED, 0.0
    counts = dict(source_table(remade(fit, doubt=doubt, weight=weight))[1].counts)
    assert counts["observations"] == "150"
    assert counts["front taken for back (left out)"] == "10 (6.7 %)"
    assert counts["used"] == "93.3 %"
    assert dict(source_table(fit)[0].counts)["used"] == "100 %"


def test_charts_say_in_words_what_they_show():
    fit = planted(40)
    frame_status = np.array(fit.frame_status)
    frame_status[:10] = FrameStatus.STALLED
    fit = remade(fit, frame_status=frame_status)
    assert "certified 75 %" in frame_status_chart(fit).about
    assert "stalled 25 %" in frame_status_chart(fit).about
    assert "Knee 100 %" in cover_chart(fit).about
    assert "Mean over the take: a 1" in residual_chart(fit).about
    assert [chart.title for chart in use_charts(fit)] == ["a", "b"]


def test_a_peak_far_beyond_the_rest_is_cut_off_and_told():
    fit = planted(200)
    observation = np.array(fit.observation)
    observation[100, 0] += 2.0
    assert "Peaks up to" in residual_chart(remade(fit, observation=observation)).note
    assert "Peaks" not in residual_chart(fit).note


def test_limits_of_the_config_are_shown():
    text = report_page(planted(), ReportConfig(rms_m=(0.011, 0.022)))
    assert "good up to 11 mm, poor above 22 mm" in text


def test_provenance_lists_files_and_what_is_said_and_nothing_that_is_not():
    told = {
        "config": "[solve]\n",
        "inputs": [{"source": "a", "path": "a.csv"}],
        "static": {"path": "still.trc", "sha256": "5a5a"},
        "command": "fitpipe fit a.csv",
        "seed": None,
        "given": {},
        "identity": {"take": "never shown"},
    }
    page = Page(report_page(dataclasses.replace(planted(), provenance=told)))
    text = page.text.rpartition("Provenance")[2]
    for shown in ("a.csv", "static trial", "still.trc", "5a5a", "fitpipe fit a.csv"):
        assert shown in text
    for hidden in ("seed", "given", "never shown", "None"):
        assert hidden not in text

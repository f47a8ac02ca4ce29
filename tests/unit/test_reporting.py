"""Pages for files and folders: what is written where, and what is said of takes that failed."""

from __future__ import annotations

import csv
import dataclasses
import json
import re

import numpy as np
import pytest

from fitpipe.config import ReportConfig
from fitpipe.errors import OutputError
from fitpipe.reporting import report_folder, report_take

from .report.fits import planted, remade

LIMITS = ReportConfig()


def summary(folder, rows):
    with (folder / "summary.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted({key for row in rows for key in row}))
        writer.writeheader()
        writer.writerows(rows)


def takes_in_order(text):
    return re.findall(r'<th scope="row" data-value="([^"]*)"', text)


def troubled(name):
    fit = planted(name=name)
    observation = np.array(fit.observation)
    observation[:, 0] += 0.3
    return remade(fit, observation=observation)


def test_the_page_of_a_fit_lies_beside_it_or_where_it_is_wanted(tmp_path):
    path = planted().save(tmp_path / "walk.h5")
    assert report_take(path, limits=LIMITS) == tmp_path / "walk.html"
    wanted = tmp_path / "new" / "page.html"
    assert report_take(path, wanted, limits=LIMITS) == wanted
    assert wanted.read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(OutputError, match="is the fit itself"):
        report_take(path, path, limits=LIMITS)


def test_the_most_troubled_take_comes_first_and_links_lead_to_pages(tmp_path):
    planted(name="fine").save(tmp_path / "fine.h5")
    troubled("bad & worse").save(tmp_path / "bad & worse.h5")
    summary(
        tmp_path,
        [
            {"take": "fine", "status": "fitted", "seconds": "1.5", "surprise": "x"},
            {"take": "bad & worse", "status": "fitted", "seconds": "oops", "surprise": ""},
            {"take": "lost", "status": "failed", "error": "line 3: <b>no number</b>"},
        ],
    )
    page, n, n_without = report_folder(tmp_path, limits=LIMITS)
    assert (page, n, n_without) == (tmp_path / "report.html", 3, 1)
    text = page.read_text("utf-8")
    assert takes_in_order(text) == ["lost", "bad &amp; worse", "fine"]
    assert "line 3: &lt;b&gt;no number" in text
    assert 'href="bad%20%26%20worse.html"' in text
    assert 'href="report.html"' in (tmp_path / "bad & worse.html").read_text("utf-8")
    assert not (tmp_path / "lost.html").exists()


def test_a_damaged_fit_is_a_row_with_its_reason(tmp_path):
    path = planted().save(tmp_path / "walk.h5")
    path.write_bytes(path.read_bytes()[:-500])
    page, n, n_without = report_folder(tmp_path, limits=LIMITS)
    assert (n, n_without) == (1, 1)
    text = page.read_text("utf-8")
    assert "damaged" in text
    assert "There is no summary.csv" in text


def test_a_file_left_by_an_earlier_run_does_not_hide_a_failure(tmp_path):
    planted().save(tmp_path / "walk.h5")
    summary(tmp_path, [{"take": "walk", "status": "failed", "error": "no such joint"}])
    page, _, n_without = report_folder(tmp_path, limits=LIMITS)
    assert n_without == 1
    assert "no such joint" in page.read_text("utf-8")


def test_a_take_of_the_summary_whose_file_is_gone_is_told(tmp_path):
    summary(tmp_path, [{"take": "walk", "status": "fitted"}])
    page, _, n_without = report_folder(tmp_path, limits=LIMITS)
    assert n_without == 1
    assert "walk.h5 is not in the folder" in page.read_text("utf-8")


def test_a_take_called_like_the_page_keeps_its_own(tmp_path):
    planted(name="Report").save(tmp_path / "Report.h5")
    page, _, _ = report_folder(tmp_path, limits=LIMITS)
    assert 'href="Report.take.html"' in page.read_text("utf-8")
    assert (tmp_path / "Report.take.html").exists()


def test_pages_go_where_the_page_of_the_batch_goes(tmp_path):
    planted().save(tmp_path / "in" / "walk.h5")
    page, _, _ = report_folder(tmp_path / "in", tmp_path / "out" / "all.html", limits=LIMITS)
    assert page.exists()
    assert (tmp_path / "out" / "walk.html").exists()


def test_a_folder_without_fits_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"holds no fits.*output folder of fitpipe run"):
        report_folder(tmp_path, limits=LIMITS)
    planted(2).save(tmp_path / "exact" / "walk.h5")
    with pytest.raises(OutputError, match=r"holds no fits.*one of the folders in it: exact"):
        report_folder(tmp_path, limits=LIMITS)


def test_the_journal_knows_more_than_the_summary_of_a_run_that_was_killed(tmp_path):
    planted(2).save(tmp_path / "walk.h5")
    summary(tmp_path, [{"take": name, "status": "pending"} for name in ("walk", "run", "hop")])
    lines = [
        {"take": "walk", "status": "fitted", "seconds": 2.5, "rms_after_m": None},
        {"take": "run", "status": "failed", "error": "no frames"},
    ]
    journal = "".join(json.dumps(line) + "\n" for line in lines) + '{"take": "hop", "sta'
    (tmp_path / "summary.jsonl").write_text(journal)
    page, n, n_without = report_folder(tmp_path, limits=LIMITS)
    assert (n, n_without) == (3, 2)
    text = page.read_text("utf-8")
    assert takes_in_order(text) == ["run", "hop", "walk"]
    assert "no frames" in text
    assert "the run ended before it" in text


def test_a_summary_of_another_kind_is_told_and_the_fits_are_shown(tmp_path):
    planted().save(tmp_path / "walk.h5")
    (tmp_path / "summary.csv").write_text("a,b\n1,2\n")
    page, n, n_without = report_folder(tmp_path, limits=LIMITS)
    assert (n, n_without) == (1, 0)
    assert "no column take" in page.read_text("utf-8")


def test_progress_counts_takes(tmp_path):
    for name in "ab":
        dataclasses.replace(planted(2), name=name).save(tmp_path / f"{name}.h5")
    seen = []
    report_folder(tmp_path, limits=LIMITS, progress=lambda done, n: seen.append((done, n)))
    assert seen == [(0, 2), (1, 2)]

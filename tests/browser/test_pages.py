"""The pages in a real browser: they play, jump, filter, and run nothing but their own script."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest

import fitpipe as fp
from fitpipe.config import ReportConfig
from fitpipe.report.series import worst_moments
from fitpipe.reporting import report_folder, report_take

from ..unit.report.fits import HOSTILE, planted, remade
from .conftest import ROOT


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The fit of a take that two sensors saw, and its page."""
    folder = tmp_path_factory.mktemp("walk")
    takes = [fp.read_take(ROOT / f"data/walk_kinect_{sensor}.csv") for sensor in "ab"]
    fit = fp.fit(takes, name="walk")
    return fit, report_take(fit.save(folder / "walk.h5"), limits=ReportConfig())


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """Page of a batch: two fine takes, a troubled one, one damaged, two that failed."""
    folder = tmp_path_factory.mktemp("batch")
    planted(300, name="fine").save(folder / "fine.h5")
    planted(20, name=HOSTILE[1]).save(folder / "<img src=x onerror=alert(1)>.h5")
    fit = planted(120, name="troubled")
    observation = np.array(fit.observation)
    observation[40:60] += 0.5
    remade(fit, observation=observation).save(folder / "troubled.h5")
    cut = planted(5, name="cut").save(folder / "cut.h5")
    cut.write_bytes(cut.read_bytes()[:-100])
    with (folder / "summary.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["take", "status", "error"])
        rows.writerow(["empty", "failed", "takes/empty.csv: no frames\n  try another file"])
        rows.writerow([HOSTILE[0], "failed", HOSTILE[0]])
    return report_folder(folder, limits=ReportConfig())[0]


def pixels(page):
    """What the stage shows, once it is drawn."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate("document.getElementById('stage').toDataURL()")


def frame(page):
    return int(page.locator("#scrub").input_value())


def test_the_player_plays_and_pauses(walk, open_page):
    page = open_page(walk[1])
    first = pixels(page)
    page.get_by_role("button", name="Play").click()
    for _ in range(100):
        page.wait_for_timeout(50)
        if frame(page) > 5:
            break
    page.get_by_role("button", name="Pause").click()
    stopped = frame(page)
    assert stopped > 5
    assert pixels(page) != first
    page.wait_for_timeout(300)
    assert frame(page) == stopped
    page.get_by_role("button", name="One frame on").click()
    assert frame(page) == stopped + 1
    assert f"frame {stopped + 1}" in page.locator("#readout").inner_text()


def test_the_skeleton_is_drawn_where_it_is(walk, open_page):
    page = open_page(walk[1])
    ink = page.evaluate(
        """() => { const c = document.getElementById('stage');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0; let left = c.width; let right = 0; let top = c.height; let bottom = 0;
        for (let i = 0; i < d.length; i += 4) {
          if (d[i + 3] > 200 && d[i] < 60 && d[i + 1] < 60 && d[i + 2] < 60) {
            const x = (i / 4) % c.width; const y = Math.floor(i / 4 / c.width);
            n += 1; left = Math.min(left, x); right = Math.max(right, x);
            top = Math.min(top, y); bottom = Math.max(bottom, y);
          } }
        return [n, left / c.width, right / c.width, top / c.height, bottom / c.height]; }"""
    )
    assert ink[0] > 500
    assert 0.02 < ink[1] < ink[2] < 0.98
    assert ink[4] - ink[3] > 0.5  # it fills the stage
    assert 0.02 < ink[3] < ink[4] < 0.98


def test_the_worst_moments_are_one_click_or_key_away(walk, open_page):
    fit, path = walk
    page = open_page(path)
    moments = worst_moments(fit)
    buttons = page.locator("#worst button")
    assert buttons.count() == len(moments)
    buttons.first.click()
    assert frame(page) == moments[0].frame
    assert buttons.first.get_attribute("aria-current") == "true"
    left = page.locator(".over-time .playhead").first.evaluate("(e) => parseFloat(e.style.left)")
    assert left == pytest.approx(100 * (moments[0].frame + 0.5) / fit.n_frames, abs=0.01)
    page.locator("#stage").press("n")
    assert frame(page) == moments[1].frame
    rms = page.locator("#readout").inner_text().split("rms ")[1]
    assert rms == f"{1e3 * moments[1].rms_m:.0f} mm"


def test_a_click_into_a_chart_goes_to_that_moment(walk, open_page):
    fit, path = walk
    page = open_page(path)
    plot = page.locator(".over-time").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 20)
    assert frame(page) == pytest.approx(0.75 * fit.n_frames, abs=1)


def test_the_view_turns_by_mouse_and_keys_and_options_change_the_picture(walk, open_page):
    page = open_page(walk[1])
    stage = page.locator("#stage")
    seen = [pixels(page)]

    def changed():
        seen.append(pixels(page))
        assert seen[-1] not in seen[:-1]

    box = stage.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 230, steps=4)
    page.mouse.up()
    changed()
    for key in ("ArrowLeft", "ArrowUp", "+"):
        stage.press(key)
        changed()
    for name in ("front", "side", "top"):
        page.get_by_role("button", name=name, exact=True).click()
        changed()
    page.get_by_role("checkbox", name="walk_kinect_a").uncheck()
    changed()
    page.get_by_label("lines to the fit").uncheck()
    changed()
    page.get_by_label("names").check()
    changed()
    page.get_by_label("where the joint comes from").check()
    changed()
    assert "carried by bones" in page.locator("#colour-key").inner_text()
    page.get_by_role("button", name="Reset the view").click()
    changed()


def test_everything_is_reached_by_keyboard(walk, open_page):
    page = open_page(walk[1])
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"stage", "play", "scrub", "speed", "names", "show-links"} <= set(reached)
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowRight")
    assert frame(page) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window(walk, batch, open_page, scheme, width):
    for path in (walk[1], batch):
        page = open_page(path, width=width, color_scheme=scheme)
        inside = page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
        assert inside
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(",")))
    assert (lightness < 300) == (scheme == "dark")


def test_print_shows_what_is_folded_away_on_white(walk, open_page):
    page = open_page(walk[1], color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.get_by_text('preset = "kinect20"').is_visible()
    assert not page.locator("#play").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ink = page.evaluate(
        """() => { const c = document.getElementById('stage');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0; for (let i = 0; i < d.length; i += 4)
          if (d[i + 3] > 200 && d[i] + d[i + 1] + d[i + 2] < 100) n += 1;
        return n; }"""
    )
    assert ink > 500  # drawn in dark ink, not in the light one of the dark scheme


def test_hostile_names_stay_text(tmp_path, open_page):
    a, b, c = HOSTILE
    fit = planted(joints=(a, b, c), sources=(b, c), name=a)
    page = open_page(report_take(fit.save(tmp_path / "walk.h5"), limits=ReportConfig()))
    page.get_by_label("names").check()
    page.get_by_label("where the joint comes from").check()
    page.locator("#worst button").first.click()
    assert page.locator("h1").inner_text() == a
    assert page.title() == f"{a} – fitpipe"
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.scripts.length") == 2
    for name in HOSTILE:
        assert page.locator("table.joints").get_by_text(name, exact=True).is_visible()


def test_takes_without_much_to_show_open_without_a_fault(tmp_path, open_page):
    for name, fit in {
        "one frame": planted(1, sources=("a",)),
        "no data": remade(
            planted(3),
            position=np.full((3, 3, 3), np.nan),
            status=np.zeros((3, 3)),
            frame_status=np.zeros(3),
            observation=np.full((3, 2, 3, 3), np.nan),
        ),
    }.items():
        page = open_page(report_take(fit.save(tmp_path / f"{name}.h5"), limits=ReportConfig()))
        page.get_by_role("button", name="Play").click()
        page.wait_for_timeout(100)
        assert page.locator("#readout").inner_text().startswith("frame ")


def shown(page):
    return page.locator("#takes tbody tr:visible th").all_inner_texts()


def test_the_batch_page_lists_filters_and_sorts(batch, open_page):
    page = open_page(batch)
    all_takes = shown(page)
    assert set(all_takes[:3]) == {"cut", "empty", HOSTILE[0]}
    assert all_takes[3] == "troubled"
    assert "no frames" in page.locator("tr", has_text="empty").inner_text()
    assert page.title() != "owned"

    page.get_by_label("Find").fill("try another")
    assert shown(page) == ["empty"]
    page.get_by_label("Find").fill("fin")
    assert shown(page) == ["fine"]
    assert page.locator("#shown").inner_text() == "1 of 6 shown"
    page.get_by_label("Find").fill("no such take")
    assert shown(page) == []
    assert page.get_by_text("No take matches").is_visible()
    page.get_by_label("Find").fill("")
    page.get_by_label("failed").uncheck()
    assert set(shown(page)) == {"troubled", "fine", "<img src=x onerror=alert(1)>"}

    page.get_by_role("button", name="frames").click()
    assert shown(page) == ["fine", "troubled", "<img src=x onerror=alert(1)>"]
    page.get_by_role("button", name="frames").click()
    assert shown(page)[-1] == "fine"
    page.get_by_role("button", name="take").click()
    assert shown(page)[1:] == ["fine", "troubled"]


def test_links_lead_to_the_takes_and_back(batch, open_page):
    page = open_page(batch)
    page.get_by_role("link", name="onerror").click()
    page.wait_for_selector("html[data-ready=true]", state="attached")
    assert page.locator("h1").inner_text() == HOSTILE[1]
    page.get_by_role("link", name="all takes").click()
    assert page.locator("#takes").is_visible()


def test_the_pages_of_a_run_with_a_failing_take(tmp_path, open_page):
    from fitpipe.simulate import DepthSensor, observe, walk

    motion = walk(30, 30.0)
    sensor = DepthSensor.looking_at("a", (0, 1, 0), from_m=(0, 1, 4))
    take = observe(motion, sensor, seed=1)
    folder = tmp_path / "takes"
    folder.mkdir()
    header = ["time_s"] + [f"{label}_{axis}_m" for label in take.labels for axis in "xyz"]
    rows = np.column_stack([take.time_s, take.position_m.reshape(30, -1)])
    lines = [",".join(header)] + [
        ",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in rows
    ]
    (folder / "good.csv").write_text("\n".join(lines))
    (folder / "bad.csv").write_text("\n".join(lines[:1]))
    (tmp_path / "run.toml").write_text(
        "[takes]\npattern = 'takes/{take}.csv'\n[output]\nfolder = 'out'\n"
    )
    command = [sys.executable, "-m", "fitpipe.cli", "run", "run.toml"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    page = open_page(report_folder(tmp_path / "out", limits=ReportConfig())[0])
    assert shown(page) == ["bad", "good"]
    page.get_by_role("link", name="good").click()
    page.wait_for_selector("html[data-ready=true]", state="attached")
    assert frame(page) == 0

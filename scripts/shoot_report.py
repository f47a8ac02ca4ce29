"""Takes the README's picture of a report: the page of the demo walk at one of its worst moments.

Usage: python scripts/shoot_report.py [docs/report.png]

Needs a Chromium and playwright: pip install "fitpipe[browser]".
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import fitpipe as fp

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT = 1240, 1150
SHRINK = 0.75  # still readable, and half the bytes


def main(path: Path) -> None:
    takes = [fp.read_take(ROOT / f"data/walk_kinect_{sensor}.csv") for sensor in "ab"]
    fit = fp.fit(takes, name="walk")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page_path = Path(folder) / "walk.html"
        page_path.write_text(fp.report_page(fit), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_path.as_uri())
        page.wait_for_selector("html[data-ready=true]", state="attached")
        page.locator("#worst button").nth(2).click()
        page.get_by_role("button", name="front", exact=True).click()
        page.locator("#stage").press("ArrowRight")
        page.locator("#stage").press("ArrowUp")
        page.locator("#stage").evaluate("(stage) => stage.blur()")
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        shot = Path(folder) / "shot.png"
        page.screenshot(path=shot)
        browser.close()
        with Image.open(shot) as image:
            size = (round(SHRINK * WIDTH), round(SHRINK * HEIGHT))
            small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"wrote {path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "report.png")

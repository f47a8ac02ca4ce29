"""A headless Chromium, and the pages it opens; skipped where there is no Chromium."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "results" / "screenshots"  # git ignores it; whoever runs the tests may keep it
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system, driven by playwright."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='playwright is not installed: pip install "fitpipe[browser]"'
    )
    path = os.environ.get("FITPIPE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium found: install one, or name it in FITPIPE_CHROMIUM")
    # Chromium's own sandbox does not work for root, whom containers run as
    arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, request):
    """Opens a file as a page; at the end nothing may have gone wrong in it or left the machine."""
    contexts, wrong = [], []

    def opened(path, *, width=1280, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda r: r.url.startswith("file:") or wrong.append(r.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]", state="attached")
        return page

    yield opened
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_")).strip("_")
    for number, context in enumerate(contexts):
        for page in context.pages:
            page.screenshot(path=SCREENSHOTS / f"{name}_{number}.png", full_page=True)
        context.close()
    assert not wrong

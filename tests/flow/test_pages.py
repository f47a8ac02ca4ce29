"""Pages and files that scripts write are as the scripts would write them now."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_file_format_is_current():
    script = runpy.run_path(str(ROOT / "scripts" / "write_format_page.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()


def test_the_page_of_the_exports_is_current():
    script = runpy.run_path(str(ROOT / "scripts" / "write_export_page.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()

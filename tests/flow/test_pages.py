"""Pages and files that scripts write are as the scripts would write them now."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from fitpipe.config import FitConfig, RunConfig

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "scripts").glob("write_*_page.py")))
def test_a_generated_page_is_current(name):
    script = runpy.run_path(str(ROOT / "scripts" / name))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = re.findall(r"(?:python |sh |`)(scripts/[\w/]+\.(?:py|sh))", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [name for name in named if not (ROOT / name).exists()]
    assert not missing


def test_the_demo_config_names_every_section_and_key_with_its_default_or_a_comment():
    text = (ROOT / "configs" / "demo.toml").read_text(encoding="utf-8")
    given = tomllib.loads(text)
    for section, field in FitConfig.model_fields.items() | {
        ("report", RunConfig.model_fields["report"])
    }:
        for key in field.annotation.model_fields:
            assert key in given.get(section, {}) or f"# {key} =" in text, f"[{section}] {key}"


def test_the_definitions_of_joint_angles_are_current():
    script = runpy.run_path(str(ROOT / "scripts" / "write_angle_table.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()

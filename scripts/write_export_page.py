"""Writes the table of docs/exports.md from what the formats say of themselves.

Usage: python scripts/write_export_page.py
"""

from __future__ import annotations

from pathlib import Path

from fitpipe.output.export import FORMATS

PAGE = Path(__file__).parent.parent / "docs" / "exports.md"
HEAD = "| format | kept | lost |\n|---|---|---|\n"


def page() -> str:
    """The page as it stands, with the rows of its table made anew."""
    before, _, after = PAGE.read_text(encoding="utf-8").partition(HEAD)
    rows = [f"| `{known.name}` | {known.keeps} | {known.loses} |\n" for known in FORMATS.values()]
    return before + HEAD + "".join(rows) + after[after.index("\n## ") :]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

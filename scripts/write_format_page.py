"""Writes docs/file_format.md from the schema that the writer and the reader use.

Usage: python scripts/write_format_page.py
"""

from __future__ import annotations

from pathlib import Path

from fitpipe.output.schema import schema_markdown

PAGE = Path(__file__).parent.parent / "docs" / "file_format.md"
HEAD = """# The file of a fit

`fitpipe fit`, `fitpipe run` and `fit.save()` write this; `fp.load_fit()`, h5py, MATLAB and
`xarray.open_dataset(path, engine="h5netcdf")` read it. This page is written by
`python scripts/write_format_page.py` from the table that the writer itself uses.

"""


def page() -> str:
    """The page's text."""
    return HEAD + schema_markdown()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

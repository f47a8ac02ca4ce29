"""Writes docs/config.md from the models that check a config.

Usage: python scripts/write_config_page.py
"""

from __future__ import annotations

from pathlib import Path

from fitpipe.config import RunConfig
from fitpipe.config.reference import config_markdown

PAGE = Path(__file__).parent.parent / "docs" / "config.md"
HEAD = """# The config

Every key that `fitpipe run CONFIG.toml` reads, with its default.
[configs/demo.toml](../configs/demo.toml) is one to start from. The same keys work as
`--set solve.max_iterations=50` on the command line and, for the sections `skeleton`,
`calibrate`, `weights` and `solve`, as `fp.fit(..., config={"solve": {"max_iterations": 50}})`
in Python. An unknown key is refused with the nearest known one.
[mathematics.md](mathematics.md) says what the settings of the fit do. This page is written by
`python scripts/write_config_page.py` from the models.
"""


def page() -> str:
    """The page's text."""
    return HEAD + config_markdown(RunConfig)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

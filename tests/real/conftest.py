"""The folder of shared recordings; tests that need it skip where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real recordings beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the recordings in ../shared/data are not here")
    return SHARED_DATA

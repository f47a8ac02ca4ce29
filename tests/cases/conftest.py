"""Has the shared script write the catalogue of cases, once a session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .catalogue import Catalogue

SCRIPT = Path(__file__).resolve().parents[3] / "shared" / "cases" / "make_cases.py"


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """Every case, with its files."""
    if not SCRIPT.is_file():
        pytest.skip("the catalogue of cases in ../shared/cases is not here")
    folder = tmp_path_factory.mktemp("cases")
    command = [sys.executable, "-B", str(SCRIPT), str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0, made.stderr
    return Catalogue(folder, json.loads((folder / "manifest.json").read_text()))

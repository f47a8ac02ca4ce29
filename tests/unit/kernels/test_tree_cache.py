from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import fitpipe

SCRIPT = """
import numpy as np
from fitpipe.kernels.tree_frames import mark_active
active = np.zeros(2, np.bool_)
print(mark_active(np.ones(2), np.array([-1, 0]), active), len(mark_active.stats.cache_hits))
"""


def run(folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_change_in_any_kernel_file_makes_the_cached_code_stale(tmp_path):
    package = tmp_path / "fitpipe"
    package.mkdir()
    (package / "__init__.py").touch()
    kernels = Path(fitpipe.__file__).parent / "kernels"
    shutil.copytree(kernels, package / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(tmp_path) == ["2", "0"]
    assert run(tmp_path) == ["2", "1"]
    with (package / "kernels" / "tree_lanes.py").open("a") as file:
        file.write("# changed\n")
    assert run(tmp_path) == ["2", "0"]

"""The Python examples of the README and of docs/batches.md run as written."""

from __future__ import annotations

import re
from pathlib import Path

import fitpipe as fp

from ..unit.batch.batch_files import write_config, write_takes

ROOT = Path(__file__).parents[2]


def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own text
    printed = capsys.readouterr().out
    assert "240 of 240 frames fitted" in printed
    assert "(240, 20, 3)" in printed
    assert fp.load_fit(tmp_path / "walk.h5").worst_bone_m < 1e-9


def test_the_python_example_of_the_page_on_batches_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "batches.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    write_takes(tmp_path / "takes", 2)
    write_config(tmp_path, name="study.toml")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "batches.md", "exec"), {})  # noqa: S102 - our own text
    lines = sorted(capsys.readouterr().out.splitlines())
    assert [line.split()[:2] for line in lines] == [["take000", "fitted"], ["take001", "fitted"]]

"""Cases about whole runs: outputs, batches, the command line, reports, versions."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement

import fitpipe as fp
from fitpipe.output import atomic
from fitpipe.report.metrics import summarise

from .catalogue import Case

ROOT = Path(__file__).parents[2]


def command(*arguments: Any, cwd: Path, env: dict[str, str] | None = None) -> Any:
    """The program as a user starts it."""
    done = subprocess.run(
        [sys.executable, "-m", "fitpipe.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        timeout=600,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def config(folder: Path, pattern: str, *, output: str = "out") -> Path:
    path = folder / "run.toml"
    path.write_text(f'[takes]\npattern = "{pattern}"\n[output]\nfolder = "{output}"\n')
    return path


def folder_of(case: Case, tmp: Path) -> Path:
    """A copy of the case's files to work in."""
    source = case.catalogue.folder / case.entry["id"]
    return Path(shutil.copytree(source, tmp / case.entry["id"]))


def walks(case: Case, tmp: Path) -> Path:
    """Three takes of another case, for cases that bring none."""
    return Path(shutil.copytree(case.catalogue.folder / "out-half-written", tmp / "walks"))


def says(case: Case, text: str) -> None:
    for pattern in case.entry["message_matches"]:
        assert re.search(pattern, text, re.IGNORECASE), (pattern, text)


def gap_rms(case: Case, tmp: Path) -> None:
    del tmp
    errors = np.array([np.nan if e is None else e for e in case.numbers()["errors_mm"]])
    found = summarise(errors / 1000)
    assert 1000 * found.rms_m == pytest.approx(case.values["rms_mm"], abs=1e-12)
    assert found.n == case.values["n_valid"]


def one_bad(case: Case, tmp: Path) -> None:
    folder = folder_of(case, tmp)
    done = command("run", config(folder, "{take}.trc"), cwd=folder)
    assert done.returncode != 0
    with (folder / "out" / "summary.csv").open() as file:
        rows = {Path(row["take"]).stem: row for row in csv.DictReader(file)}
    text = " ".join(str(row) for row in rows.values()) + done.stdout + done.stderr
    says(case, text)
    for name in case.values["ok"]:
        assert rows[name]["error"] == "", rows[name]
        assert fp.load_fit(folder / "out" / f"{name}.h5").is_fitted.all()
    for name in case.values["must_fail"]:
        assert rows[name]["error"], rows[name]


def same_stem(case: Case, tmp: Path) -> None:
    folder = folder_of(case, tmp)
    done = command("run", config(folder, "{subject}/walk.trc"), cwd=folder)
    assert done.returncode == 0, done.stderr
    results = sorted((folder / "out").rglob("*.h5"))
    assert len(results) == case.values["distinct_outputs"]
    a, b = (fp.load_fit(path).position for path in results)
    assert np.nanmedian((b - a)[..., 2]) == pytest.approx(case.values["z_difference_m"], abs=1e-6)


def backslash(case: Case, tmp: Path) -> None:
    folder = folder_of(case, tmp)
    path = folder / "config.toml"
    text = path.read_text().replace("input =", "[takes]\npattern =")
    path.write_text(text)
    done = command("run", path, cwd=folder)
    assert done.returncode == 2
    says(case, done.stderr)


def typo(case: Case, tmp: Path) -> None:
    path = tmp / "demo.toml"
    text = (ROOT / "configs" / "demo.toml").read_text()
    assert "\n[calibrate]" in text
    path.write_text(text.replace("\n[calibrate]", "\n[calibrat]"))
    done = command("run", path, cwd=tmp)
    assert done.returncode == 2
    says(case, done.stderr)
    assert "calibrate" in done.stderr


def no_match(case: Case, tmp: Path) -> None:
    done = command("run", config(tmp, "nothing_*.trc"), cwd=tmp)
    assert done.returncode != 0
    says(case, done.stderr)


def unwritable(case: Case, tmp: Path) -> None:
    folder = walks(case, tmp)
    (folder / "out").write_text("a plain file")
    for arguments in (
        ("run", config(folder, "{take}.trc")),
        ("fit", folder / "walk01.trc", "-o", folder / "out" / "walk01.h5"),
    ):
        done = command(*arguments, cwd=folder)
        assert done.returncode != 0
        says(case, done.stderr)
    assert (folder / "out").read_text() == "a plain file"


def code_page(case: Case, tmp: Path) -> None:
    folder = walks(case, tmp)
    env = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = command("fit", folder / "walk01.trc", "-o", "walk.h5", cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert "UnicodeEncodeError" not in done.stderr
    assert "\r" not in done.stdout + done.stderr


def replace_fails_twice(case: Case, tmp: Path) -> None:
    """A rename that is refused twice works the third time; nothing is left beside the file."""
    fit = fp.fit(fp.read_take(case.catalogue.folder / "out-half-written" / "walk01.trc"))
    real, refused = os.replace, []

    def replace(source: Any, target: Any) -> None:
        if len(refused) < 2:
            refused.append(target)
            raise PermissionError(13, "in use", str(target))
        real(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic.os, "replace", replace)
        fit.save(tmp / "walk.h5")
    assert len(refused) == 2
    assert [path.name for path in tmp.iterdir()] == ["walk.h5"]
    assert fp.load_fit(tmp / "walk.h5").n_frames == fit.n_frames


def declared_versions(case: Case, tmp: Path) -> None:
    """The lower limits are declared, and what is installed keeps them."""
    del case, tmp
    wanted = [Requirement(text) for text in importlib.metadata.requires("fitpipe") or []]
    core = {item.name: item for item in wanted if item.marker is None}
    for name in ("numpy", "scipy", "h5py", "pandas", "numba"):
        assert str(core[name].specifier), f"{name} has no lower limit"
        assert core[name].specifier.contains(importlib.metadata.version(name)), name


def page_of(source: Path, folder: Path, **env: str) -> tuple[str, str]:
    """What fit says, and the page of the fit; every RuntimeWarning of the two is an error."""
    strict = {"PYTHONWARNINGS": "error::RuntimeWarning", **env}
    fitted = command("fit", source, "-o", folder / "take.h5", cwd=folder, env=strict)
    assert fitted.returncode == 0, fitted.stderr
    drawn = command("report", folder / "take.h5", cwd=folder, env=strict)
    assert drawn.returncode == 0, drawn.stderr
    return fitted.stdout, (folder / "take.html").read_text(encoding="utf-8")


def honest(case: Case, tmp: Path) -> None:
    said, page = page_of(case.files[0], tmp)
    assert re.search(r"rms [\d.]+ mm before, [\d.]+ mm after", said)
    for part in ("By joint", "Worst bone error", "terations", "Frames converged"):
        assert part in page, part
    fit = fp.load_fit(tmp / "take.h5")
    assert np.abs(fit.iterations).sum() > 0
    rms = np.sqrt(np.mean((fit.position - case.truth()["xyz"]) ** 2))
    assert rms < np.sqrt(
        np.mean((fp.read_take(case.files[0]).position_m - case.truth()["xyz"]) ** 2)
    )


def no_display(case: Case, tmp: Path) -> None:
    folder = walks(case, tmp)
    _, page = page_of(folder / "walk01.trc", folder, DISPLAY="", MPLBACKEND="")
    assert "<svg" in page


def nothing_to_report(case: Case, tmp: Path) -> None:
    for name in ("gap-never-seen/take.trc", "one-frame/one.trc"):
        folder = tmp / Path(name).parent
        folder.mkdir()
        _, page = page_of(case.catalogue.folder / name, folder)
        assert "n/a" in page
        assert ">nan<" not in page.lower()


RUN = {
    "gap-rms": gap_rms,
    "batch-one-bad": one_bad,
    "out-same-stem": same_stem,
    "config-backslash": backslash,
    "config-typo": typo,
    "no-match": no_match,
    "batch-unwritable": unwritable,
    "console-cp1252": code_page,
    "batch-windows-replace": replace_fails_twice,
    "numpy2": declared_versions,
    "fit-report-honest": honest,
    "headless": no_display,
    "report-empty": nothing_to_report,
}

"""The catalogue of inputs on which other tools failed: what each case holds and what is right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fitpipe as fp
from fitpipe.records import Finding

PLAIN = {
    "weights": {
        "noise": False, "swaps": "off", "flips": False, "jumps": False, "bones": False,
        "robust_scale_m": 0.0,
    }
}  # fmt: skip


@dataclass(frozen=True)
class Catalogue:
    """The folder of inputs and its manifest."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def joints(self) -> list[str]:
        return self.manifest["joints"]

    @property
    def alias(self) -> dict[str, str]:
        """Label of each joint in the files that name markers."""
        return self.manifest["alias"]

    def case(self, name: str) -> Case:
        (entry,) = (c for c in self.manifest["cases"] if c["id"] == name)
        return Case(self, entry)


@dataclass(frozen=True)
class Case:
    """One entry of the manifest."""

    catalogue: Catalogue
    entry: dict[str, Any]

    @property
    def values(self) -> dict[str, Any]:
        return self.entry["values"]

    @property
    def files(self) -> list[Path]:
        return [self.catalogue.folder / name for name in self.entry["files"]]

    def file(self, name: str) -> Path:
        return next(path for path in self.files if path.name == name)

    def numbers(self) -> dict[str, Any]:
        """The case's input.json."""
        return json.loads(self.files[0].read_text())

    def truth(self) -> dict[str, np.ndarray]:
        with np.load(self.catalogue.folder / self.entry["truth"]) as archive:
            return dict(archive)

    def accepts(self, outcome: Outcome, path: Path | None = None) -> None:
        """Check an outcome: its kind, what it must say, and what it must not."""
        per_file = self.entry["accept_per_file"]
        accepted = per_file.get(path.name, self.entry["accept"]) if path else self.entry["accept"]
        assert outcome.kind in accepted, f"{path}: {outcome.kind}: {outcome.text}"
        if outcome.kind != "ok":
            for pattern in self.entry["message_matches"]:
                assert re.search(pattern, outcome.text, re.IGNORECASE), (pattern, outcome.text)
        if path is not None and outcome.kind == "error":
            assert path.name in outcome.text

    def by_alias(self) -> dict[str, str]:
        """A marker set that leads the markers' labels to the joints."""
        return {joint: self.catalogue.alias[joint] for joint in self.catalogue.joints}


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: ok, with a warning, or in a clean error."""

    kind: str
    text: str
    result: Any = None


def attempt(do: Callable[[], Any], findings: Callable[[Any], Any] | None = None) -> Outcome:
    """Try something; errors other than fitpipe's own are not caught, and fail the test."""
    try:
        result = do()
    except fp.FitpipeError as error:
        return Outcome("error", str(error))
    told: tuple[Finding, ...] = findings(result) if findings else ()
    text = "; ".join(str(finding) for finding in told)
    kind = "warn" if any(finding.severity == "warning" for finding in told) else "ok"
    return Outcome(kind, text, result)


def reading(path: Path, **options: Any) -> Outcome:
    """Read a file that holds one take."""
    return attempt(lambda: fp.read_take(path, **options), lambda take: take.repairs)


def fitting(takes: Any, **options: Any) -> Outcome:
    """Fit takes, or the files of takes."""
    paths = [takes] if isinstance(takes, Path) else takes

    def run() -> fp.Fit:
        read = [fp.read_take(t) if isinstance(t, Path) else t for t in paths]
        return fp.fit(read, **options)

    return attempt(run, lambda fit: fit.log)


def check_truth(case: Case, take: fp.Take, *, max_abs_m: float, by_alias: bool = False) -> None:
    """The take's joints, and its gaps, at its instants, are those of the truth."""
    truth = case.truth()
    rows = np.searchsorted(truth["t"], take.time_s - 1e-4)
    assert np.abs(truth["t"][rows] - take.time_s).max() < 2e-3
    alias = case.catalogue.alias
    joints = case.values.get("names", case.catalogue.joints)
    names = [alias[j] if by_alias else j for j in joints]
    labels = [label.split(":")[-1] for label in take.labels]
    shared = [(j, labels.index(name)) for j, name in enumerate(names) if name in labels]
    assert shared, take.labels
    for joint, column in shared:
        expected = truth["xyz"][rows, joint]
        came = take.position_m[:, column]
        assert np.array_equal(np.isnan(expected), np.isnan(came)), take.labels[column]
        if np.isfinite(came).any():
            assert np.nanmax(np.abs(expected - came)) <= max_abs_m, take.labels[column]


def gaps(take: fp.Take) -> int:
    return int((~take.is_observed).sum())


def worst_m(fit: fp.Fit, truth_m: np.ndarray, where: np.ndarray | None = None) -> float:
    """Largest coordinate error of the samples asked for; NaN counts as infinitely wrong."""
    off = np.abs(fit.position - truth_m)
    off = off if where is None else off[where]
    return float(np.where(np.isnan(off), np.inf, off).max())

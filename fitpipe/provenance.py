"""Where a fit comes from: what it takes to make it again."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w

from fitpipe.config import FitConfig, config_sha256, config_text
from fitpipe.records import LongTake, Take

_NUMERICAL = (
    "fitpipe", "numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "h5py", "ezc3d",
)  # fmt: skip


def given_as_text(
    skeleton: object,
    markerset: object,
    subject: object,
    static: Take | None,
    bone_length_m: object,
    weight: object,
) -> dict[str, str]:
    """What the caller gave beside takes and config; text as it is, else only its type."""
    given = {
        "skeleton": skeleton,
        "markerset": markerset,
        "subject": subject,
        "static": static and (static.origin.path or static),
        "bone_length_m": bone_length_m,
        "weight": weight,
    }
    return {
        name: str(value) if isinstance(value, str | Path) else f"<{type(value).__name__}>"
        for name, value in given.items()
        if value is not None
    }


def provenance_of(
    takes: Sequence[Take | LongTake], settings: FitConfig, static: Take | None = None
) -> dict[str, Any]:
    """What it takes to make the fit again."""
    text = config_text(settings)
    origin = static and static.origin
    return {
        "config": text,
        "config_sha256": config_sha256(text),
        "command": "",  # a command line tells its own
        "seed": None,  # nothing in a fit is drawn at random
        "inputs": [
            {
                "source": take.source,
                "path": take.origin.path,
                "sha256": take.origin.sha256,
                "format": take.origin.format,
                "unit": take.origin.unit,
                "asked": dict(take.origin.asked),
                "up": take.origin.up,
                "metadata": dict(take.origin.metadata),
            }
            for take in takes
        ],
        "static": origin and {"path": origin.path, "sha256": origin.sha256},
        "versions": {"python": platform.python_version()} | _versions(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def with_angles(provenance: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """The provenance of a fit after its angles were measured anew with a preset."""
    changed = dict(provenance)
    if "config" in provenance:
        table = tomllib.loads(str(provenance["config"]))
        table["angles"] = {**table.get("angles", {}), "compute": True, "preset": preset}
        changed["config"] = tomli_w.dumps(table)
        if "config_sha256" in provenance:
            changed["config_sha256"] = config_sha256(changed["config"])
    return changed


@cache
def _versions() -> dict[str, str]:
    """Versions of what makes the numbers; looked up once, since each takes a millisecond."""
    return {package: version(package) for package in _NUMERICAL}

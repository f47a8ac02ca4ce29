"""fitpipe turns motion-capture takes from one or several sensors into rigid skeletons."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fitpipe.comparison import compare
    from fitpipe.errors import FitpipeError
    from fitpipe.exporting import export
    from fitpipe.io import read_take, read_takes
    from fitpipe.mapping import MarkerSet
    from fitpipe.output import load_fit
    from fitpipe.pipeline import fit
    from fitpipe.records import Doubt, Fit, FrameStatus, JointStatus, Skeleton, Take
    from fitpipe.report import Comparison, plot, report_page
    from fitpipe.solve import Tracker

__version__ = _version("fitpipe")

# The public names and where they live; each is imported on first use, so `import fitpipe` is light.
_HOMES = {
    "Comparison": "fitpipe.report",
    "Doubt": "fitpipe.records",
    "Fit": "fitpipe.records",
    "FitpipeError": "fitpipe.errors",
    "FrameStatus": "fitpipe.records",
    "JointStatus": "fitpipe.records",
    "MarkerSet": "fitpipe.mapping",
    "Skeleton": "fitpipe.records",
    "Take": "fitpipe.records",
    "Tracker": "fitpipe.solve",
    "compare": "fitpipe.comparison",
    "export": "fitpipe.exporting",
    "fit": "fitpipe.pipeline",
    "load_fit": "fitpipe.output",
    "plot": "fitpipe.report",
    "read_take": "fitpipe.io",
    "read_takes": "fitpipe.io",
    "report_page": "fitpipe.report",
}

__all__ = [
    "Comparison",
    "Doubt",
    "Fit",
    "FitpipeError",
    "FrameStatus",
    "JointStatus",
    "MarkerSet",
    "Skeleton",
    "Take",
    "Tracker",
    "compare",
    "export",
    "fit",
    "load_fit",
    "plot",
    "read_take",
    "read_takes",
    "report_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fitpipe' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

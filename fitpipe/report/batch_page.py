"""The page of many takes: the most troubled first, with a link to each one's own page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from fitpipe.config import ReportConfig
from fitpipe.records import Fit, JointStatus
from fitpipe.report import svg
from fitpipe.report.numbers import NOTHING, count, mm, percent, quantile, ratio
from fitpipe.report.page import render
from fitpipe.report.series import bin_edges, envelope, frame_rms
from fitpipe.report.verdict import Check, Level, judge, overall

_SPARK = (120.0, 24.0)
_SPARK_BINS = 60


@dataclass(frozen=True)
class BatchRow:
    """One take of a batch.

    Parameters
    ----------
    take : str
    error : str
        Why there is no fit; empty if there is one.
    is_pending : bool
        There is no fit yet because the run did not come so far.
    page : str
        Address of the take's page; empty if there is none.
    seconds : float
        How long it took; NaN where nothing tells.
    frames, fitted, warnings : int
    level : Level
        UNKNOWN for a take without a fit.
    checks : mapping of str to Check
    troubles : tuple of Check
        Those that are not good, the worst first.
    rms_line, seen_line : Markup
        Sparklines of the distance to the observations and of the share of joints seen.
    """

    take: str
    error: str = ""
    is_pending: bool = False
    page: str = ""
    seconds: float = float("nan")
    frames: int = 0
    fitted: int = 0
    warnings: int = 0
    level: Level = Level.UNKNOWN
    checks: Mapping[str, Check] = field(default_factory=dict)
    troubles: tuple[Check, ...] = ()
    rms_m: float = float("nan")
    rms_line: Markup = field(default_factory=Markup)
    seen_line: Markup = field(default_factory=Markup)

    @property
    def word(self) -> str:
        """Its light as a word; ``failed`` or ``pending`` without a fit."""
        if self.is_pending:
            return "pending"
        return "failed" if self.error else self.level.word


def fitted_row(fit: Fit, limits: ReportConfig, *, take: str, page: str, seconds: float) -> BatchRow:
    """The row of a take that was fitted; ``page`` is the file name of its page."""
    checks = judge(fit, limits)
    troubles = sorted(
        (c for c in checks if c.level >= Level.CHECK), key=lambda c: c.level, reverse=True
    )
    seen = (fit.status == JointStatus.OBSERVED).mean(axis=1)
    return BatchRow(
        take=take,
        page=quote(page),
        seconds=seconds,
        frames=fit.n_frames,
        fitted=int(fit.is_fitted.sum()),
        warnings=sum(finding.severity == "warning" for finding in fit.log),
        level=overall(checks),
        checks={check.key: check for check in checks},
        troubles=tuple(troubles),
        rms_m=fit.rms_m,
        rms_line=_spark(frame_rms(fit), limits.rms_m[1]),
        seen_line=_spark(seen, 1.0),
    )


def batch_page(rows: Sequence[BatchRow], *, title: str, remarks: Sequence[str] = ()) -> str:
    """The page of a batch as HTML text, the most troubled takes first.

    Parameters
    ----------
    rows : sequence of BatchRow
    title : str
    remarks : sequence of str
        What is odd about the batch as a whole.
    """
    ordered = sorted(rows, key=_trouble, reverse=True)
    return render(
        "batch.html",
        scripts=("batch.js",),
        title=f"{title} – fitpipe",
        heading=title,
        rows=ordered,
        remarks=list(remarks),
        words=[
            (word, sum(row.word == word for row in rows))
            for word in ("failed", "pending", "poor", "check", "good", NOTHING)
        ],
        totals=_totals(rows),
    )


def _trouble(row: BatchRow) -> tuple[float, ...]:
    """The larger the worse: failures, then poor measures, then such to check, then the rms."""
    levels = [check.level for check in row.troubles]
    return (
        float(bool(row.error)) - 0.5 * row.is_pending,
        float(levels.count(Level.POOR)),
        float(levels.count(Level.CHECK)),
        float(np.nan_to_num(row.rms_m)),
    )


def _totals(rows: Sequence[BatchRow]) -> list[tuple[str, str]]:
    frames, fitted = sum(row.frames for row in rows), sum(row.fitted for row in rows)
    rms = np.array([row.rms_m for row in rows if not row.error])
    seconds = float(np.nansum([row.seconds for row in rows]))
    totals = [
        ("takes", f"{len(rows):,}"),
        ("without a fit", f"{sum(bool(row.error) for row in rows):,}"),
        ("frames", f"{frames:,}"),
        ("frames fitted", percent(ratio(fitted, frames))),
        ("rms, middle take", mm(quantile(rms, 0.5))),
        ("rms, worst take", mm(quantile(rms, 1.0))),
        ("warnings", f"{sum(row.warnings for row in rows):,}"),
    ]
    if seconds > 0:
        totals.append(("time spent", count(round(seconds), "second")))
    return totals


def _spark(values: np.ndarray, top: float) -> Markup:
    """A small line over time, from 0 to ``top``, cut off above."""
    if not values.size:
        return Markup("")
    width, height = _SPARK
    edges = bin_edges(len(values), _SPARK_BINS)
    mean = envelope(np.asarray(values, np.float64), edges).mean
    x = (np.arange(len(edges)) + 0.5) * width / len(edges)
    y = (height - 2) * (1 - np.minimum(mean / top, 1.0)) + 1
    body = [svg.segment(0, height - 1, width, height - 1, "grid"), svg.line(x, y, "line s0")]
    return svg.drawing(width, height, body)

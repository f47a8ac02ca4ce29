"""Charts of the joint angles of a fit, one for each segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.records import Fit
from fitpipe.report import svg
from fitpipe.report.charts import Chart, Key, Tick, bin_middles, time_ticks
from fitpipe.report.numbers import percent, tick_texts, ticks
from fitpipe.report.series import bin_edges, envelope

_N_BINS = 300


def angle_charts(fit: Fit) -> list[Chart]:
    """The turns of every segment over time, in degrees; empty if the fit has no angles."""
    angles: Any = getattr(fit, "angles", None)
    if angles is None:
        return []
    charts = []
    for s, label in enumerate(angles.segment_label):
        turns = np.degrees(angles.euler_rad[:, s])
        if not np.isnan(turns).all():
            locked = float(np.mean(angles.is_gimbal[:, s]))
            charts.append(_chart(label, turns, fit, angles.angle_names[s], locked))
    return charts


def _chart(label: str, turns: FloatArray, fit: Fit, names: tuple[str, ...], locked: float) -> Chart:
    edges = bin_edges(fit.n_frames, _N_BINS)
    x = bin_middles(edges, fit.n_frames)
    low, high = float(np.nanmin(turns)), float(np.nanmax(turns))
    margin = max(0.05 * (high - low), 2.0)
    bottom, top = low - margin, high + margin

    def y(degrees: FloatArray) -> FloatArray:
        return 100 * (top - degrees) / (top - bottom)

    y_ticks = ticks(bottom, top, 4)
    places = y(np.array(y_ticks))
    body = [svg.segment(0, place, 1000, place, "grid") for place in places]
    body += [
        svg.line(x, y(envelope(curve, edges).mean), f"line s{c}") for c, curve in enumerate(turns.T)
    ]
    return Chart(
        label,
        f"Line chart over time of {', '.join(names)}, from {low:.0f} to {high:.0f} degrees.",
        svg.drawing(1000, 100, body),
        time_ticks(fit),
        tuple(Tick(float(p), t) for p, t in zip(places, tick_texts(y_ticks), strict=True)),
        legend=tuple(Key(f"line s{c}", name) for c, name in enumerate(names)),
        unit="degrees",
        note=f"Near gimbal lock in {percent(locked)} of the frames." if locked else "",
    )

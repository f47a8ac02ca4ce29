"""The charts of a take's page: drawings with the words and numbers that belong beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.records import Fit, FrameStatus
from fitpipe.report import svg
from fitpipe.report.numbers import known, mean_along, mm, percent, quantile, tick_texts, ticks
from fitpipe.report.series import (
    Cover,
    Use,
    bin_edges,
    cover,
    envelope,
    middle_of_bins,
    source_residual,
    use,
)

_N_BINS = 600
_MAX_CELLS = 40_000  # of a map: more than this make the page heavy
HEAT_LEVELS = 7
LEAST_TOP_M = 1e-3  # an axis of less would magnify rounding


class Tick(NamedTuple):
    """A label at a place along an axis, percent from its start."""

    at: float
    text: str


class Key(NamedTuple):
    """An entry of a legend: classes of its sign, and what it means."""

    kind: str
    text: str


@dataclass(frozen=True)
class Chart:
    """A drawing over time.

    Parameters
    ----------
    title, about : str
        What it shows; ``about`` also for those who do not see it.
    body : Markup
        The SVG.
    x_ticks, y_ticks : tuple of Tick
        From the left; from the top.
    rows : tuple of (str, str)
        Instead of y_ticks, for maps: name of each row, and a number at its end.
    legend : tuple of Key
    unit : str
        Of the y axis.
    note : str
    """

    title: str
    about: str
    body: Markup
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
    legend: tuple[Key, ...] = ()
    unit: str = ""
    note: str = ""
    row_head: str = field(default="", kw_only=True)


def time_ticks(fit: Fit) -> tuple[Tick, ...]:
    """Round seconds, at the frames where they pass."""
    values = ticks(float(fit.time_s[0]), float(fit.time_s[-1]), 8)
    frames = np.searchsorted(fit.time_s, np.array(values) - 1e-9)
    texts = tick_texts(values)
    return tuple(
        Tick(100 * (min(int(f), fit.n_frames - 1) + 0.5) / fit.n_frames, f"{text} s")
        for f, text in zip(frames, texts, strict=True)
    )


def residual_chart(fit: Fit) -> Chart:
    """Distance of every source's observations to the fit over time."""
    edges = bin_edges(fit.n_frames, _N_BINS)
    x = bin_middles(edges, fit.n_frames)
    by_source = source_residual(fit)
    envelopes = [envelope(by_source[:, s], edges) for s in range(len(fit.sources))]
    highest = [e.high for e in envelopes]
    top, clipped = _top(np.concatenate(highest) if highest else np.empty(0))

    def y(values: FloatArray) -> FloatArray:
        return 100 - 100 * np.minimum(values / top, 1.0)

    y_ticks = ticks(0.0, top * 1e3, 4)
    body = [svg.segment(0, 100 - 0.1 * v / top, 1000, 100 - 0.1 * v / top, "grid") for v in y_ticks]
    # a bin of one frame has no width between its extremes
    if len(edges) < fit.n_frames:
        body += [
            svg.band(x, y(e.low), y(e.high), f"band s{s % 6}") for s, e in enumerate(envelopes)
        ]
    body += [svg.line(x, y(e.mean), f"line s{s % 6}") for s, e in enumerate(envelopes)]
    per_bin = fit.n_frames / len(edges)
    note = "Mean over the joints a source saw in the frame."
    if per_bin > 1:
        note += f" Lines: mean of {per_bin:.3g} frames; bands: their smallest and largest."
    if clipped:
        note += f" Peaks up to {mm(clipped, 0)} are cut off."
    means = ", ".join(
        f"{name} {mm(float(mean))}"
        for name, mean in zip(fit.sources, mean_along(by_source, 0), strict=True)
    )
    return Chart(
        "Distance from observations to the fit",
        f"Line chart over time, in millimetres. Mean over the take: {means}.",
        svg.drawing(1000, 100, body),
        time_ticks(fit),
        tuple(
            Tick(100 - 0.1 * v / top, text)
            for v, text in zip(y_ticks, tick_texts(y_ticks), strict=True)
        ),
        legend=tuple(Key(f"line s{s % 6}", name) for s, name in enumerate(fit.sources)),
        unit="mm",
        note=note,
    )


_FRAME_WORDS = {
    FrameStatus.CERTIFIED: "certified",
    FrameStatus.STATIONARY: "stationary",
    FrameStatus.COMPROMISE: "compromise",
    FrameStatus.ITERATION_LIMIT: "iteration limit",
    FrameStatus.STALLED: "stalled",
    FrameStatus.NO_DATA: "no data",
}


def frame_status_chart(fit: Fit) -> Chart:
    """When frames ended how: one row per status that occurs."""
    rows = [s for s in _FRAME_WORDS if bool((fit.frame_status == s).any())]
    edges = bin_edges(fit.n_frames, _N_BINS)
    body: list[str] = []
    told = []
    for y, status in enumerate(rows):
        is_so = fit.frame_status == status
        any_so = np.add.reduceat(is_so.astype(np.int64), edges) > 0
        codes = np.where(any_so, np.uint8(status), np.uint8(255))[None]
        paths = svg.cells(codes, "fs", leave_out=255)
        body += [f'<g transform="translate(0 {y})">{"".join(paths)}</g>']
        told.append((_FRAME_WORDS[status], percent(float(is_so.mean()))))
    return Chart(
        "How each frame ended",
        "Rows of marks over time: " + ", ".join(f"{name} {share}" for name, share in told) + ".",
        svg.drawing(len(edges), len(rows), body),
        time_ticks(fit),
        rows=tuple(told),
        row_head="frames",
    )


_COVER_WORDS = {
    Cover.ALL: "all sources",
    Cover.SOME: "some sources",
    Cover.CARRIED: "none: carried by bones",
    Cover.INTERPOLATED: "none: interpolated",
    Cover.ABSENT: "none: absent",
}


_COVER_PARTS: dict[int, tuple[float, float]] = {
    Cover.CARRIED: (0.3, 0.7),
    Cover.INTERPOLATED: (0.65, 0.95),
}


def cover_chart(fit: Fit) -> Chart:
    """Which joints were seen when."""
    codes = cover(fit)
    edges = _map_edges(fit)
    middle = middle_of_bins(codes, edges).T
    seen = (codes >= Cover.SOME).mean(axis=0)
    words = dict(_COVER_WORDS)
    if len(fit.sources) == 1:
        words[Cover.ALL] = "seen"
        words.pop(Cover.SOME)
    return Chart(
        "Who saw what",
        "Map of joints over time. Share of frames in which some source saw the joint: "
        + ", ".join(f"{j} {percent(s)}" for j, s in zip(fit.skeleton.joints, seen, strict=True))
        + ".",
        svg.drawing(len(edges), fit.skeleton.n_joints, svg.cells(middle, "cv", part=_COVER_PARTS)),
        time_ticks(fit),
        rows=tuple((j, percent(float(s))) for j, s in zip(fit.skeleton.joints, seen, strict=True)),
        legend=tuple(Key(f"box cv{int(code)}", text) for code, text in words.items()),
        note=_map_note(fit, edges, "the middle one"),
        row_head="seen",
    )


def heat_chart(fit: Fit) -> Chart:
    """Distance between fit and observations, joint by joint over time."""
    edges = _map_edges(fit)
    squares = fit.residual**2
    n = np.add.reduceat((~np.isnan(squares)).sum(axis=1), edges, axis=0)
    total = np.add.reduceat(np.nan_to_num(squares).sum(axis=1), edges, axis=0)
    rms = np.where(n > 0, np.sqrt(total / np.maximum(n, 1)), np.nan)
    top = quantile(rms, 0.99)
    top = max(top, LEAST_TOP_M) if not np.isnan(top) else LEAST_TOP_M
    step = _round_up(top * 1e3 / HEAT_LEVELS)
    level = np.minimum(np.nan_to_num(rms) * 1e3 // step, HEAT_LEVELS - 1)
    codes: ByteArray = np.where(np.isnan(rms), 255, level).astype(np.uint8).T
    ranges = [f"{step * k:g}–{step * (k + 1):g}" for k in range(HEAT_LEVELS - 1)]
    ranges.append(f"above {step * (HEAT_LEVELS - 1):g} mm")
    digits = 0 if top > 0.02 else 1
    by_joint = [
        float(np.sqrt(np.nansum(squares[:, :, j]) / k)) if k else float("nan")
        for j, k in enumerate((~np.isnan(squares)).sum(axis=(0, 1)))
    ]
    return Chart(
        "Distance by joint over time",
        "Map of joints over time. Root mean square distance: "
        + ", ".join(f"{j} {mm(r)}" for j, r in zip(fit.skeleton.joints, by_joint, strict=True))
        + ".",
        svg.drawing(len(edges), fit.skeleton.n_joints, svg.cells(codes, "ht", leave_out=255)),
        time_ticks(fit),
        rows=tuple((j, mm(r, digits)) for j, r in zip(fit.skeleton.joints, by_joint, strict=True)),
        legend=tuple(Key(f"box ht{k}", text) for k, text in enumerate(ranges)),
        note=_map_note(fit, edges, "the root mean square") + " Blank: nobody saw the joint.",
        row_head="rms",
    )


_USE_WORDS = {
    Use.USED: "used",
    Use.REDUCED: "weight reduced",
    Use.LEFT_OUT: "left out",
    Use.MISSING: "missing",
}


def use_charts(fit: Fit) -> list[Chart]:
    """For each source, the share of the joints that was used, weighed down, left out, missing."""
    codes = use(fit)
    edges = bin_edges(fit.n_frames, 300)
    x = np.append(edges, fit.n_frames) * 1000 / fit.n_frames
    charts = []
    for s, source in enumerate(fit.sources):
        shares = []
        for kind in _USE_WORDS:
            share = (codes[:, s] == kind).mean(axis=1)
            n_frames = np.diff(np.append(edges, fit.n_frames))
            shares.append(np.add.reduceat(share, edges) / n_frames)
        tops = 100 - 100 * np.cumsum(shares, axis=0)
        bottom = np.full(len(edges), 100.0)
        body = []
        for kind, top in zip(_USE_WORDS, tops, strict=True):
            # as steps: each bin keeps its own width, one frame alone too
            steps = np.repeat(x, 2)[1:-1]
            body.append(svg.band(steps, np.repeat(bottom, 2), np.repeat(top, 2), f"us{int(kind)}"))
            bottom = top
        told = [
            f"{word} {percent(float((codes[:, s] == kind).mean()))}"
            for kind, word in _USE_WORDS.items()
        ]
        charts.append(
            Chart(
                source,
                f"Stacked areas over time: {', '.join(told)}.",
                svg.drawing(1000, 100, body),
                time_ticks(fit),
                (Tick(0, "100 %"), Tick(50, "50 %"), Tick(100, "0 %")),
                legend=tuple(
                    Key(f"box us{int(kind)}", text)
                    for kind, text in zip(_USE_WORDS, told, strict=True)
                ),
            )
        )
    return charts


def bin_middles(edges: np.ndarray, n_frames: int) -> FloatArray:
    """Middle of every bin on an axis of 1000 units."""
    ends = np.append(edges[1:], n_frames)
    return np.asarray((edges + ends) * 500 / n_frames)


def _top(values: FloatArray) -> tuple[float, float]:
    """End of an axis from 0, and the largest value if it lies far beyond (else 0)."""
    given = known(values)
    if not given.size or given.max() <= 0:
        return LEAST_TOP_M, 0.0
    usual, peak = float(np.quantile(given, 0.98)), float(given.max())
    if peak > max(2.5 * usual, LEAST_TOP_M) and usual > 0:
        return max(1.5 * usual, LEAST_TOP_M), peak
    return max(1.05 * peak, LEAST_TOP_M), 0.0


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 15, 20, 30, 50, ... from a value above 0."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(power * m for m in (1, 1.5, 2, 3, 5, 10) if power * m >= value * 0.999))


def _map_edges(fit: Fit) -> np.ndarray:
    return bin_edges(fit.n_frames, min(_N_BINS, max(60, _MAX_CELLS // fit.skeleton.n_joints)))


def _map_note(fit: Fit, edges: np.ndarray, which: str) -> str:
    per_bin = fit.n_frames / len(edges)
    return "" if per_bin == 1 else f"Each column shows {which} of {per_bin:.3g} frames."

"""The tables of a take's page: joints, bones, sources and exclusions, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray
from fitpipe.records import Doubt, Fit, JointStatus
from fitpipe.report import svg
from fitpipe.report.charts import LEAST_TOP_M, Tick
from fitpipe.report.numbers import (
    NOTHING,
    known,
    median,
    milliseconds,
    mm,
    percent,
    quantile,
    ratio,
    seconds,
    tick_texts,
    ticks,
)
from fitpipe.report.series import Use, longest_run, source_lengths, use

_COARSE_M = 0.02  # above it tenths of a millimetre say nothing
_BAR = (300.0, 10.0)  # units of a bar's drawing
_STRIP = (320.0, 22.0)


@dataclass(frozen=True)
class Bar:
    """One source's distances at one joint: a bar to the median, a whisker to the 90 % point."""

    source: int
    body: Markup
    text: str


@dataclass(frozen=True)
class JointRow:
    """A joint: how far its observations lie from the fit, and how well it was seen."""

    name: str
    bars: tuple[Bar, ...]
    seen: str
    carried: str
    absent: str
    gap: str
    noise: str


@dataclass(frozen=True)
class JointTable:
    """Joints, the worst first; ``ticks`` in millimetres along the bars."""

    rows: tuple[JointRow, ...]
    ticks: tuple[Tick, ...]


def joint_table(fit: Fit) -> JointTable:
    """Residual, coverage and noise of every joint, the largest median residual first."""
    n_joints, n_sources = fit.skeleton.n_joints, len(fit.sources)
    middle = np.array(
        [[median(fit.residual[:, s, j]) for j in range(n_joints)] for s in range(n_sources)]
    )
    high = np.array(
        [[quantile(fit.residual[:, s, j], 0.9) for j in range(n_joints)] for s in range(n_sources)]
    )
    given = known(high)
    top = max(1.05 * float(given.max()), LEAST_TOP_M) if given.size else LEAST_TOP_M
    worst = np.where(np.isnan(middle), -1.0, middle).max(axis=0)
    rate = _rate_hz(fit)
    rows = []
    for j in np.argsort(-worst, kind="stable"):
        status = fit.status[:, j]
        seen = status == JointStatus.OBSERVED
        gap = longest_run(~seen)
        gap_s = f" ({seconds(gap / rate)})" if gap and not np.isnan(rate) else ""
        held = (status == JointStatus.CARRIED) | (status == JointStatus.INTERPOLATED)
        rows.append(
            JointRow(
                fit.skeleton.joints[j],
                tuple(_bar(s, middle[s, j], high[s, j], top) for s in range(n_sources)),
                percent(float(seen.mean())),
                percent(float(held.mean())),
                percent(float((status == JointStatus.ABSENT).mean())),
                f"{gap:,}{gap_s}" if gap else "none",
                " / ".join(mm(v).removesuffix(" mm") for v in fit.noise[:, j]),
            )
        )
    values = ticks(0.0, top * 1e3, 4)
    marks = (Tick(0.1 * v / top, t) for v, t in zip(values, tick_texts(values), strict=True))
    return JointTable(tuple(rows), tuple(marks))


def _bar(s: int, middle: float, high: float, top: float) -> Bar:
    width, height = _BAR
    if np.isnan(middle):
        return Bar(s, Markup(""), NOTHING)
    body = [svg.rect(0, 1, width * middle / top, height - 2, f"fill s{s % 6}")]
    if high > middle:
        y, end = height / 2, width * high / top
        body.append(svg.segment(width * middle / top, y, end, y, f"whisker s{s % 6}"))
        body.append(svg.segment(end, 2, end, height - 2, f"whisker s{s % 6}"))
    digits = 0 if top > _COARSE_M else 1
    text = f"{middle * 1e3:.{digits}f} – {high * 1e3:.{digits}f}"
    return Bar(s, svg.drawing(width, height, body), text)


@dataclass(frozen=True)
class Before:
    """What one source said of a bone before the fit."""

    source: int
    text: str


@dataclass(frozen=True)
class BoneRow:
    """A bone: its length with interval, and what each source said of it before the fit."""

    name: str
    length: str
    interval: str
    samples: str
    strip: Markup
    before: tuple[Before, ...]


@dataclass(frozen=True)
class BoneTable:
    """Bones in the order of the skeleton; ``ticks`` are deviations along the strips."""

    rows: tuple[BoneRow, ...]
    ticks: tuple[Tick, ...]
    is_given: bool
    has_before: bool


def bone_table(fit: Fit) -> BoneTable:
    """Length and interval of every bone or rigid pair, beside what the sources said."""
    lengths = fit.calibration.bone_lengths
    quartiles = source_lengths(fit)
    n_links = fit.skeleton.n_links
    before = np.full((len(fit.sources), n_links, 3), np.nan) if quartiles is None else quartiles
    off = (before - lengths.length_m[None, :, None]) * 1e3
    half_mm = np.maximum(lengths.high_m - lengths.length_m, lengths.length_m - lengths.low_m) * 1e3
    reach = max(5.0, 1.1 * _usual_end(np.concatenate([np.abs(off).ravel(), half_mm])))
    rows = []
    for k, name in enumerate(fit.skeleton.bone_names):
        is_measured = lengths.high_m[k] > lengths.low_m[k]
        rows.append(
            BoneRow(
                name,
                mm(lengths.length_m[k]),
                f"{lengths.low_m[k] * 1e3:,.1f} – {lengths.high_m[k] * 1e3:,.1f}"
                if is_measured
                else "given"
                if lengths.origin == "given"
                else NOTHING,
                f"{lengths.n_samples[k]:,}" if lengths.n_samples[k] else "–",
                _strip(lengths.low_m[k], lengths.length_m[k], lengths.high_m[k], off[:, k], reach),
                tuple(_before(s, before[s, k]) for s in range(len(fit.sources))),
            )
        )
    values = ticks(-reach, reach, 6)
    texts = [
        f"{'+' if value > 0 else ''}{text}"
        for value, text in zip(values, tick_texts(values), strict=True)
    ]
    marks = (Tick(50 + 50 * v / reach, t) for v, t in zip(values, texts, strict=True))
    return BoneTable(tuple(rows), tuple(marks), lengths.origin == "given", quartiles is not None)


def _usual_end(values: FloatArray) -> float:
    end = quantile(values, 0.97)
    return 0.0 if np.isnan(end) else end


def _before(s: int, quartile: FloatArray) -> Before:
    low, middle, high = quartile * 1e3
    text = NOTHING if np.isnan(middle) else f"{middle:,.0f} ({low:,.0f} – {high:,.0f})"
    return Before(s, text)


def _strip(low: float, length: float, high: float, off: FloatArray, reach: float) -> Markup:
    """Interval of a bone and the sources' quartiles, as deviations from the fitted length."""
    width, height = _STRIP

    def x(mm_off: float) -> float:
        return float(np.clip(width * (0.5 + 0.5 * mm_off / reach), 3, width - 3))

    body = [svg.segment(width / 2, 0, width / 2, height, "axis")]
    if not np.isnan(length):
        a, b = x((low - length) * 1e3), x((high - length) * 1e3)
        body.append(svg.rect(a - 0.75, 0, b - a + 1.5, height, "interval"))
    n = len(off)
    for s, (lower, middle, upper) in enumerate(off):
        if np.isnan(middle):
            continue
        y = height * (s + 1) / (n + 1)
        body.append(svg.segment(x(lower), y, x(upper), y, f"whisker s{s % 6}"))
        body.append(svg.mark(x(middle), y, min(7.0, 14.0 / n), s, f"fill s{s % 6}"))
    return svg.drawing(width, height, body, stretch=False)


@dataclass(frozen=True)
class SourceRow:
    """How one source was brought to the reference, and how its observations counted."""

    name: str
    is_reference: bool
    rotation: str
    translation: str
    rms: str
    inliers: str
    points: str
    scale: str
    offset: str
    drift: str
    noise: str
    counts: tuple[tuple[str, str], ...]


_DOUBT_WORDS = {
    Doubt.JUMP: "jumps off its track (left out)",
    Doubt.BONES: "at bones of the wrong length (weight reduced)",
    Doubt.FLIPPED: "front taken for back (left out)",
}


def source_table(fit: Fit) -> tuple[SourceRow, ...]:
    """Registration, clock, noise and exclusions of every source."""
    codes = use(fit)
    rows = []
    for s, transform in enumerate(fit.calibration.transforms):
        x, y, z = transform.t_ref_m
        turn = float(np.degrees(Rotation.from_matrix(transform.R_ref_source).magnitude()))
        is_reference = s == 0
        sd = transform.time_offset_sd_s
        offset = milliseconds(transform.time_offset_s)
        known_to = "not told by the motion" if np.isnan(sd) else f"± {milliseconds(sd)}"
        seen = codes[:, s] != Use.MISSING
        total = float(seen.sum())
        counts = [
            ("observations", f"{int(total):,}"),
            ("used", percent(ratio(float((codes[:, s] == Use.USED).sum()), total))),
        ]
        for doubt, words in _DOUBT_WORDS.items():
            n = float((fit.doubt[:, s] == doubt).sum())
            counts.append((words, f"{int(n):,} ({percent(ratio(n, total))})"))
        undoubted = fit.doubt[:, s] == Doubt.NONE
        n = float(((codes[:, s] == Use.LEFT_OUT) & undoubted).sum())
        if n:
            counts.append(("of weight 0 (left out)", f"{int(n):,} ({percent(ratio(n, total))})"))
        rows.append(
            SourceRow(
                transform.source,
                is_reference,
                f"{turn:.2f}°",
                f"{x:.3f}, {y:.3f}, {z:.3f} m",
                NOTHING if is_reference else mm(transform.rms_m),
                NOTHING if is_reference else percent(transform.inlier_share),
                NOTHING if is_reference else f"{transform.n_points:,}",
                NOTHING if is_reference else f"{transform.scale:.4f}",
                "the clock of the take" if is_reference else f"{offset} {known_to}",
                NOTHING if is_reference else f"{transform.clock_drift * 1e6:+.0f} ppm",
                mm(median(fit.noise[s])),
                tuple(counts),
            )
        )
    return tuple(rows)


def _rate_hz(fit: Fit) -> float:
    return float(1 / np.median(np.diff(fit.time_s))) if fit.n_frames > 1 else float("nan")


@dataclass(frozen=True)
class Head:
    """The first facts of a take."""

    frames: str
    duration: str
    rate: str
    certified: str


def head(fit: Fit) -> Head:
    """Frames, duration, rate, and how many are certified."""
    rate = _rate_hz(fit)
    span = float(fit.time_s[-1] - fit.time_s[0]) if fit.n_frames else float("nan")
    return Head(
        f"{fit.n_frames:,}",
        seconds(span) if fit.n_frames > 1 else NOTHING,
        NOTHING if np.isnan(rate) else f"{rate:.4g} Hz",
        percent(ratio(float(fit.is_certified.sum()), fit.n_frames)),
    )

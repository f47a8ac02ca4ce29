"""Shapes of the charts as SVG text.

The drawings stretch with the page, so they hold no text: labels stand beside them as HTML, which
keeps its size. Colours are classes of the style sheet, so that one drawing serves light, dark and
print. Nothing that a user named ever comes in here: only numbers and class names of our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from fitpipe.arrays import ByteArray, FloatArray


def drawing(width: float, height: float, body: Sequence[str], *, stretch: bool = True) -> Markup:
    """An SVG of shapes, in units of its own; the style sheet gives its size on the page."""
    aspect = ' preserveAspectRatio="none"' if stretch else ""
    # the figure around it has the words for those who do not see it
    head = f'<svg viewBox="0 0 {_n(width)} {_n(height)}"{aspect} aria-hidden="true">'
    return Markup(head + "".join(body) + "</svg>")  # noqa: S704 - see the module's text


def line(x: FloatArray, y: FloatArray, kind: str) -> str:
    """A line through points, broken where y is NaN; a point alone becomes a short dash."""
    step = float(np.min(np.diff(x))) if len(x) > 1 else 0.0
    path = []
    for a, b in _runs(~np.isnan(y)):
        points = " ".join(f"{_n(u)},{_n(v)}" for u, v in zip(x[a:b], y[a:b], strict=True))
        if b - a == 1:
            points = f"{_n(x[a] - step / 2)},{_n(y[a])} {_n(x[a] + max(step / 2, 4))},{_n(y[a])}"
        path.append(f"M{points}")
    return f'<path class="{kind}" d="{"".join(path)}"/>' if path else ""


def band(x: FloatArray, low: FloatArray, high: FloatArray, kind: str) -> str:
    """The area between two lines, broken where either is NaN."""
    path = []
    for a, b in _runs(~np.isnan(low) & ~np.isnan(high)):
        there = [f"{_n(u)},{_n(v)}" for u, v in zip(x[a:b], high[a:b], strict=True)]
        back = [f"{_n(u)},{_n(v)}" for u, v in zip(x[a:b], low[a:b], strict=True)]
        path.append("M" + " ".join(there + back[::-1]) + "Z")
    return f'<path class="{kind}" d="{"".join(path)}"/>' if path else ""


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return (
        f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" '
        f'width="{_n(max(width, 0.0))}" height="{_n(height)}"/>'
    )


def segment(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<path class="{kind}" d="M{_n(x1)},{_n(y1)} {_n(x2)},{_n(y2)}"/>'


def mark(x: float, y: float, size: float, shape: int, kind: str) -> str:
    """A small sign that tells its source by shape too: disc, square, triangle, diamond, ..."""
    r = size / 2
    corners = {
        1: [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2: [(0, -1.1), (1.05, 0.85), (-1.05, 0.85)],
        3: [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        4: [(0, 1.1), (1.05, -0.85), (-1.05, -0.85)],
        5: [(-0.4, -1.1), (0.4, -1.1), (0.4, 1.1), (-0.4, 1.1)],
    }.get(shape % 6)
    if corners is None:
        return f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}"/>'
    points = " ".join(f"{_n(x + u * r)},{_n(y + v * r)}" for u, v in corners)
    return f'<polygon class="{kind}" points="{points}"/>'


def cells(
    codes: ByteArray,
    prefix: str,
    *,
    leave_out: int | None = None,
    part: Mapping[int, tuple[float, float]] | None = None,
) -> list[str]:
    """A map of codes (row, column), cells of one unit: one path per code, equal neighbours joined.

    Parameters
    ----------
    codes : ndarray of uint8, shape (row, column)
    prefix : str
        A cell of code 3 gets the class ``prefix3``.
    leave_out : int, optional
        A code that is left blank.
    part : mapping of int to (float, float), optional
        From where to where a cell of this code reaches, of 0 (top) to 1; default: all of it.
    """
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(codes):
        edge = np.concatenate(([0], np.flatnonzero(np.diff(row)) + 1, [len(row)]))
        for a, b in pairwise(edge):
            code = int(row[a])
            if code != leave_out:
                top, bottom = (part or {}).get(code, (0.0, 1.0))
                down = f"M{a} {_n(y + top)}h{b - a}v{_n(bottom - top)}h{a - b}z"
                paths.setdefault(code, []).append(down)
    return [f'<path class="{prefix}{code}" d="{"".join(d)}"/>' for code, d in sorted(paths.items())]


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    edge = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edge[::2], edge[1::2], strict=True)]


def _n(value: float) -> str:
    """A number as short as the eye allows."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

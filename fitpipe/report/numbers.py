"""Statistics that are NaN, without a warning, where there is nothing; and how numbers are told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import FloatArray

NOTHING = "n/a"


def known(values: FloatArray) -> FloatArray:
    """The values that are not NaN, flat."""
    return values[~np.isnan(values)]


def median(values: FloatArray) -> float:
    """Median of what is not NaN."""
    return quantile(values, 0.5)


def quantile(values: FloatArray, share: float) -> float:
    """Quantile of what is not NaN."""
    given = known(values)
    return float(np.quantile(given, share)) if given.size else float("nan")


def rms(values: FloatArray) -> float:
    """Root mean square of what is not NaN."""
    given = known(values)
    return float(np.sqrt(np.mean(given**2))) if given.size else float("nan")


def largest(values: FloatArray) -> float:
    """Largest of what is not NaN."""
    given = known(values)
    return float(given.max()) if given.size else float("nan")


def ratio(part: float, whole: float) -> float:
    """``part / whole``; NaN of nothing."""
    return part / whole if whole > 0 else float("nan")


def mean_along(values: FloatArray, axis: int) -> FloatArray:
    """Mean along an axis of what is not NaN."""
    is_known = ~np.isnan(values)
    n = is_known.sum(axis=axis)
    total = np.where(is_known, values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def mm(metres: float, digits: int = 1) -> str:
    """A length in millimetres; very small ones as a power of ten of a metre."""
    if np.isnan(metres):
        return NOTHING
    if 0 < abs(metres) < 0.5e-3 * 10.0**-digits:
        return f"{metres:.0e} m" if abs(metres) < 0.5e-6 else f"{metres * 1e3:.3f} mm"
    return f"{metres * 1e3:,.{digits}f} mm"


def percent(share: float, digits: int = 1) -> str:
    """A share in percent; never 100 % of what is not all, nor 0 % of what is something."""
    if np.isnan(share):
        return NOTHING
    text = f"{share * 100:.{digits}f}"
    least = 10.0**-digits
    if share < 1 and float(text) >= 100:
        text = f"{100 - least:.{digits}f}"
        return f"> {text} %"
    if share > 0 and float(text) == 0:
        return f"< {least:.{digits}f} %"
    return f"{text.removesuffix('.' + '0' * digits)} %"


def seconds(value: float, digits: int = 2) -> str:
    """A time in seconds."""
    return NOTHING if np.isnan(value) else f"{value:,.{digits}f} s"


def milliseconds(value: float) -> str:
    """A short time in milliseconds."""
    return NOTHING if np.isnan(value) else f"{value * 1e3:,.1f} ms"


def count(n: int, noun: str) -> str:
    """``1 frame``, ``2,000 frames``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About ``n`` round numbers from ``low`` to ``high``; ``low`` alone if there is no way."""
    if not high > low:
        return [low]
    rough = (high - low) / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = np.ceil(low / step - 1e-9)
    last = np.floor(high / step + 1e-9)
    return [float(step * k) + 0.0 for k in np.arange(first, last + 1)]  # + 0: no "-0"


def tick_texts(values: Sequence[float]) -> list[str]:
    """The numbers of an axis with as many digits as their step needs."""
    step = values[1] - values[0] if len(values) > 1 else 1.0
    digits = max(0, int(-np.floor(np.log10(step) + 1e-9)))
    return [f"{value:,.{digits}f}" for value in values]

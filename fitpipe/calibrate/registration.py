"""The rigid transform that carries one source's points onto another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import CalibrationError, DegenerateCloudError
from fitpipe.records import Finding, SourceTransform, Take

_SCALE_WARNING = 0.05  # people differ, sensors' metres do not: 5 % is far above any sensor's error
_SCALE_WRONG = 2.0  # beyond this the sources are in different units


class Alignment(NamedTuple):
    """Result of ``align_rigid``."""

    R_target_source: FloatArray
    t_target_m: FloatArray
    rms_m: float
    scale: float


def align_rigid(
    source_m: FloatArray,
    target_m: FloatArray,
    *,
    weight: FloatArray | None = None,
    min_spread_m: float = 1e-3,
) -> Alignment:
    """Rotation and translation that carry one point cloud onto another (weighted Kabsch).

    Parameters
    ----------
    source_m, target_m : ndarray, shape (point, 3), metres
        Row i of both is the same point.
    weight : ndarray, shape (point,), optional
        Non-negative; zero leaves the point out.
    min_spread_m : float, metres
        Both clouds must be at least this wide (rms) in two directions.

    Returns
    -------
    Alignment
        ``R_target_source`` (3, 3) with det = +1, ``t_target_m`` (3,), so that
        ``target ≈ R @ source + t``; the weighted rms distance left; and the scale that would fit
        best, which is not applied.

    Raises
    ------
    DegenerateCloudError
        The points lie on a line or coincide, so no rotation is determined.

    References
    ----------
    Kabsch (1976), doi:10.1107/S0567739476001873. Umeyama (1991), doi:10.1109/34.88573, for the
    reflection guard (his equations 39 and 40) and the scale (41 and 42).
    """
    w = np.ones(len(source_m)) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.sum() <= 0:
        raise DegenerateCloudError("no point has a weight above zero")
    w = w / w.sum()
    source_centre, target_centre = w @ source_m, w @ target_m
    source, target = source_m - source_centre, target_m - target_centre
    for name, cloud in (("source", source), ("target", target)):
        spread = np.linalg.svd(np.sqrt(w)[:, None] * cloud, compute_uv=False)
        if spread[1] < min_spread_m:
            raise DegenerateCloudError(
                f"the {len(w)} {name} points lie on a line or coincide (rms widths "
                f"{', '.join(f'{s * 1e3:.2f}' for s in spread)} mm), so the turn about that line "
                "is not determined",
                hint="give points that do not lie on a line",
            )
    U, singular, Vt = np.linalg.svd((w[:, None] * target).T @ source)
    sign = np.array([1.0, 1.0, 1.0 if np.linalg.det(U) * np.linalg.det(Vt) > 0 else -1.0])
    R = (U * sign) @ Vt
    t = target_centre - R @ source_centre
    scale = float(singular @ sign / (w @ np.einsum("ij,ij->i", source, source)))
    left = source_m @ R.T + t - target_m
    rms = float(np.sqrt(w @ np.einsum("ij,ij->i", left, left)))
    return Alignment(R, t, rms, scale)


def register(takes: Sequence[Take]) -> tuple[tuple[SourceTransform, ...], list[Finding]]:
    """Transform of every take into the first one's frame, over all samples both saw.

    Parameters
    ----------
    takes : sequence of Take
        On one clock (the same ``time_s``) and with the same labels.

    Returns
    -------
    transforms : tuple of SourceTransform
        In the order of the takes; the first is the identity.
    findings : list of Finding
        Scales that are not 1, although both sources speak of metres.

    Raises
    ------
    CalibrationError
        Two sources share no sample, their common samples determine no rotation, or their sizes
        differ so much that one is not in metres.
    """
    reference, *others = takes
    transforms = [SourceTransform.identity(reference.source)]
    findings: list[Finding] = []
    for take in others:
        both = reference.is_observed & take.is_observed
        pair = f"source {take.source!r} to {reference.source!r}"
        if not both.any():
            raise CalibrationError(
                f"{pair}: no joint is seen by both at the same time "
                f"({_seen(reference)}; {_seen(take)})",
                hint="check the time stamps and the marker sets of both",
            )
        weight = _weight(reference, both) * _weight(take, both)
        try:
            fit = align_rigid(take.position_m[both], reference.position_m[both], weight=weight)
        except DegenerateCloudError as error:
            raise DegenerateCloudError(f"{pair}: {error.problem}", hint=error.hint) from error
        if not 1 / _SCALE_WRONG < fit.scale < _SCALE_WRONG:
            raise CalibrationError(
                f"{pair}: the second would have to be scaled by {fit.scale:.4g} to match, so the "
                "two are not in the same unit",
                hint="give the unit of the one that is wrong (units = 'mm')",
            )
        if abs(fit.scale - 1) > _SCALE_WARNING:
            findings.append(
                Finding(f"{pair}: best-fit scale is {fit.scale:.3f}, expected 1", "not applied")
            )
        transforms.append(
            SourceTransform(
                take.source,
                fit.R_target_source,
                fit.t_target_m,
                rms_m=fit.rms_m,
                n_points=int(both.sum()),
                scale=fit.scale,
            )
        )
    return tuple(transforms), findings


def _weight(take: Take, both: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    return np.ones(int(both.sum())) if take.confidence is None else take.confidence[both]


def _seen(take: Take) -> str:
    names = [
        label for label, seen in zip(take.labels, take.is_observed.T, strict=True) if seen.any()
    ]
    listed = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"{take.source} sees {listed or 'nothing'}"

"""Brings every source into the frame of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from fitpipe.arrays import FloatArray, IntArray
from fitpipe.calibrate.align import Alignment, align_rigid, align_robust, drawn
from fitpipe.calibrate.robust import tukey_weights
from fitpipe.errors import CalibrationError, DegenerateCloudError
from fitpipe.records import Finding, SourceTransform, Take

_SCALE_WARNING: Final = 0.05  # people differ, sensors' metres do not: far above any sensor's error
_SCALE_WRONG: Final = 2.0  # beyond this the sources are in different units
_FEW_SHARED: Final = 0.25  # of what a source shares with another: then it is registered through it
_MANY_OUTLIERS: Final = 0.3
_MIRROR_BETTER: Final = 0.6  # a mirrored source leaves at most this share of the distances ...
_MIRROR_LEAST_M: Final = 0.01  # ... which are above this before
_MAX_SAMPLES: Final = 20_000  # more do not make a transform better, only slower
_FAR_WORSE: Final = 2.0  # a given transform leaves this many times what the best one would ...
_FAR_WORSE_M: Final = 0.02  # ... and so much more
_FINEST_M: Final = 1e-6


@dataclass(frozen=True, eq=False)
class _Pair:
    """Samples that two sources both saw, or many of them: (sample, xyz), (sample,)."""

    name: str
    source_m: FloatArray
    target_m: FloatArray
    joint: IntArray
    weight: FloatArray
    n_shared: int

    @classmethod
    def of(cls, source: Take, target: Take) -> _Pair:
        frame, joint = np.nonzero(source.is_observed & target.is_observed)
        some = drawn(len(frame), _MAX_SAMPLES)
        at = frame[some], joint[some]
        weight = np.ones(len(some))
        for take in (source, target):
            weight = weight if take.confidence is None else weight * take.confidence[at]
        name = f"source {source.source!r} to {target.source!r}"
        positions = source.position_m[at], target.position_m[at]
        return cls(name, *positions, at[1], weight, len(frame))


def register(
    takes: Sequence[Take], *, mirror: Sequence[tuple[int, int]] = ()
) -> tuple[tuple[SourceTransform, ...], list[Finding]]:
    """Transform of every take into the first one's frame, over all samples both saw.

    A source that shares few samples with the first is registered through the one it shares most
    with.

    Parameters
    ----------
    takes : sequence of Take
        On one clock (the same ``time_s``) and with the same labels.
    mirror : sequence of (int, int)
        Points that are left and right of each other, to tell a source with its sides exchanged.

    Returns
    -------
    transforms : tuple of SourceTransform
        In the order of the takes; the first is the identity. rms is over the inliers.
    findings : list of Finding
        Scales that are not 1 although both sources speak of metres, many outliers, and sources
        registered through another.

    Raises
    ------
    CalibrationError
        Two sources share no sample, their common samples determine no rotation, their sizes
        differ so much that one is not in metres, or one is the mirror image of the other.
    """
    transforms = {0: SourceTransform.identity(takes[0].source)}
    findings: list[Finding] = []
    shared = _shared(takes)
    while len(transforms) < len(takes):
        source, via = _next_pair(shared, list(transforms))
        step, remarks = _register_pair(takes[source], takes[via], mirror)
        findings += remarks
        if via != 0:
            n = shared[source, 0]
            findings.append(
                Finding(
                    f"source {takes[source].source!r} shares {n} samples with the reference and "
                    f"{shared[source, via]} with {takes[via].source!r}",
                    f"registered through {takes[via].source!r}",
                    "note",
                )
            )
        transforms[source] = _chained(step, transforms[via])
    return tuple(transforms[i] for i in range(len(takes))), findings


def registered_as_given(
    takes: Sequence[Take], given: Sequence[SourceTransform]
) -> tuple[tuple[SourceTransform, ...], list[Finding]]:
    """Known transforms, with what they leave between each source and the first.

    Parameters
    ----------
    takes : sequence of Take
        On one clock and with the same labels.
    given : sequence of SourceTransform
        One per take, in their order.

    Returns
    -------
    transforms : tuple of SourceTransform
        ``R_ref_source`` and ``t_ref_m`` as given; rms, inlier share, n_points and scale measured.
    findings : list of Finding
        Sources that a transform of their own would bring far nearer to the first.
    """
    transforms, findings = [given[0]], []
    for take, fixed in zip(takes[1:], given[1:], strict=True):
        pair = _Pair.of(take, takes[0])
        used = pair.weight > 0
        if not used.any():
            transforms.append(fixed)
            continue
        as_given = Alignment(fixed.R_ref_source, fixed.t_ref_m, 0.0, 1.0)
        left = as_given.distance(pair.source_m, pair.target_m)[used]
        try:
            best = _robust(pair)
        except DegenerateCloudError:
            best = as_given  # the samples say nothing of the transform, so nothing against it
        is_inlier = tukey_weights(left, dimensions=3, floor=_FINEST_M) > 0
        transforms.append(
            replace(
                fixed,
                rms_m=float(np.sqrt(np.mean(left[is_inlier] ** 2))),
                n_points=pair.n_shared,
                scale=best.scale,
                inlier_share=float(is_inlier.mean()),
            )
        )
        median, possible = float(np.median(left)), _median_left(pair, best)
        if median > _FAR_WORSE * possible + _FAR_WORSE_M:
            findings.append(
                Finding(
                    f"{pair.name}: the given transform leaves {_mm(median)} (median) between "
                    f"them, the best one {_mm(possible)}",
                    "used as given",
                    otherwise="calibrate.registration = 'estimate' finds it from the take",
                )
            )
    return tuple(transforms), findings


def _register_pair(
    source: Take, target: Take, mirror: Sequence[tuple[int, int]]
) -> tuple[SourceTransform, list[Finding]]:
    pair = _Pair.of(source, target)
    if pair.n_shared == 0:
        raise CalibrationError(
            f"{pair.name}: no joint is seen by both at the same time "
            f"({_seen(target)}; {_seen(source)})",
            hint="check the time stamps and the marker sets of both",
        )
    try:
        rough = align_rigid(pair.source_m, pair.target_m, weight=pair.weight)
        if not 1 / _SCALE_WRONG < rough.scale < _SCALE_WRONG:
            raise CalibrationError(
                f"{pair.name}: the second would have to be scaled by {rough.scale:.4g} to match, "
                "so the two are not in the same unit",
                hint="give the unit of the one that is wrong (units = 'mm')",
            )
        fit = _robust(pair)
    except DegenerateCloudError as error:
        raise DegenerateCloudError(f"{pair.name}: {error.problem}", hint=error.hint) from error
    if (as_is_m := _median_left(pair, fit)) > _MIRROR_LEAST_M:
        _refuse_mirrored(source, target, as_is_m, rough.rms_m, mirror)
    findings = []
    if abs(fit.scale - 1) > _SCALE_WARNING:
        findings.append(
            Finding(f"{pair.name}: best-fit scale is {fit.scale:.3f}, expected 1", "not applied")
        )
    if 1 - fit.inlier_share > _MANY_OUTLIERS:
        findings.append(
            Finding(
                f"{pair.name}: {1 - fit.inlier_share:.0%} of the {pair.n_shared} common samples "
                f"disagree with the others, which lie {_mm(fit.rms_m)} (rms) apart",
                "left out of the registration",
            )
        )
    transform = SourceTransform(
        source.source,
        fit.R_target_source,
        fit.t_target_m,
        rms_m=fit.rms_m,
        n_points=pair.n_shared,
        scale=fit.scale,
        inlier_share=fit.inlier_share,
    )
    return transform, findings


def _refuse_mirrored(
    source: Take,
    target: Take,
    as_is_m: float,
    as_is_rms_m: float,
    mirror: Sequence[tuple[int, int]],
) -> None:
    """CalibrationError where the source's mirror image fits far better than the source.

    ``as_is_m`` is the median distance the source leaves, ``as_is_rms_m`` that of least squares.
    """
    images = {
        "mirrored axes": (
            _with_points(source, source.position_m * [-1, 1, 1]),
            "turn the sign of one axis of that source, or swap two of its axes back",
        )
    }
    if mirror:
        order = np.arange(source.n_points)
        for left, right in mirror:
            order[[left, right]] = right, left
        images["left and right exchanged"] = (
            _with_points(source, source.position_m[:, order], order),
            "exchange left and right in that source's marker set",
        )
    left_m = {
        kind: _image_leaves(image, target, as_is_rms_m) for kind, (image, _) in images.items()
    }
    kind = min(left_m, key=lambda name: left_m[name])
    if left_m[kind] > _MIRROR_BETTER * as_is_m:
        return
    raise CalibrationError(
        f"source {source.source!r} to {target.source!r}: one is the mirror image of the other. The "
        f"best rotation leaves {_mm(as_is_m)} (median) between them, with {kind} it leaves "
        f"{_mm(left_m[kind])}",
        hint=images[kind][1],
    )


def _image_leaves(image: Take, target: Take, as_is_rms_m: float) -> float:
    """Median distance a mirror image leaves; inf if plain least squares already rule it out."""
    pair = _Pair.of(image, target)
    try:
        plain = align_rigid(pair.source_m, pair.target_m, weight=pair.weight)
        return _median_left(pair, _robust(pair)) if plain.rms_m < as_is_rms_m else float("inf")
    except DegenerateCloudError:
        return float("inf")


def _robust(pair: _Pair) -> Alignment:
    return align_robust(pair.source_m, pair.target_m, pair.joint, weight=pair.weight)


def _median_left(pair: _Pair, fit: Alignment) -> float:
    return float(np.median(fit.distance(pair.source_m, pair.target_m)))


def _with_points(take: Take, position_m: FloatArray, order: IntArray | None = None) -> Take:
    confidence = take.confidence
    if confidence is not None and order is not None:
        confidence = confidence[:, order]
    return replace(take, position_m=position_m, confidence=confidence)


def _shared(takes: Sequence[Take]) -> IntArray:
    """Samples that each two takes both saw, shape (take, take); 0 on the diagonal."""
    seen = np.stack([take.is_observed.ravel() for take in takes]).astype(np.float64)
    shared = np.rint(seen @ seen.T).astype(np.int64)
    np.fill_diagonal(shared, 0)
    return shared


def _next_pair(shared: IntArray, done: list[int]) -> tuple[int, int]:
    """The next source to register, and the registered one it goes to.

    The reference serves wherever it shares a fair part of what the best other one does.
    """
    left = [i for i in range(len(shared)) if i not in done]
    for i in left:
        if shared[i, 0] > 0 and shared[i, 0] >= _FEW_SHARED * shared[i].max():
            return i, 0
    # the largest count of all, so that the result does not depend on the order of the sources
    n, i, via = max((int(shared[i, j]), -i, -j) for i in left for j in done)
    return (-i, -via) if n > 0 else (-i, 0)


def _chained(step: SourceTransform, onward: SourceTransform) -> SourceTransform:
    """A transform into a source that is itself carried into the reference."""
    R = onward.R_ref_source @ step.R_ref_source
    t = onward.R_ref_source @ step.t_ref_m + onward.t_ref_m
    return replace(step, R_ref_source=R, t_ref_m=t)


def _seen(take: Take) -> str:
    names = [
        label for label, seen in zip(take.labels, take.is_observed.T, strict=True) if seen.any()
    ]
    listed = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"{take.source} sees {listed or 'nothing'}"


def _mm(metres: float) -> str:
    return f"{metres * 1e3:.1f} mm"

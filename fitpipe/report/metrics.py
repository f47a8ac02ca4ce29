"""How far positions are from a reference, how rigid, how steady and how complete they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray
from fitpipe.errors import DegenerateCloudError

_MIN_SPREAD_M = 1e-3  # points on a line determine no turn about it


class ErrorSummary(NamedTuple):
    """Mean, median, 90th percentile and root mean square of distances, metres; NaN if none."""

    mean_m: float
    median_m: float
    p90_m: float
    rms_m: float
    n: int


class AxisError(NamedTuple):
    """Signed mean, and root mean square, of the differences along one axis, metres."""

    bias_m: float
    rms_m: float


class BoneSpread(NamedTuple):
    """Mean and standard deviation of a bone's length over the frames that show it, metres."""

    mean_m: float
    sd_m: float
    n: int


class Track(NamedTuple):
    """What can be said of one of the two without the other.

    ``bone`` by name; ``rms_bone_spread_m`` the root mean square of the bones' standard deviations;
    ``acceleration_m_s2`` see ``acceleration_jitter``; ``given`` the share of samples it holds.
    """

    bone: dict[str, BoneSpread]
    rms_bone_spread_m: float
    acceleration_m_s2: float
    given: float


@dataclass(frozen=True)
class Comparison:
    """A result against a reference.

    Parameters
    ----------
    result, reference : str
        Names.
    n_frames : int
        Instants compared.
    coverage : float
        Share of the reference's samples at these instants that the result has.
    error : ErrorSummary
        Distances joint by joint and frame by frame ("MPJPE" is their mean), as they are.
    aligned : ErrorSummary
        The same after the one rigid transform that fits all samples best.
    joint, joint_aligned : dict of str to ErrorSummary
    axis, axis_aligned : dict of str to AxisError
        Along x, y and z of the reference; result minus reference.
    rotation_deg, translation_m : float
        Size of that transform: its angle, and how far it moves the middle of the samples.
    of_result, of_reference : Track
    acceleration_error_m_s2 : float
        Root mean square difference of the two accelerations.
    """

    result: str
    reference: str
    n_frames: int
    coverage: float
    error: ErrorSummary
    aligned: ErrorSummary
    joint: dict[str, ErrorSummary]
    joint_aligned: dict[str, ErrorSummary]
    axis: dict[str, AxisError]
    axis_aligned: dict[str, AxisError]
    rotation_deg: float
    translation_m: float
    of_result: Track
    of_reference: Track
    acceleration_error_m_s2: float

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, numbers and text, as for JSON; NaN becomes None."""

        def plain(value: Any) -> Any:
            if isinstance(value, tuple):
                value = value._asdict()  # type: ignore[attr-defined]
            if isinstance(value, dict):
                return {key: plain(inner) for key, inner in value.items()}
            return None if isinstance(value, float) and np.isnan(value) else value

        return {key: plain(value) for key, value in asdict(self).items()}

    def to_rows(self) -> list[tuple[str, str, str, float]]:
        """Long table: quantity, part (joint, axis, bone or empty), statistic, value."""
        rows: list[tuple[str, str, str, float]] = [
            ("frames", "", "n", self.n_frames),
            ("coverage", "", "share", self.coverage),
            ("alignment", "", "rotation_deg", self.rotation_deg),
            ("alignment", "", "translation_m", self.translation_m),
            ("acceleration_error", "", "rms_m_s2", self.acceleration_error_m_s2),
        ]
        for name in ("error", "aligned"):
            rows += [(name, "", *item) for item in getattr(self, name)._asdict().items()]
        for name in ("joint", "joint_aligned", "axis", "axis_aligned"):
            for part, summary in getattr(self, name).items():
                rows += [(name, part, *item) for item in summary._asdict().items()]
        for name in ("of_result", "of_reference"):
            track: Track = getattr(self, name)
            rows += [
                (name, "", key, getattr(track, key))
                for key in ("rms_bone_spread_m", "acceleration_m_s2", "given")
            ]
            for part, spread in track.bone.items():
                rows += [(f"{name}_bone", part, *item) for item in spread._asdict().items()]
        return rows


def joint_error(position_m: FloatArray, reference_m: FloatArray) -> FloatArray:
    """Distance between two sets of positions, shape (...,), metres.

    Parameters
    ----------
    position_m, reference_m : ndarray, shape (..., 3), metres
        NaN where missing; the distance is then NaN.
    """
    return np.asarray(np.linalg.norm(position_m - reference_m, axis=-1))


def summarise(distance_m: FloatArray) -> ErrorSummary:
    """Statistics of all distances that are not NaN.

    Parameters
    ----------
    distance_m : ndarray, any shape, metres
    """
    known = distance_m[~np.isnan(distance_m)]
    if known.size == 0:
        return ErrorSummary(np.nan, np.nan, np.nan, np.nan, 0)
    return ErrorSummary(
        float(known.mean()),
        float(np.median(known)),
        float(np.percentile(known, 90)),
        float(np.sqrt(np.mean(known**2))),
        int(known.size),
    )


def rigid_alignment(
    position_m: FloatArray, reference_m: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The one rotation and translation that carry positions closest to a reference.

    Parameters
    ----------
    position_m, reference_m : ndarray, shape (..., 3), metres
        Samples that are NaN in either do not count.

    Returns
    -------
    R_reference_position : ndarray, shape (3, 3)
    t_reference_m : ndarray, shape (3,), metres
        ``reference ≈ R @ position + t``, least squares over all samples.

    Raises
    ------
    DegenerateCloudError
        Fewer than three samples, or all on a line.

    References
    ----------
    Kabsch (1976), doi:10.1107/S0567739476001873, by scipy's ``Rotation.align_vectors``.
    """
    both = ~np.isnan(joint_error(position_m, reference_m))
    source, target = position_m[both], reference_m[both]
    if len(source) < 3:
        raise DegenerateCloudError(
            f"only {len(source)} samples are in both, expected three or more"
        )
    source_middle, target_middle = source.mean(axis=0), target.mean(axis=0)
    for cloud in (source - source_middle, target - target_middle):
        spread = np.linalg.svd(cloud / np.sqrt(len(cloud)), compute_uv=False)
        if spread[1] < _MIN_SPREAD_M:
            raise DegenerateCloudError(
                "the samples lie on a line or coincide, so no rotation is determined"
            )
    # normalised, because align_vectors does not scale; exact for identical clouds too
    rotation, _ = Rotation.align_vectors(target - target_middle, source - source_middle)
    R = rotation.as_matrix()
    return R, target_middle - R @ source_middle


def bone_spread(position_m: FloatArray, bones: Sequence[tuple[int, int]]) -> list[BoneSpread]:
    """Mean and standard deviation of each bone's length over time.

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
    bones : sequence of (int, int)
        Joint indices of both ends.
    """
    spreads = []
    for parent, child in bones:
        length = joint_error(position_m[:, parent], position_m[:, child])
        length = length[~np.isnan(length)]
        if length.size == 0:
            spreads.append(BoneSpread(np.nan, np.nan, 0))
        else:
            spreads.append(BoneSpread(float(length.mean()), float(length.std()), int(length.size)))
    return spreads


def accelerations(position_m: FloatArray, time_s: FloatArray) -> FloatArray:
    """Second derivative over every three frames in a row, (time - 2, joint, 3), m/s².

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
    time_s : ndarray, shape (time,), seconds
        Increasing; ticks may be uneven (the parabola through three points is used).
    """
    tick = np.diff(time_s)[:, None, None]
    speed = np.diff(position_m, axis=0) / tick
    return np.asarray(2 * np.diff(speed, axis=0) / (tick[1:] + tick[:-1]))


def acceleration_jitter(position_m: FloatArray, time_s: FloatArray) -> float:
    """Root mean square size of the acceleration over joints and frames, m/s²; NaN if none.

    White noise of standard deviation s per axis on even ticks h alone gives ``s √18 / h²``.

    Parameters
    ----------
    position_m : ndarray, shape (time, joint, 3), metres
    time_s : ndarray, shape (time,), seconds
    """
    return _rms(accelerations(position_m, time_s))


def compare_positions(
    position_m: FloatArray,
    reference_m: FloatArray,
    time_s: FloatArray,
    *,
    joints: Sequence[str],
    bones: Sequence[tuple[int, int]] = (),
    result: str = "result",
    reference: str = "reference",
) -> Comparison:
    """Compare positions with a reference at the same instants.

    Parameters
    ----------
    position_m, reference_m : ndarray, shape (time, joint, 3), metres
        NaN where missing.
    time_s : ndarray, shape (time,), seconds
    joints : sequence of str
    bones : sequence of (int, int)
        Whose lengths are to be watched.
    result, reference : str
        Their names.

    Returns
    -------
    Comparison

    Raises
    ------
    DegenerateCloudError
        The common samples determine no rigid transform.
    """
    R, t = rigid_alignment(position_m, reference_m)
    aligned_m = position_m @ R.T + t
    both = ~np.isnan(joint_error(position_m, reference_m))
    in_reference = ~np.isnan(reference_m[..., 0])
    difference = accelerations(position_m, time_s) - accelerations(reference_m, time_s)
    middle = position_m[both].mean(axis=0)
    as_is, aligned = joint_error(position_m, reference_m), joint_error(aligned_m, reference_m)
    return Comparison(
        result=result,
        reference=reference,
        n_frames=len(time_s),
        coverage=float(both.sum() / in_reference.sum()),
        error=summarise(as_is),
        aligned=summarise(aligned),
        joint={name: summarise(as_is[:, j]) for j, name in enumerate(joints)},
        joint_aligned={name: summarise(aligned[:, j]) for j, name in enumerate(joints)},
        axis=_by_axis(position_m - reference_m),
        axis_aligned=_by_axis(aligned_m - reference_m),
        rotation_deg=float(np.degrees(Rotation.from_matrix(R).magnitude())),
        translation_m=float(np.linalg.norm(R @ middle + t - middle)),
        of_result=_track(position_m, time_s, joints, bones),
        of_reference=_track(reference_m, time_s, joints, bones),
        acceleration_error_m_s2=_rms(difference),
    )


def _track(
    position_m: FloatArray,
    time_s: FloatArray,
    joints: Sequence[str],
    bones: Sequence[tuple[int, int]],
) -> Track:
    names = [f"{joints[a]}-{joints[b]}" for a, b in bones]
    spreads = bone_spread(position_m, bones)
    sd = np.array([spread.sd_m for spread in spreads])
    sd = sd[~np.isnan(sd)]
    return Track(
        dict(zip(names, spreads, strict=True)),
        float(np.sqrt(np.mean(sd**2))) if sd.size else float("nan"),
        acceleration_jitter(position_m, time_s),
        float(np.mean(~np.isnan(position_m[..., 0]))),
    )


def _by_axis(difference_m: FloatArray) -> dict[str, AxisError]:
    known = difference_m[~np.isnan(difference_m[..., 0])]
    bias, rms = known.mean(axis=0), np.sqrt(np.mean(known**2, axis=0))
    return {axis: AxisError(float(bias[i]), float(rms[i])) for i, axis in enumerate("xyz")}


def _rms(vector: FloatArray) -> float:
    """Root mean square length of vectors (..., 3), NaN left out."""
    square = np.sum(vector**2, axis=-1)
    known = square[~np.isnan(square)]
    return float(np.sqrt(known.mean())) if known.size else float("nan")

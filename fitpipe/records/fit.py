"""A fit: one rigid skeleton per frame, with what each position is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fitpipe.arrays import BoolArray, ByteArray, FloatArray, IntArray, frozen
from fitpipe.errors import require_extra
from fitpipe.records.calibration import Calibration
from fitpipe.records.checks import Faults
from fitpipe.records.finding import Finding
from fitpipe.records.skeleton import Skeleton
from fitpipe.records.skeleton_angles import SkeletonAngles
from fitpipe.records.status import FrameStatus, JointStatus
from fitpipe.records.take import Take

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# the arrays along time
_PER_FRAME = (
    "time_s", "position", "status", "frame_status", "objective", "objective_start", "iterations",
    "worst_bone_error", "multiplier", "weight", "doubt", "residual", "disagreement",
)  # fmt: skip
_CONVERGED = [status for status in FrameStatus if status.is_converged]


@dataclass(frozen=True, eq=False)
class Fit:
    """Rigid skeletons fitted to one take.

    Parameters
    ----------
    name : str
        The take.
    skeleton : Skeleton
        With the bone lengths every fitted frame keeps.
    sources : tuple of str
        The reference source first.
    time_s : ndarray, shape (time,), seconds
    position : ndarray, shape (time, joint, xyz), metres
        In the reference source's frame; NaN where absent.
    status : ndarray of uint8, shape (time, joint)
        JointStatus.
    frame_status : ndarray of uint8, shape (time,)
        FrameStatus.
    objective, objective_start : ndarray, shape (time,), square metres
        J0 (formulation.md section 1, the constant included) at the fit and at its start, the
        skeleton with exact bones that points along the observed directions; NaN without data.
    iterations : ndarray of int, shape (time,)
    worst_bone_error : ndarray, shape (time,), metres
        Largest deviation of a bone or rigid pair from its length; NaN without data.
    multiplier : ndarray, shape (time, link)
        Lagrange multiplier of each length in the order of ``Skeleton.links``, in metres (J0 has
        unit weights): how hard the data pull on the bone. NaN where an end is absent, and in
        frames that joint limits hold.
    weight : ndarray, shape (time, source, joint)
        What each observation counted for in J0; 0 where it is missing or was not used.
    doubt : ndarray of uint8, shape (time, source, joint)
        Doubt: why an observation counts less than its confidence says, or not at all.
    noise : ndarray, shape (source, joint), metres
        Standard deviation of the noise on one axis, measured on the take; NaN where unknown.
    residual : ndarray, shape (time, source, joint), metres
        Distance of the fitted joint to each registered observation; NaN where there is none.
    disagreement : ndarray, shape (time, joint), metres
        Largest distance between two sources' registered observations; NaN where fewer than two.
    observation : ndarray of float32, shape (time, source, joint, xyz), metres, optional
        What each source saw, on the reference source's clock and in its frame; NaN where it saw
        nothing or its sample jumped off its track. None where the file is of an earlier fitpipe.
    calibration : Calibration
    provenance : mapping
        What it takes to make the fit again: config, inputs and their hashes, versions.
    log : tuple of Finding
        What readers repaired and what the stages noticed.
    angles : SkeletonAngles, optional
        How the bones are turned, where that was asked for.

    Raises
    ------
    RecordError
        Lists every array whose shape does not fit.
    """

    name: str
    skeleton: Skeleton
    sources: tuple[str, ...]
    time_s: FloatArray
    position: FloatArray
    status: ByteArray
    frame_status: ByteArray
    objective: FloatArray
    objective_start: FloatArray
    iterations: IntArray
    worst_bone_error: FloatArray
    multiplier: FloatArray
    weight: FloatArray
    doubt: ByteArray
    noise: FloatArray
    residual: FloatArray
    disagreement: FloatArray
    calibration: Calibration
    observation: NDArray[np.float32] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[Finding, ...] = ()
    angles: SkeletonAngles | None = None

    def __post_init__(self) -> None:
        faults = Faults(f"fit {self.name!r}")
        n_time, n_joints = len(self.time_s), self.skeleton.n_joints
        shapes: dict[str, tuple[int, ...]] = {
            "time_s": (n_time,),
            "position": (n_time, n_joints, 3),
            "status": (n_time, n_joints),
            "frame_status": (n_time,),
            "objective": (n_time,),
            "objective_start": (n_time,),
            "iterations": (n_time,),
            "worst_bone_error": (n_time,),
            "multiplier": (n_time, self.skeleton.n_links),
            "weight": (n_time, len(self.sources), n_joints),
            "doubt": (n_time, len(self.sources), n_joints),
            "noise": (len(self.sources), n_joints),
            "residual": (n_time, len(self.sources), n_joints),
            "disagreement": (n_time, n_joints),
        }
        if self.observation is not None:
            shapes["observation"] = (n_time, len(self.sources), n_joints, 3)
        types: dict[str, DTypeLike] = {
            "status": np.uint8,
            "frame_status": np.uint8,
            "doubt": np.uint8,
            "iterations": np.int64,
            "observation": np.float32,
        }
        for name, shape in shapes.items():
            array = frozen(getattr(self, name), types.get(name, np.float64))
            faults.shape(name, array, shape)
            object.__setattr__(self, name, array)
        faults.raise_if_any()
        absent = self.status == JointStatus.ABSENT
        faults.unless(
            bool(np.array_equal(np.isnan(self.position[..., 0]), absent)),
            "position is NaN elsewhere than where status says absent",
        )
        if self.angles is not None:
            n, turned = self.angles.n_frames, self.angles.skeleton
            faults.unless(n == n_time, f"angles has {n} frames, expected {n_time}")
            faults.unless(
                (turned.joints, turned.parents) == (self.skeleton.joints, self.skeleton.parents),
                f"angles is of the skeleton {turned.name!r}, expected {self.skeleton.name!r}",
            )
        faults.raise_if_any()
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "provenance": dict(self.provenance)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, provenance=MappingProxyType(state["provenance"]))

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.time_s)

    @property
    def per_frame(self) -> dict[str, NDArray[Any]]:
        """The arrays whose first axis is time, by name."""
        return {name: getattr(self, name) for name in _PER_FRAME}

    @property
    def bone_length(self) -> FloatArray:
        """Length of each bone, then of each rigid pair, shape (link,), metres."""
        return self.calibration.bone_lengths.length_m

    @property
    def is_fitted(self) -> BoolArray:
        """Boolean (time,): frames that hold a skeleton."""
        return np.asarray(self.frame_status != FrameStatus.NO_DATA)

    @property
    def is_converged(self) -> BoolArray:
        """Boolean (time,): frames that ended at an optimum."""
        return np.isin(self.frame_status, _CONVERGED)

    @property
    def is_certified(self) -> BoolArray:
        """Boolean (time,): frames proven to be at the global optimum."""
        return np.asarray(self.frame_status == FrameStatus.CERTIFIED)

    @property
    def worst_bone_m(self) -> float:
        """Largest deviation of any bone from its length over the take, metres; NaN without data."""
        known = self.worst_bone_error[~np.isnan(self.worst_bone_error)]
        return float(known.max()) if known.size else float("nan")

    @property
    def rms_m(self) -> float:
        """Weighted rms distance between fit and observations over the take, metres."""
        return self._rms(self.objective)

    @property
    def rms_start_m(self) -> float:
        """The same for the start: exact bones that point along the observed directions."""
        return self._rms(self.objective_start)

    def _rms(self, objective: FloatArray) -> float:
        total = float(self.weight.sum())
        return float(np.sqrt(np.nansum(objective) / total)) if total > 0 else float("nan")

    def to_dataframe(self) -> pd.DataFrame:
        """One row per frame and joint.

        Columns: frame, time_s, joint, x_m, y_m, z_m, status, then ``residual_m:SOURCE`` for each
        source.
        """
        import pandas as pd

        n_time, n_joints = self.status.shape
        statuses = pd.Index([status.name.lower() for status in JointStatus])
        table = {
            "frame": np.repeat(np.arange(n_time), n_joints),
            "time_s": np.repeat(self.time_s, n_joints),
            "joint": pd.Categorical.from_codes(
                np.tile(np.arange(n_joints), n_time), categories=pd.Index(self.skeleton.joints)
            ),
            **{f"{axis}_m": self.position[..., i].ravel() for i, axis in enumerate("xyz")},
            "status": pd.Categorical.from_codes(self.status.ravel(), categories=statuses),
        }
        for s, source in enumerate(self.sources):
            table[f"residual_m:{source}"] = self.residual[:, s].ravel()
        return pd.DataFrame(table)

    def to_xarray(self) -> xr.Dataset:
        """The fit as an xarray Dataset of the shape that the package ``movement`` works on.

        The variables of the file's root group, with dimensions named and ordered as there:
        ``position`` is (time, space, keypoints, individuals), with one individual, the take. What
        ``xarray.open_dataset`` reads from the file itself has the file's own dimensions.

        ``confidence`` is 1 where a source saw the joint, 0 where bones or the motion around carry
        it, NaN where it is absent; so ``filter_by_confidence`` leaves what was seen.

        Raises
        ------
        MissingExtraError
            xarray is not installed.
        """
        try:
            import xarray as xr
        except ImportError as error:
            raise require_extra("Fit.to_xarray", "xarray", "report") from error

        from fitpipe.output import fit_variables

        made = {
            v.name: xr.Variable(v.dims, _plain_text(v.values), v.attributes)
            for v in fit_variables(self)
        }
        data = xr.Dataset(made).set_coords([name for name, v in made.items() if (name,) == v.dims])
        confidence = np.where(self.status == JointStatus.OBSERVED, 1.0, 0.0)
        confidence[self.status == JointStatus.ABSENT] = np.nan
        about = {"units": "1", "long_name": "1: a source saw the joint, 0: it is carried"}
        data["confidence"] = (("time", "keypoint"), confidence, about)
        of_person = [name for name, v in data.data_vars.items() if "keypoint" in v.dims]
        of_person.remove("parent")
        data = data.assign({name: data[name].expand_dims(individuals=1) for name in of_person})
        data = data.assign_coords(individuals=[self.name]).rename(keypoint="keypoints")
        data = data.transpose("time", "source", "space", "keypoints", "individuals", ...)
        data.attrs |= {"source_software": "fitpipe", "ds_type": "poses", "time_unit": "seconds"}
        take = self.to_take()
        if take.n_frames > 1 and take.is_uniform:
            data.attrs["fps"] = take.rate_hz
        return data

    def to_take(self) -> Take:
        """The fitted joints as a take, with the joints as labels."""
        return Take(self.name or "fit", self.skeleton.joints, self.position, self.time_s)

    def save(self, path: str | Path, *, compression: int = 4) -> Path:
        """Write the fit to an HDF5 file (schema ``fitpipe.fit/1``); see fitpipe.output.save_fit."""
        from fitpipe.output import save_fit

        return save_fit(self, path, compression=compression)

    def _repr_html_(self) -> str:
        """A small summary, which notebooks show."""
        from fitpipe.report import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        return (
            f"<Fit {self.name!r}: {int(self.is_fitted.sum())} of {self.n_frames} frames fitted, "
            f"{int(self.is_certified.sum())} certified, {len(self.sources)} sources>"
        )


def _plain_text(values: NDArray[Any]) -> NDArray[Any]:
    """Text as NumPy's own strings, as movement has it; numbers as they are."""
    return values.astype(str) if values.dtype == object else values

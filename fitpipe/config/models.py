"""The settings, one model per stage. Every default lives here and nowhere else."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _check_time_offset(value: object) -> object:
    rows = value.values() if isinstance(value, dict) else [value]
    are_numbers = all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in rows
    )
    if value in ("estimate", "none") or are_numbers:
        return value
    raise ValueError(
        f"expected 'estimate', 'none', seconds, or a table of seconds by source, got {value!r}"
    )


def _check_estimate_or_file(value: object) -> object:
    if isinstance(value, str) and (value in ("estimate", "none") or value.endswith(".toml")):
        return value
    raise ValueError(f"expected 'estimate', 'none' or the path of a .toml file, got {value!r}")


EstimateOrFile = Annotated[str, BeforeValidator(_check_estimate_or_file)]
TimeOffset = Annotated[str | float | dict[str, float], BeforeValidator(_check_time_offset)]


def _check_falling(limits: tuple[float, float]) -> tuple[float, float]:
    good, poor = limits
    if not 1 >= good >= poor >= 0:
        raise ValueError(
            f"expected [good from, poor below], two shares from 1 to 0, got {list(limits)}"
        )
    return limits


def _check_rising(limits: tuple[float, float]) -> tuple[float, float]:
    good, poor = limits
    if not 0 <= good <= poor:
        raise ValueError(
            f"expected [good up to, poor above], two rising numbers from 0, got {list(limits)}"
        )
    return limits


AtLeast = Annotated[tuple[float, float], AfterValidator(_check_falling)]
AtMost = Annotated[tuple[float, float], AfterValidator(_check_rising)]


class Section(BaseModel):
    """A table of the config: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SkeletonConfig(Section):
    """Which joints and bones are fitted."""

    preset: str = Field("kinect20", description="Name of a skeleton preset, or a TOML file.")


class CalibrateConfig(Section):
    """Rigid transforms between sources, their clocks, and bone lengths."""

    registration: EstimateOrFile = Field(
        "estimate",
        description="'estimate' from the take, 'none' if all sources already share one frame, or "
        "a TOML file with R_ref_source and t_ref_m of every source.",
    )
    time_offset: TimeOffset = Field(
        "estimate",
        description="Seconds by which sources are ahead of the first one: 'estimate' from the "
        "motion, 'none' if all share one clock, a number, or a table of numbers by source.",
    )
    clock_drift: bool = Field(
        False, description="Also estimate by how much each source's clock runs faster."
    )
    bone_lengths: str = Field(
        "estimate", description="'estimate' from the take, or a TOML file with [bone_length_m]."
    )
    symmetric: bool = Field(False, description="Left and right bones get one length.")
    max_gap_s: Positive = Field(
        0.1, description="Longest gap bridged when a source is resampled to the reference clock."
    )
    sample_frames: Annotated[int, Field(ge=1024)] = Field(
        65_536,
        description="A longer take is calibrated on evenly spaced stretches of so many frames in "
        "all, and then read, fitted and written in blocks.",
    )


class WeightsConfig(Section):
    """How much each observation counts, and which are not believed."""

    noise: bool = Field(
        True, description="Weigh sources and joints by the noise measured on the take."
    )
    noise_floor_m: Positive | None = Field(
        None,
        description="Added to the noise (squares): slow errors, which noise does not show. "
        "Default: what registered sources lie apart beyond their noise, 0.01 for a single one.",
        examples=[0.01],
    )
    swaps: Literal["repair", "report", "off"] = Field(
        "repair", description="What to do where labels of one source change places for a while."
    )
    flips: bool = Field(
        True, description="Leave out a source while it takes the back for the front."
    )
    jumps: bool = Field(True, description="Leave out samples that jump off their own track.")
    jump_factor: Positive = Field(
        3.0, description="A jump is this many times farther off than the track's noise explains ..."
    )
    jump_floor_m: Positive = Field(0.05, description="... and at least this far.")
    bones: bool = Field(True, description="Doubt samples at bones of the wrong length.")
    bone_strain: Positive = Field(
        0.17, description="Doubted from this deviation on, over the length plus 0.1 m."
    )
    doubted_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Share of its weight that a doubted sample keeps."
    )
    robust_scale_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        0.05, description="Weights are divided by 1 + (residual / this)^2; 0 leaves them."
    )
    robust_steps: Annotated[int, Field(ge=1, le=100)] = Field(
        3, description="Times the fit is repeated with the weights so divided."
    )

    @classmethod
    def plain(cls) -> WeightsConfig:
        """Every observation as it comes, with the weight of its confidence."""
        return cls(
            noise=False, swaps="off", flips=False, jumps=False, bones=False, robust_scale_m=0.0
        )


class SolveConfig(Section):
    """The fit of a frame."""

    formulation: Literal["per_bone", "aggregate", "per_axis"] = Field(
        "per_bone",
        description="How bones keep their lengths: each by a multiplier of its own; or all by the "
        "sum of squared errors, with one multiplier or one per axis.",
    )
    curvature: Literal["exact", "none"] = Field(
        "exact", description="'none' leaves the constraint's second derivative out of the step."
    )
    line_search: Literal["halving", "golden"] = Field(
        "halving", description="A step that goes too far shrinks to a half, or to 0.618 of it."
    )
    reverse: bool = Field(
        False,
        description="Repeat a step while J0 + lambda M falls, shrink and reverse it when it rises; "
        "else shrink it until the merit falls.",
    )
    stop_step_m: Positive = Field(
        1e-7,
        description="A frame has converged when no joint moves, and no bone is off, by more than "
        "this.",
    )
    max_iterations: Annotated[int, Field(ge=1, le=100_000)] = Field(
        200, description="Steps per frame before it is given up."
    )
    threads: Annotated[int, Field(ge=0)] = Field(
        0, description="Cores a take is fitted on, 0 for all; has no influence on the result."
    )
    temporal: Literal["none", "previous", "trajectory"] = Field(
        "none",
        description="'none' fits every frame by itself; 'trajectory' fits the whole take, smooth "
        "over time; 'previous' pulls each frame to where the ones before it lead, as a live fit "
        "must.",
    )
    smoothness: Positive | None = Field(
        None,
        description="Weight s of the integral of the squared derivative over time against the sum "
        "of squared distances, in seconds^(2 smoothness_order - 1), for all joints. Default: "
        "chosen for every joint, such that held-out observations are predicted best.",
        examples=[1e-6],
    )
    smoothness_order: Literal[2, 3] = Field(
        3, description="Which derivative is kept small: 2 = acceleration, 3 = jerk."
    )
    max_gap_s: Positive = Field(
        0.5,
        description="Longest gap of a joint that the motion over time bridges, a third of it where "
        "the motion is known on one side only; a longer one stays open unless bones hold the "
        "joint.",
    )
    robust: bool = Field(
        True, description="Fits over time weigh down observations far from the motion."
    )
    previous_weight: Positive = Field(
        0.5,
        description="Weight of the pull toward the predicted joint, against 1 for an observation.",
    )

    @model_validator(mode="after")
    def _over_time_by_newton(self) -> SolveConfig:
        if self.temporal == "none":
            return self
        fields = SolveConfig.model_fields
        odd = [
            f"{key} = {getattr(self, key)!r}"
            for key in ("formulation", "curvature", "line_search", "reverse")
            if getattr(self, key) != fields[key].default
        ]
        if odd:
            raise ValueError(
                f"temporal = {self.temporal!r} knows no {', '.join(odd)}: leave it at its default, "
                "or set temporal = 'none'"
            )
        return self


class AnglesConfig(Section):
    """Joint angles of the fitted skeletons."""

    compute: bool = Field(True, description="Put the angles of every frame into the result.")
    preset: str = Field(
        "auto",
        description="What the angles mean: a preset's name or a TOML file. 'auto' takes the one "
        "made for the skeleton's joints, else 'general'.",
    )
    limits: bool = Field(
        False, description="Fit frames anew, within the preset's limits, whose angles exceed them."
    )


class OutputConfig(Section):
    """Where results go."""

    folder: str = Field(
        description="Folder for the .h5 files. Relative to the config file.", examples=["results"]
    )
    compression: Annotated[int, Field(ge=0, le=9)] = Field(
        4, description="gzip level of the datasets; 0 writes them plain."
    )


class ReportConfig(Section):
    """Where the lights of a report change: each is a pair [good, poor], between them "check"."""

    fitted_share: AtLeast = Field((0.98, 0.8), description="Frames that hold a skeleton.")
    converged_share: AtLeast = Field(
        (0.999, 0.95), description="Of those, frames that ended at an optimum."
    )
    seen_share: AtLeast = Field(
        (0.9, 0.6),
        description="Samples that some source saw, of the joints that were seen at all.",
    )
    rms_m: AtMost = Field(
        (0.05, 0.1), description="Weighted rms distance between fit and observations."
    )
    bone_error_m: AtMost = Field(
        (1e-6, 1e-3), description="Largest deviation of a bone from its length in any frame."
    )
    length_interval_share: AtMost = Field(
        (0.1, 0.3), description="Half the 95 % interval of the least known bone, over its length."
    )
    registration_rms_m: AtMost = Field(
        (0.06, 0.12), description="Rms distance left after registration, of the worst source."
    )
    time_offset_sd_s: AtMost = Field(
        (0.01, 0.05), description="Standard deviation of the least known time offset."
    )
    disagreement_m: AtMost = Field(
        (0.08, 0.15), description="Median distance between two sources' observations of a joint."
    )
    doubted_share: AtMost = Field(
        (0.15, 0.35), description="Observations that were left out or lost weight."
    )


class FitConfig(Section):
    """Everything that decides the numbers of one fit."""

    skeleton: SkeletonConfig = SkeletonConfig()
    calibrate: CalibrateConfig = CalibrateConfig()
    weights: WeightsConfig = WeightsConfig()
    solve: SolveConfig = SolveConfig()
    angles: AnglesConfig = AnglesConfig()

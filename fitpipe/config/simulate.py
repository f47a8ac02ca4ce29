"""What `fitpipe simulate` makes: the settings and, in one place, the default depth sensor.

The defaults of `NoiseConfig` and the uneven ticks reproduce what was measured on sessions of two
Kinect v2: the spread of the thigh's length, errors that last for tenths of a second, the share of
frames with the back taken for the front, of poses reported twice, and the spread of the ticks.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fitpipe.config.models import Positive, Section

Share = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)]
Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class MotionConfig(Section):
    """What the person does."""

    name: str = Field(
        "walk", description="'walk', 'reach', 'still', 'punch', or a fit's .h5 file to follow."
    )
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = Field(
        None, description="Length of the take. Default: 10, or all of the fit's file."
    )
    stature_m: Positive = Field(1.75, description="Height of the person (not for a fit's file).")


class SensorsConfig(Section):
    """Where the sensors stand, and when they look."""

    count: Annotated[int, Field(ge=1, le=26)] = Field(
        2, description="Sensors, called kinect_a, kinect_b, ...; the first is the reference."
    )
    distance_m: Positive = Field(3.4, description="From the sensors to the middle of the scene.")
    height_m: Positive = Field(1.2, description="Of the sensors above the floor.")
    spread_deg: Annotated[float, Field(gt=-180, lt=180)] = Field(
        76.0, description="Angle between neighbours, seen from the middle of the scene."
    )
    rate_hz: Positive | list[Positive] = Field(
        30.0, description="Frames per second; one number for all, or one per sensor."
    )
    tick_jitter_s: Length = Field(0.0145, description="Standard deviation of the ticks.")
    clock_offset_s: float | list[float] = Field(
        0.0,
        description="What a sensor's clock shows when that of the sensor before it shows 0; or a "
        "list with one offset to the reference per sensor.",
    )
    clock_drift_ppm: float | list[float] = Field(
        0.0, description="How much too fast clocks run, given like clock_offset_s."
    )
    frame: Literal["own", "shared"] = Field(
        "own",
        description="'own': every sensor's own axes. 'shared': brought into the reference's frame "
        "by a crude registration, which leaves the two errors below.",
    )
    shared_rotation_deg: Annotated[float, Field(ge=0, le=180)] = Field(
        12.0, description="Rotation error of the crude registration, mostly about the vertical."
    )
    shared_shift_m: Length = Field(0.1, description="Its translation error, at the person.")


class NoiseConfig(Section):
    """How wrongly a sensor sees; every key of `simulate.DepthSensor` and `simulate.Lapses`."""

    noise_along_at_2m_m: Length = Field(
        0.001, description="Noise along the line of sight at 2 m (sd); grows with its square."
    )
    noise_across_at_2m_m: Length = Field(
        0.0007, description="Noise across it, per direction, at 2 m (sd); grows with distance."
    )
    surface_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.4, description="Share of the flesh by which a joint is seen too near."
    )
    hidden_noise_factor: Length = Field(3.0, description="Noise of a hidden joint to a seen one.")
    hidden_confidence: Annotated[float, Field(ge=0, le=1)] = Field(
        0.2, description="Confidence of a joint hidden by the body."
    )
    dropout_share: Share = Field(0.005, description="Samples missing, of visible joints.")
    hidden_dropout_share: Share = Field(0.05, description="Samples missing, of hidden joints.")
    dropout_mean_s: Positive = Field(0.2, description="Mean length of a gap.")
    outlier_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.002, description="Single samples that are displaced."
    )
    outlier_m: Length = Field(0.15, description="By how much.")
    wander_m: Length = Field(
        0.015, description="Smooth error of every joint, per axis (sd); twofold where hidden."
    )
    wander_s: Positive = Field(0.2, description="Time in which that error changes.")
    flip_share: Share = Field(0.015, description="Frames with the back taken for the front.")
    flip_mean_s: Positive = Field(1.0, description="How long that lasts on average.")
    swap_share: Share = Field(
        0.005, description="Frames with both arms exchanged, and with both legs exchanged."
    )
    swap_mean_s: Positive = Field(0.2, description="How long that lasts on average.")
    limb_loss_share: Share = Field(
        0.0,
        description="Frames in which an arm is lost and reported elsewhere at full confidence; "
        "0.2 is what was measured on back exercises seen by one Kinect.",
    )
    limb_loss_mean_s: Positive = Field(0.3, description="How long that lasts on average.")
    limb_loss_m: Length = Field(0.2, description="How far off the hand is on average.")
    jump_share: Share = Field(0.0, description="Frames with the body found in a wrong place.")
    jump_mean_s: Positive = Field(0.2, description="How long that lasts on average.")
    jump_m: Length = Field(1.5, description="How far off it is.")
    away_share: Share = Field(0.0, description="Frames in which the sensor sees nobody.")
    away_mean_s: Positive = Field(0.5, description="How long that lasts on average.")
    repeat_share: Share = Field(0.06, description="Frames that report the last pose again.")


class SimulateConfig(Section):
    """A take with known truth."""

    seed: Annotated[int, Field(ge=0)] = Field(1, description="Same seed, same take.")
    motion: MotionConfig = MotionConfig()
    sensors: SensorsConfig = SensorsConfig()
    noise: NoiseConfig = NoiseConfig()

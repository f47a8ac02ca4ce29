"""A depth sensor that reports joints: what it sees of a motion, and how wrongly.

The model, for a joint at distance d from the sensor:

1. *Surface bias.* The sensor sees skin, not joints: a joint is reported nearer along the line of
   sight by a share of the flesh around it.
2. *Noise*, independent in every frame: along the line of sight it grows with d², across it with
   d, as the depth and the pixel size of a structured-light sensor do (Khoshelham and Elberink
   2012, doi:10.3390/s120201437).
3. *Self-occlusion.* A joint is hidden where another bone's flesh lies wholly between it and the
   sensor. It is then guessed: noisier, at low confidence, and lost far more often.
4. *Dropouts* come in bursts (a two-state Markov chain for every joint).
5. *Outliers* displace single samples in a random direction.

Errors that last for many frames, such as a back taken for a front, are those of ``lapses``; uneven
ticks and clocks those of ``clock``. Not modelled: the field of view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe.arrays import BoolArray, FloatArray, frozen
from fitpipe.records import Origin, Skeleton, SourceTransform, Take
from fitpipe.records.checks import Faults
from fitpipe.simulate.body import Motion, side_of
from fitpipe.simulate.bursts import bursts

# Half the thickness of the body around the bone that ends at a joint, metres.
_FLESH_M: Final[dict[str, float]] = {
    "HipCenter": 0.11,
    "Spine": 0.11,
    "ShoulderCenter": 0.12,
    "Head": 0.09,
    "Shoulder": 0.06,
    "Elbow": 0.05,
    "Wrist": 0.04,
    "Hand": 0.03,
    "Hip": 0.09,
    "Knee": 0.07,
    "Ankle": 0.05,
    "Foot": 0.04,
}
_OTHER_FLESH_M: Final = 0.05  # joints of skeletons other than kinect20
_ROTATION_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class DepthSensor:
    """Where a depth sensor stands, and how well it sees.

    Its own frame is right-handed: +Y up, +Z away from the sensor into the scene, so +X points to
    the sensor's left.

    Parameters
    ----------
    name : str
        Becomes the take's source.
    R_world_sensor : ndarray, shape (3, 3)
        Rotation of sensor axes into the world.
    t_world_m : ndarray, shape (3,), metres
        The sensor's place in the world: ``world = R_world_sensor @ sensor + t_world_m``.
    noise_along_at_2m_m : float, metres
        Standard deviation along the line of sight at 2 m; grows with the distance squared.
    noise_across_at_2m_m : float, metres
        Standard deviation in each of the two directions across it at 2 m; grows with distance.
    surface_share : float
        Share of the flesh by which a joint is seen too near; 0 for an unbiased sensor.
    hidden_noise_factor : float
        Noise of a hidden joint relative to a visible one.
    hidden_confidence : float
        Confidence of a hidden joint; a visible one has 1, a missing one 0.
    dropout_share, hidden_dropout_share : float
        Share of the samples missing, of visible and of hidden joints.
    dropout_mean_s : float, seconds
        Mean length of a burst of missing samples.
    outlier_share : float
        Share of the samples displaced.
    outlier_m : float, metres
        By how much.

    Raises
    ------
    RecordError
        Lists every argument out of its range.
    """

    name: str
    R_world_sensor: FloatArray
    t_world_m: FloatArray
    noise_along_at_2m_m: float = 0.006
    noise_across_at_2m_m: float = 0.004
    surface_share: float = 0.4
    hidden_noise_factor: float = 3.0
    hidden_confidence: float = 0.2
    dropout_share: float = 0.01
    hidden_dropout_share: float = 0.2
    dropout_mean_s: float = 0.2
    outlier_share: float = 0.005
    outlier_m: float = 0.15

    def __post_init__(self) -> None:
        faults = Faults(f"sensor {self.name!r}")
        R, t = frozen(self.R_world_sensor), frozen(self.t_world_m)
        if faults.shape("R_world_sensor", R, (3, 3)) and faults.finite("R_world_sensor", R):
            off = float(np.abs(R @ R.T - np.eye(3)).max())
            is_rotation = off < _ROTATION_TOLERANCE and np.linalg.det(R) > 0
            faults.unless(is_rotation, "R_world_sensor is no rotation")
        if faults.shape("t_world_m", t, (3,)):
            faults.finite("t_world_m", t)
        for name, most in (
            ("noise_along_at_2m_m", np.inf),
            ("noise_across_at_2m_m", np.inf),
            ("surface_share", 1.0),
            ("hidden_noise_factor", np.inf),
            ("hidden_confidence", 1.0),
            # above one half, bursts would have to follow each other without a sample between
            ("dropout_share", 0.5),
            ("hidden_dropout_share", 0.5),
            ("outlier_share", 1.0),
            ("outlier_m", np.inf),
        ):
            value = getattr(self, name)
            faults.unless(
                0 <= value <= most and np.isfinite(value),
                f"{name} is {value:g}, expected 0 or more"
                + (f", at most {most:g}" if np.isfinite(most) else ""),
            )
        faults.unless(
            0 < self.dropout_mean_s < np.inf,
            f"dropout_mean_s is {self.dropout_mean_s:g}, expected above 0",
        )
        faults.raise_if_any()
        object.__setattr__(self, "R_world_sensor", R)
        object.__setattr__(self, "t_world_m", t)

    @classmethod
    def looking_at(
        cls, name: str, target_m: npt.ArrayLike, *, from_m: npt.ArrayLike, **settings: float
    ) -> DepthSensor:
        """Sensor at ``from_m`` that looks at ``target_m``, both (3,) in world metres, held level.

        ``settings`` are the remaining parameters of the class. RecordError if it would have to
        look straight up or down, or at itself.
        """
        place = np.asarray(from_m, dtype=np.float64)
        away = np.asarray(target_m, dtype=np.float64) - place
        left = np.cross([0.0, 1.0, 0.0], away)
        faults = Faults(f"sensor {name!r}")
        faults.unless(
            bool(np.linalg.norm(left) > 1e-9), "target_m is straight above, below or at from_m"
        )
        faults.raise_if_any()
        z = away / np.linalg.norm(away)
        x = left / np.linalg.norm(left)
        return cls(name, np.stack([x, np.cross(z, x), z], axis=1), place, **settings)

    @classmethod
    def perfect(cls, name: str, target_m: npt.ArrayLike, *, from_m: npt.ArrayLike) -> DepthSensor:
        """Like ``looking_at``, but it reports every joint exactly."""
        zero = dict.fromkeys(
            (
                "noise_along_at_2m_m",
                "noise_across_at_2m_m",
                "surface_share",
                "dropout_share",
                "hidden_dropout_share",
                "outlier_share",
            ),
            0.0,
        )
        return cls.looking_at(name, target_m, from_m=from_m, **zero)

    def to_sensor(self, position_m: FloatArray) -> FloatArray:
        """World positions, shape (..., 3), metres, in the sensor's own frame."""
        return (position_m - self.t_world_m) @ self.R_world_sensor

    def transform_into(self, reference: DepthSensor) -> SourceTransform:
        """The true transform of this sensor's frame into that of ``reference``."""
        R_ref_world = reference.R_world_sensor.T
        return SourceTransform(
            self.name,
            R_ref_world @ self.R_world_sensor,
            R_ref_world @ (self.t_world_m - reference.t_world_m),
        )


class Seen(NamedTuple):
    """What a sensor reports, and which of it is what kind of wrong; arrays (time, joint)."""

    take: Take
    hidden: BoolArray
    lost: BoolArray
    outlier: BoolArray


def observe(motion: Motion, sensor: DepthSensor, *, seed: int | np.random.Generator) -> Take:
    """What a depth sensor reports of a motion, in the sensor's own frame.

    Parameters
    ----------
    motion : Motion
    sensor : DepthSensor
    seed : int or numpy.random.Generator
        The same seed gives the same take. A Generator is drawn from, so it moves on.

    Returns
    -------
    Take
        Labels are the skeleton's joints. Position NaN and confidence 0 where the sensor lost a
        joint; confidence ``hidden_confidence`` where the body hid it, else 1.
    """
    return look(motion, sensor, seed=seed).take


def look(motion: Motion, sensor: DepthSensor, *, seed: int | np.random.Generator) -> Seen:
    """Like ``observe``, and which samples were hidden, lost or displaced."""
    rng = np.random.default_rng(seed)
    true_m = sensor.to_sensor(motion.position_m)
    samples = true_m.shape[:2]
    # drawn first and always, so that changing one parameter leaves the other effects as they were
    normal = rng.standard_normal((*samples, 3))
    chance = rng.random((3, *samples))
    direction = rng.standard_normal((*samples, 3))

    distance = np.linalg.norm(true_m, axis=2, keepdims=True)
    ray = true_m / np.maximum(distance, 1e-9)
    hidden = hidden_joints(motion.skeleton, true_m)

    along_m = sensor.noise_along_at_2m_m * (distance / 2) ** 2
    across_m = sensor.noise_across_at_2m_m * (distance / 2)
    normal_along = np.sum(normal * ray, axis=2, keepdims=True)
    noise = across_m * normal + (along_m - across_m) * normal_along * ray
    noise *= np.where(hidden, sensor.hidden_noise_factor, 1.0)[..., None]

    bias = -sensor.surface_share * _flesh_m(motion.skeleton)[:, None] * ray
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    is_outlier = chance[0] < sensor.outlier_share
    seen_m = true_m + bias + noise + sensor.outlier_m * is_outlier[..., None] * direction

    tick_s = float(np.median(np.diff(motion.time_s))) if len(motion.time_s) > 1 else 1.0
    mean_frames = max(sensor.dropout_mean_s / tick_s, 1.0)
    lost = np.where(
        hidden,
        bursts(chance[2], share=sensor.hidden_dropout_share, mean_frames=mean_frames),
        bursts(chance[1], share=sensor.dropout_share, mean_frames=mean_frames),
    )
    confidence = np.where(lost, 0.0, np.where(hidden, sensor.hidden_confidence, 1.0))
    take = Take(
        source=sensor.name,
        labels=motion.skeleton.joints,
        position_m=np.where(lost[..., None], np.nan, seen_m),
        time_s=motion.time_s,
        confidence=confidence,
        origin=Origin(format="simulated", up="+y"),
    )
    return Seen(take, hidden, lost, is_outlier & ~lost)


def hidden_joints(skeleton: Skeleton, position_m: FloatArray) -> BoolArray:
    """Where the body itself stands between a joint and a sensor at the origin.

    Parameters
    ----------
    skeleton : Skeleton
    position_m : ndarray, shape (time, joint, 3), metres
        In the sensor's frame.

    Returns
    -------
    ndarray of bool, shape (time, joint)
        True where the line of sight passes through the flesh of a bone that does not end at the
        joint and that lies nearer than the joint by more than that flesh.
    """
    distance = np.linalg.norm(position_m, axis=2)
    ray = position_m / np.maximum(distance, 1e-9)[..., None]
    flesh_m = _flesh_m(skeleton)
    hidden = np.zeros(distance.shape, dtype=np.bool_)
    for parent, child in skeleton.bones:
        # both ends of the bone, split into depth along each joint's line of sight and the rest
        end_a, end_b = position_m[:, parent, None], position_m[:, child, None]
        depth_a, depth_b = (np.sum(end * ray, axis=2) for end in (end_a, end_b))
        a = end_a - depth_a[..., None] * ray
        step = end_b - depth_b[..., None] * ray - a
        length2 = np.maximum(np.sum(step**2, axis=2), 1e-12)
        along = np.clip(-np.sum(a * step, axis=2) / length2, 0.0, 1.0)
        miss_m = np.linalg.norm(a + along[..., None] * step, axis=2)
        depth_m = depth_a + along * (depth_b - depth_a)
        in_front = (depth_m > 0) & (depth_m < distance - flesh_m[child])
        blocks = (miss_m < flesh_m[child]) & in_front
        blocks[:, [parent, child]] = False
        hidden |= blocks
    return hidden


def _flesh_m(skeleton: Skeleton) -> FloatArray:
    return np.array([_FLESH_M.get(side_of(joint)[0], _OTHER_FLESH_M) for joint in skeleton.joints])

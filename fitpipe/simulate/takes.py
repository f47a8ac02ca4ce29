"""A whole simulated take: several sensors, their clocks and lapses, and the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from scipy.spatial.transform import Rotation

from fitpipe.arrays import FloatArray
from fitpipe.config import NoiseConfig, SensorsConfig, SimulateConfig
from fitpipe.errors import ConfigError, suggest
from fitpipe.records import SourceTransform, Take
from fitpipe.simulate.body import Motion
from fitpipe.simulate.clock import SensorClock
from fitpipe.simulate.lapses import Event, Lapses, misled
from fitpipe.simulate.motion import punch, reach_and_turn, stand_still, walk
from fitpipe.simulate.sensor import DepthSensor, look

MOTIONS: Final[dict[str, Callable[..., Motion]]] = {
    "walk": walk,
    "reach": reach_and_turn,
    "still": stand_still,
    "punch": punch,
}

_TRUTH_HZ: Final = 240.0  # of the motion that sensors sample in between
_SECONDS: Final = 10.0
_TARGET_M: Final = (0.0, 0.9, 0.0)
_AZIMUTH_DEG: Final = 5.0  # of the first sensor, to the left of straight ahead


@dataclass(frozen=True, eq=False)
class SimulatedTake:
    """Takes of several sensors, and what is true.

    Parameters
    ----------
    takes : tuple of Take
        As the sensors report them, each on its own clock; the reference first.
    motion : Motion
        The true joints at the reference's stamps, in the frame in which the reference reports.
    transforms : tuple of SourceTransform
        True transform of each take into the reference's frame.
    clocks : tuple of SensorClock
        Offset and drift are relative to the reference, whose clock is the true time.
    events : tuple of Event
        Everything that is wrong for single samples or whole spells.
    """

    takes: tuple[Take, ...]
    motion: Motion
    transforms: tuple[SourceTransform, ...]
    clocks: tuple[SensorClock, ...]
    events: tuple[Event, ...]


def simulate(
    config: SimulateConfig | None = None, *, motion: Motion | None = None
) -> SimulatedTake:
    """Simulate a take.

    Parameters
    ----------
    config : SimulateConfig, optional
        Default: a walk before two depth sensors with the errors of real ones.
    motion : Motion, optional
        What the person does; default: the motion that the config names. It starts at its first
        frame. Sensors stand around the middle of its ground track.

    Returns
    -------
    SimulatedTake

    Raises
    ------
    ConfigError
        The config names no known motion, or lists do not have one entry per sensor.
    RecordError
        The motion is too short to be seen twice.
    """
    config = config or SimulateConfig()
    truth = _named_motion(config) if motion is None else motion
    start_s = float(truth.time_s[0])
    truth = Motion(truth.position_m, truth.time_s - start_s, truth.skeleton)
    duration_s = float(truth.time_s[-1])
    if config.motion.seconds is not None:
        duration_s = min(duration_s, config.motion.seconds)
    sensors = place_sensors(config.sensors, config.noise, middle_m=_middle(truth))
    clocks = _clocks(config.sensors)
    lapses = Lapses(**{f.name: getattr(config.noise, f.name) for f in fields(Lapses)})

    takes, events, reference_times = [], [], np.empty(0)
    for sensor_i, (sensor, clock) in enumerate(zip(sensors, clocks, strict=True)):
        # a stream of its own, so that one more sensor leaves the others as they were
        rng = np.random.default_rng([config.seed, sensor_i])
        # sensors are not triggered together: all but the reference begin within their first tick
        first_s = 0.0 if sensor_i == 0 else float(rng.uniform(0, 1 / clock.rate_hz))
        times = clock.instants(duration_s, start_s=min(first_s, duration_s), seed=rng)
        seen = look(truth.at(times), sensor, seed=rng)
        take, wrong = misled(seen, truth.skeleton, lapses, seed=rng)
        takes.append(replace(take, time_s=clock.shown(times)))
        events += wrong
        if sensor_i == 0:
            reference_times = times
    reference = sensors[0]
    transforms = [sensor.transform_into(reference) for sensor in sensors]
    if config.sensors.frame == "shared":
        middle_m = reference.to_sensor(_middle(truth) + np.array(_TARGET_M))
        rng = np.random.default_rng([config.seed, len(sensors), 1])
        for sensor_i in range(1, len(sensors)):
            left = _crude_error(config.sensors, middle_m, takes[sensor_i].source, rng)
            given = transforms[sensor_i].apply(takes[sensor_i].position_m)
            # the take is off by the inverse of what remains to be applied
            off = (given - left.t_ref_m) @ left.R_ref_source
            takes[sensor_i] = replace(takes[sensor_i], position_m=off)
            transforms[sensor_i] = left
    at_reference = truth.at(reference_times)
    return SimulatedTake(
        tuple(takes),
        Motion(reference.to_sensor(at_reference.position_m), reference_times, truth.skeleton),
        tuple(transforms),
        clocks,
        tuple(events),
    )


def place_sensors(
    sensors: SensorsConfig, noise: NoiseConfig, *, middle_m: FloatArray
) -> tuple[DepthSensor, ...]:
    """Sensors on an arc about the middle of the scene, the first nearly straight ahead.

    Parameters
    ----------
    sensors : SensorsConfig
    noise : NoiseConfig
    middle_m : ndarray, shape (3,), metres
        Point on the floor, in the world.
    """
    own = {f.name for f in fields(DepthSensor)}
    settings = {name: value for name, value in noise.model_dump().items() if name in own}
    placed = []
    for i in range(sensors.count):
        azimuth = np.radians(_AZIMUTH_DEG + i * sensors.spread_deg)
        # heights differ, so that no transform between sensors is a mere turn about the vertical
        height_m = sensors.height_m * (1 + 0.3 * (i % 3))
        away = np.array([np.sin(azimuth), 0.0, np.cos(azimuth)]) * sensors.distance_m
        placed.append(
            DepthSensor.looking_at(
                f"kinect_{chr(ord('a') + i)}",
                middle_m + _TARGET_M,
                from_m=middle_m + away + [0.0, height_m, 0.0],
                **settings,
            )
        )
    return tuple(placed)


def _named_motion(config: SimulateConfig) -> Motion:
    name = config.motion.name
    if name not in MOTIONS:
        raise ConfigError(
            f"no motion {name!r}",
            place="[motion] name",
            hint=f"{suggest(name, MOTIONS)}; or the .h5 file of a fit",
        )
    seconds = _SECONDS if config.motion.seconds is None else config.motion.seconds
    n_frames = int(np.ceil(seconds * _TRUTH_HZ)) + 1
    return MOTIONS[name](n_frames, _TRUTH_HZ, stature_m=config.motion.stature_m)


def _middle(motion: Motion) -> FloatArray:
    """Middle of the ground track, on the floor, (3,) metres."""
    root = motion.position_m[:, motion.skeleton.parents.index(-1)]
    middle = (root.min(axis=0) + root.max(axis=0)) / 2
    return np.array([middle[0], 0.0, middle[2]])


def _clocks(sensors: SensorsConfig) -> tuple[SensorClock, ...]:
    faults = []
    values: dict[str, list[float]] = {}
    for name in ("rate_hz", "clock_offset_s", "clock_drift_ppm"):
        given = getattr(sensors, name)
        if isinstance(given, list):
            if len(given) != sensors.count:
                faults.append(f"{name} has {len(given)} entries for {sensors.count} sensors")
            elif name != "rate_hz" and given[0] != 0:
                faults.append(f"{name} starts with {given[0]:g}, expected 0: the reference's own")
            values[name] = list(given)
        elif name == "rate_hz":
            values[name] = [given] * sensors.count
        else:
            values[name] = [i * given for i in range(sensors.count)]
    if faults:
        raise ConfigError("lists do not fit", place="[sensors]", faults=faults)
    return tuple(
        SensorClock(rate_hz, offset_s, drift_ppm, sensors.tick_jitter_s)
        for rate_hz, offset_s, drift_ppm in zip(*values.values(), strict=True)
    )


def _crude_error(
    sensors: SensorsConfig, middle_m: FloatArray, source: str, rng: np.random.Generator
) -> SourceTransform:
    """Transform that a crude registration leaves to be applied, in the reference's frame."""
    axis = np.array([0.0, rng.choice([-1.0, 1.0]), 0.0]) + 0.2 * rng.standard_normal(3)
    angle = np.radians(sensors.shared_rotation_deg)
    R = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    way = rng.uniform(0, 2 * np.pi)
    shift = sensors.shared_shift_m * np.array([np.cos(way), 0.0, np.sin(way)])
    return SourceTransform(source, R, middle_m - R @ middle_m + shift)

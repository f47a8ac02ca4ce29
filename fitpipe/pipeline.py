"""Fits one take: the only place that knows the order of the stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fitpipe import calibrate, solve
from fitpipe.angles import angles_of_fit, load_limit_kernels
from fitpipe.arrays import ByteArray, FloatArray
from fitpipe.config import AnglesConfig, CalibrateConfig, FitConfig, make_config
from fitpipe.errors import RecordError
from fitpipe.mapping import MarkerSet, map_take
from fitpipe.provenance import given_as_text, provenance_of
from fitpipe.records import (
    BoneLengths,
    Calibration,
    Doubt,
    Finding,
    Fit,
    Skeleton,
    SkeletonAngles,
    Take,
)

Progress = Callable[[int, int], None]


class Posed(NamedTuple):
    """A take ready for the solver."""

    problem: solve.Problem
    time_s: FloatArray  # (time,) of the first source
    calibration: Calibration
    weight: FloatArray  # (time, source, joint)
    doubt: ByteArray  # (time, source, joint)
    noise_m: FloatArray  # (source, joint)
    observation_m: FloatArray  # (time, source, joint, 3) in the first source's frame
    log: tuple[Finding, ...]


def fit(
    takes: Take | Sequence[Take],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    bone_length_m: npt.ArrayLike | Mapping[str, float] | None = None,
    weight: Sequence[FloatArray] | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a rigid skeleton to one take seen by one or several sources.

    The first source gives the frame of reference and the clock.

    Parameters
    ----------
    takes : Take or sequence of Take
        One per source.
    skeleton : str, path or Skeleton, optional
        Preset name, TOML file or record; default: ``skeleton.preset`` of the config.
    markerset : str, path, MarkerSet or mapping, optional
        Leads labels to joints; None takes joints by their own names.
    subject : str, optional
        Whose labels, where a file has several subjects (``Anna:LASI``, ``Ben:LASI``).
    static : Take, optional
        A static trial of the person, with markers the takes lack: see `fitpipe.mapping.map_take`.
    bone_length_m : array-like of shape (link,) or mapping of bone name to length, metres, optional
        Known lengths; None measures them on the take (or reads the config's file).
    weight : sequence of ndarray of shape (time, joint), optional
        One per source, on the reference clock; multiplies the confidence.
    config : FitConfig or mapping, optional
        Such as ``{"solve": {"max_iterations": 50}}``.
    name : str, optional
        Name of the take in the result; default: the sources' names.
    progress : callable, optional
        Called with (frames done, frames in all) after every block of frames.

    Returns
    -------
    Fit

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used: config, labels, calibration or weights.
    """
    settings = make_config(FitConfig, config)
    takes = [takes] if isinstance(takes, Take) else list(takes)
    posed = pose(
        takes,
        skeleton=skeleton,
        markerset=markerset,
        subject=subject,
        static=static,
        bone_length_m=bone_length_m,
        weight=weight,
        config=settings,
    )
    bones, lengths = posed.problem.skeleton, posed.calibration.bone_lengths.length_m
    frames, weights, noticed = _solve(posed, settings, progress)
    frames, angles, about_angles = _turned(frames, weights, posed, settings)

    return Fit(
        name=name or "+".join(take.source for take in takes),
        skeleton=bones,
        sources=tuple(take.source for take in takes),
        time_s=posed.time_s,
        position=frames.position,
        status=frames.status,
        frame_status=frames.frame_status,
        objective=frames.objective,
        objective_start=frames.objective_start,
        iterations=frames.iterations,
        worst_bone_error=solve.worst_bone_error(frames.position, bones.links, lengths),
        multiplier=frames.multiplier,
        weight=weights,
        doubt=posed.doubt,
        noise=posed.noise_m,
        observation=posed.observation_m.astype(np.float32),
        residual=solve.residuals(frames.position, posed.observation_m),
        disagreement=solve.disagreement(posed.observation_m),
        calibration=posed.calibration,
        provenance=provenance_of(takes, settings)
        | {"given": given_as_text(skeleton, markerset, subject, static, bone_length_m, weight)},
        log=(*posed.log, *noticed, *solve.contradictions(frames.frame_status), *about_angles),
        angles=angles,
    )


def load_kernels(config: FitConfig) -> None:
    """Have every kernel a fit needs compiled, or loaded from Numba's cache, on a tiny take."""
    frame, joint = np.arange(12.0), np.arange(3.0)
    bend = np.sin(frame[:, None] + 2 * joint)
    position = np.stack([0.3 * joint + 0 * bend, 0.1 * bend, 0.1 * np.cos(3 * bend)], axis=-1)
    chain = Skeleton("chain", ("a", "b", "c"), (-1, 0, 1))
    takes = [Take(source, chain.joints, position, frame / 30) for source in "ab"]
    # what the config gives (lengths, transforms, offsets, angles) belongs to other takes
    own = {
        "calibrate": CalibrateConfig(time_offset="none"),
        "angles": AnglesConfig(compute=config.angles.compute or config.angles.limits),
    }
    fit(takes, skeleton=chain, config=config.model_copy(update=own))
    if config.angles.limits:
        load_limit_kernels()


def pose(
    takes: Sequence[Take],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    bone_length_m: npt.ArrayLike | Mapping[str, float] | None = None,
    weight: Sequence[FloatArray] | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
) -> Posed:
    """Everything of `fit` before the solver: what every frame is to be fitted to.

    Parameters, and what is raised, as in `fit`.
    """
    settings = make_config(FitConfig, config)
    _check_sources(takes)
    bones = _skeleton(skeleton if skeleton is not None else settings.skeleton.preset)
    log = [finding for take in takes for finding in _named(take, len(takes))]

    # on each source's own clock: interpolation would smear a jump over its neighbours
    mapped = _mapped(takes, bones, markerset, subject, static, settings)
    judged = [calibrate.screen(take, bones, settings.weights) for take in mapped]
    clocks, findings = calibrate.find_clocks([take for take, _ in judged], settings.calibrate)
    log += findings
    mapped = [own.set_back(take) for own, take in zip(clocks, mapped, strict=True)]
    judged = [(own.set_back(take), d) for own, (take, d) in zip(clocks, judged, strict=True)]
    clock = mapped[0].time_s
    timed = _onto_clock([take for take, _ in judged], clock, settings.calibrate)
    doubt = np.stack([calibrate.doubt_at(d, take.time_s, clock) for take, d in judged], axis=1)
    for before, after in zip(takes, timed, strict=True):
        new = replace(after, repairs=after.repairs[len(before.repairs) :])
        log += _named(new, len(takes))

    transforms, findings = calibrate.find_transforms(timed, bones, settings.calibrate)
    log += findings
    # on their own clocks: interpolation would hide the noise that makes bones seem longer
    lengths, findings = calibrate.find_lengths(
        [take for take, _ in judged], bones, bone_length_m, settings.calibrate
    )
    log += findings
    calibration = Calibration(
        tuple(own.written_into(t) for own, t in zip(clocks, transforms, strict=True)), lengths
    )
    bones = bones.with_lengths(calibration.bone_lengths.length_m)

    weights = solve.weights(timed, weight)
    noise = [calibrate.noise_m(take) for take, _ in judged]
    course = [calibrate.noise_course(take, bones, clock) for take, _ in judged]
    observation = solve.registered(timed, calibration)
    slow_m = calibrate.slow_error_m(observation, noise)
    weights = weights * calibrate.noise_weights(
        noise, settings.weights, course=course, slow_m=slow_m
    )
    if settings.weights.flips and len(takes) > 1:
        as_seen = _onto_clock(mapped, clock, settings.calibrate)
        as_seen_m = solve.registered(as_seen, calibration)
        flipped = calibrate.flipped_sources(observation, as_seen_m, clock, bones)
        log += calibrate.flip_findings(flipped, takes)
        doubt[flipped] = np.where(weights[flipped] > 0, np.uint8(Doubt.FLIPPED), doubt[flipped])
        weights = np.where(flipped[..., None], 0.0, weights)
    problem = solve.pose_problem(observation, weights, bones)
    log += solve.never_seen(weights, bones)
    noise_m = np.stack(noise)
    return Posed(problem, clock, calibration, weights, doubt, noise_m, observation, tuple(log))


def measure_lengths(
    takes: Sequence[Take],
    *,
    skeleton: str | Path | Skeleton | None = None,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None = None,
    subject: str | None = None,
    static: Take | None = None,
    config: FitConfig | Mapping[str, Any] | None = None,
) -> tuple[BoneLengths, Skeleton, list[Finding]]:
    """Bone lengths of one subject over several takes, of any sensors and times.

    Parameters
    ----------
    takes : sequence of Take
        One per source and take.
    skeleton, markerset, subject, static, config
        As in `fit`; of the config, ``calibrate.symmetric`` and ``[weights]`` matter.

    Returns
    -------
    lengths : BoneLengths
    skeleton : Skeleton
        The one they belong to, without lengths.
    findings : list of Finding

    Raises
    ------
    FitpipeError
        A subclass that says what cannot be used: config, labels, or takes of several people.
    """
    settings = make_config(FitConfig, config)
    _check_person(takes)
    bones = _skeleton(skeleton if skeleton is not None else settings.skeleton.preset)
    mapped = _mapped(takes, bones, markerset, subject, static, settings)
    judged = [calibrate.screen(take, bones, settings.weights)[0] for take in mapped]
    log = [finding for take in judged for finding in _named(take, len(takes))]
    lengths, findings = calibrate.estimate_lengths(
        judged, bones, symmetric=settings.calibrate.symmetric
    )
    return lengths, bones, log + findings


def _mapped(
    takes: Sequence[Take],
    skeleton: Skeleton,
    markerset: str | Path | MarkerSet | Mapping[str, Any] | None,
    subject: str | None,
    static: Take | None,
    settings: FitConfig,
) -> list[Take]:
    """The takes with the skeleton's joints as labels, and labels that changed places put back."""
    mapped = [map_take(take, markerset, skeleton, subject=subject, static=static) for take in takes]
    swaps = settings.weights.swaps
    return [calibrate.mend_swaps(take, skeleton, swaps=swaps) for take in mapped]


def _check_person(takes: Sequence[Take]) -> None:
    if not takes:
        raise RecordError("no take given, expected one or more")
    bodies = list(dict.fromkeys(take.origin.metadata.get("body", "") for take in takes))
    if len(bodies) > 1:
        raise RecordError(
            f"the takes show {len(bodies)} people: {', '.join(map(repr, bodies))}",
            hint="fit one at a time: read_takes(path, body='...'), --body or takes.body",
        )


def _check_sources(takes: Sequence[Take]) -> None:
    _check_person(takes)
    names = [take.source for take in takes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordError(
            f"two sources are called {', '.join(map(repr, twice))}",
            hint="give each its own name: dataclasses.replace(take, source='b')",
        )


def _skeleton(given: str | Path | Skeleton) -> Skeleton:
    return given if isinstance(given, Skeleton) else Skeleton.preset(given)


def _named(take: Take, n_sources: int) -> list[Finding]:
    """The take's findings, with its source in front where there are several."""
    if n_sources == 1:
        return list(take.repairs)
    return [replace(f, what=f"source {take.source!r}: {f.what}") for f in take.repairs]


def _onto_clock(takes: Sequence[Take], clock: FloatArray, settings: CalibrateConfig) -> list[Take]:
    """All takes at the instants of the first one's clock."""
    gap = settings.max_gap_s
    return [
        takes[0],
        *(calibrate.onto_clock(take, clock, max_gap_s=gap) for take in takes[1:]),
    ]


def _solve(posed: Posed, settings: FitConfig, progress: Progress | None) -> solve.TakeFits:
    """The fits, and the weights they rest on: repeated with less weight on what lies off them.

    Fits over time judge observations by the motion instead, within one pass.
    """
    scale = settings.weights.robust_scale_m
    is_repeated = scale > 0 and settings.solve.temporal == "none"
    n_repeats = settings.weights.robust_steps if is_repeated else 0

    def fitted(problem: solve.Problem, weights: FloatArray, number: int) -> solve.TakeFits:
        def of_pass(done: int, n: int) -> None:
            if progress is not None:
                progress((number * n + done) // (n_repeats + 1), n)

        return solve.fit_take(
            problem, posed.observation_m, weights, posed.time_s, settings.solve, progress=of_pass
        )

    fits = fitted(posed.problem, posed.weight, 0)
    for number in range(1, n_repeats + 1):
        residual = solve.residuals(fits.frames.position, posed.observation_m)
        weights = solve.robust_weights(posed.weight, residual, scale_m=scale)
        problem = solve.pose_problem(posed.observation_m, weights, posed.problem.skeleton)
        fits = fitted(problem, weights, number)
    return fits


def _turned(
    frames: solve.FrameFits, weights: FloatArray, posed: Posed, settings: FitConfig
) -> tuple[solve.FrameFits, SkeletonAngles | None, tuple[Finding, ...]]:
    """The joint angles, if asked for, and the frames as they are held to their limits."""
    if not (settings.angles.compute or settings.angles.limits):
        return frames, None, ()
    bones = posed.problem.skeleton
    problem = solve.pose_problem(posed.observation_m, weights, bones)
    target, stiffness = problem.target, problem.stiffness
    if settings.solve.temporal != "none":
        # the motion is smooth: the nearest pose to it, not to the noise of the frame
        known = np.isfinite(frames.position[..., 0])
        target = np.where(known[..., None], frames.position, 0.0)
        stiffness = known * np.maximum(stiffness, stiffness[stiffness > 0].min())
    lengths = posed.calibration.bone_lengths.length_m
    found = angles_of_fit(
        frames.position, bones, lengths, settings.angles, target_m=target, stiffness=stiffness
    )
    if found.is_refitted.any():
        frames = solve.refitted(
            frames, problem, found.position_m, found.is_refitted, found.is_converged
        )
    return frames, found.angles if settings.angles.compute else None, found.findings

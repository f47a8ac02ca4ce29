"""Cases about gaps, clocks, registration, bone lengths and the fit itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import fitpipe as fp
from fitpipe import calibrate, pipeline
from fitpipe.records import Doubt, FrameStatus, JointStatus, Skeleton, Take

from .catalogue import PLAIN, Case, attempt, fitting, worst_m


def one_frame(case: Case) -> None:
    outcome = fitting(case.files[0])
    case.accepts(outcome)
    fit = outcome.result
    assert fit.n_frames == case.values["n_frames"]
    assert worst_m(fit, case.truth()["xyz"]) < case.values["fit_max_abs_m"]


def gaps_in_the_take(case: Case) -> None:
    """Observed samples are right, the others flagged; bones hold where both ends are there."""
    outcome = fitting(case.files[0])
    case.accepts(outcome)
    fit, truth = outcome.result, case.truth()["xyz"]
    take = fp.read_take(case.files[0])
    seen = take.is_observed[:, [take.index(joint) for joint in fit.skeleton.joints]]
    values = case.values
    assert worst_m(fit, truth, seen) < values["valid_max_abs_m"]
    assert fit.worst_bone_m < values["bone_max_dev_m"]
    assert np.all(fit.status[~seen] != JointStatus.OBSERVED)
    unknown = fit.status == JointStatus.ABSENT
    assert np.array_equal(np.isnan(fit.position[..., 0]), unknown)
    assert np.abs(fit.position[~unknown]).max(axis=-1).min() > 0
    if "flagged_joints" in values:
        first, last = values["flagged_frames"]
        columns = [fit.skeleton.joints.index(joint) for joint in values["flagged_joints"]]
        assert np.all(fit.status[first : last + 1, columns] != JointStatus.OBSERVED)
    for joint in values.get("invalid_joints", []):
        assert np.all(unknown[:, fit.skeleton.joints.index(joint)])
    if "bursts" in values:
        assert fit.n_frames == values["n_frames"]
        assert np.array_equal(fit.time_s, take.time_s)
        for first, last in values["bursts"]:
            assert np.all(fit.frame_status[first : last + 1] == FrameStatus.NO_DATA)


def long_gap(case: Case) -> None:
    gaps_in_the_take(case)
    values = case.values
    take = fp.read_take(case.files[0])
    config = {"solve": {"temporal": "trajectory", "max_gap_s": values["max_gap_frames"] / 100}}
    fit = fp.fit(take, config=config)
    wrist = fit.skeleton.joints.index("WristLeft")
    first, last = values["short_gap"]
    short = slice(first, last + 1)
    assert np.all(fit.status[short, wrist] == JointStatus.INTERPOLATED)
    error = np.abs(fit.position[short, wrist] - case.truth()["xyz"][short, wrist])
    assert error.max() < values["short_gap_max_abs_m"]
    first, last = values["long_gap"]
    inside = fit.status[first : last + 1, wrist]
    assert not np.isin(inside, (JointStatus.OBSERVED, JointStatus.INTERPOLATED)).any()
    carried = inside == JointStatus.CARRIED
    assert np.all(np.isnan(fit.position[first : last + 1, wrist][~carried]))


def legs_swapped(case: Case) -> None:
    outcome = fitting(case.files[0])
    case.accepts(outcome)
    assert worst_m(outcome.result, case.truth()["xyz"]) < case.values["repaired_max_abs_m"]


def spike(case: Case) -> None:
    outcome = fitting(case.files[0])
    case.accepts(outcome)
    fit, values = outcome.result, case.values
    joint, frame = values["spike"]
    j = fit.skeleton.joints.index(joint)
    assert fit.doubt[frame, 0, j] != Doubt.NONE
    assert fit.worst_bone_error[frame] < values["bone_max_dev_m"]
    neighbours = np.zeros(fit.status.shape, dtype=bool)
    neighbours[[frame - 1, frame + 1]] = True
    assert worst_m(fit, case.truth()["xyz"], neighbours) < values["neighbour_max_abs_m"]
    lengths = case.catalogue.manifest["bone_lengths"]
    for name, length in zip(fit.skeleton.bone_names, fit.bone_length, strict=True):
        assert abs(length - lengths[name]) < values["length_change_max_m"], name


def still(case: Case) -> None:
    outcome = fitting(case.files[0])
    case.accepts(outcome)
    spread = outcome.result.position.std(axis=0).mean()
    assert spread <= case.values["output_std_max_m"]


def two_rates(case: Case) -> None:
    outcome = fitting(case.files)
    case.accepts(outcome)
    fit = outcome.result
    assert worst_m(fit, case.truth()["xyz"]) < case.values["merged_max_abs_m"]
    assert abs(fit.calibration.transforms[1].time_offset_s - case.values["lag_s"]) < 1e-3


def clock_ahead(case: Case) -> None:
    truth, values = case.truth()["xyz"], case.values
    outcome = fitting(case.files)
    case.accepts(outcome)
    found = outcome.result.calibration.transforms[1].time_offset_s
    assert abs(found - values["offset_s"]) < values["auto_tolerance_s"]
    given = fp.fit(
        [fp.read_take(path) for path in case.files],
        config={"calibrate": {"time_offset": values["offset_s"]}},
    )
    assert worst_m(given, truth) < values["given_max_abs_m"]


def lengths_differ(case: Case) -> None:
    outcome = fitting(case.files)
    case.accepts(outcome)
    assert outcome.result.n_frames == case.values["n_frames"]
    assert worst_m(outcome.result, case.truth()["xyz"]) < case.values["max_abs_m"]
    assert "3 frames" in outcome.text


def planar(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    clouds = {key: np.array(value) for key, value in numbers.items() if isinstance(value, list)}
    source = clouds.pop("source")
    for name, target in clouds.items():
        found = calibrate.align_rigid(source, target)
        R = found.R_target_source
        assert abs(np.linalg.det(R) - values["det"]) < 1e-9
        turn = R @ np.array(values["R"]).T
        angle = np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))
        if "noisy" in name:
            assert angle < values["noisy_angle_rad"]
        else:
            assert np.abs(R - values["R"]).max() < values["exact_tol"]


def collinear(case: Case) -> None:
    numbers = case.numbers()
    target = np.array(numbers["target"])
    case.accepts(attempt(lambda: calibrate.align_rigid(np.array(numbers["source"]), target)))


def half_turns(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    for name in ("about_y", "about_xy"):
        target = np.array(numbers[f"target_{name}"])
        found = calibrate.align_rigid(np.array(numbers["source"]), target)
        assert np.abs(found.R_target_source - values[f"R_{name}"]).max() < values["tol"]


def wild_pairs(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    source, target = (np.array(numbers[key]) for key in ("source", "target"))
    found = calibrate.align_robust(source, target, np.zeros(len(source), dtype=int))
    turn = found.R_target_source @ np.array(values["R"]).T
    assert np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1)) < values["angle_tol_rad"]
    assert np.linalg.norm(found.t_target_m - values["t"]) < values["shift_tol_m"]
    assert abs(1 - found.inlier_share - values["outlier_share"]) < 0.05


def units_differ(case: Case) -> None:
    case.accepts(fitting(case.files))


def measured(case: Case) -> tuple[Any, Any]:
    take = fp.read_take(case.files[0])
    outcome = attempt(lambda: pipeline.measure_lengths([take]), lambda found: found[2])
    case.accepts(outcome)
    lengths, bones, _ = outcome.result
    return dict(zip(bones.bone_names, lengths.length_m, strict=True)), outcome


def wild_ankle(case: Case) -> None:
    lengths, _ = measured(case)
    assert abs(lengths[case.values["bone"]] - case.values["length_m"]) < case.values["tol_m"]


def few_samples(case: Case) -> None:
    lengths, _ = measured(case)
    for bone, length in case.values["lengths_m"].items():
        assert abs(lengths[bone] - length) < 1e-5


def zero_bone(case: Case) -> None:
    lengths, _ = measured(case)
    truth = case.catalogue.manifest["bone_lengths"]
    for bone, length in lengths.items():
        if bone != "WristLeft-HandLeft":
            assert abs(length - truth[bone]) < 1e-5, bone
    assert fp.fit(fp.read_take(case.files[0])).is_fitted.all()


def unseen_ankle(case: Case) -> None:
    lengths, _ = measured(case)
    truth = case.catalogue.manifest["bone_lengths"]
    for bone, length in lengths.items():
        if bone in case.values["lengths_without_data"]:
            assert np.isnan(length)
        else:
            assert abs(length - truth[bone]) < case.values["other_lengths_tol_m"], bone
    fit = fp.fit(fp.read_take(case.files[0]))
    j = fit.skeleton.joints.index("AnkleRight")
    assert np.isfinite(np.delete(fit.position, [j], axis=1)).all()
    assert np.all(fit.status[:, j] == JointStatus.ABSENT)


def varying_bones(case: Case) -> None:
    lengths, _ = measured(case)
    truth, values = case.catalogue.manifest["bone_lengths"], case.values
    for bone, length in lengths.items():
        assert abs(length / truth[bone] - 1) < values["length_rel_tol"], bone
    fit = fp.fit(fp.read_take(case.files[0]))
    for parent, child in fit.skeleton.bones:
        length = np.linalg.norm(fit.position[:, child] - fit.position[:, parent], axis=-1)
        assert np.nanstd(length) < values["fitted_length_std_max_m"]


def solved(
    measured_m: Any, bones: Any, *, weight: Any = None, pairs: Any = ()
) -> tuple[np.ndarray, fp.Fit]:
    """Position of one frame of a small skeleton, fitted without any judgement of the data."""
    points = np.array(measured_m, dtype=float)
    n = len(points)
    parents, length = [-1] * n, []
    for parent, child, value in sorted(bones, key=lambda bone: bone[1]):
        parents[child] = parent
        length.append(value)
    names = tuple("abcdefghijklmnopqrstuvwxyz"[:n])
    skeleton = Skeleton(
        "case", names, tuple(parents), rigid_pairs=tuple((int(i), int(j)) for i, j, _ in pairs)
    )
    given = np.array(length + [value for *_, value in pairs])
    take = Take("case", names, points[None], np.zeros(1))
    weights = None if weight is None else [np.array(weight, dtype=float)[None]]
    fit = fp.fit(take, skeleton=skeleton, bone_length_m=given, weight=weights, config=PLAIN)
    return fit.position[0], fit


def one_bone(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    rows = zip(numbers["runs"], values["positions"], values["cost"], strict=True)
    for run, expected, cost in rows:
        position, fit = solved(numbers["measured"], [(0, 1, 1.0)], weight=run["weights"])
        assert np.abs(position - expected).max() < values["tol"]
        assert abs(fit.objective[0] - cost) < values["tol"]


def redundant(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    for name, given in numbers.items():
        bones = [tuple(bone) for bone in given["bones"]]
        tree = [bone for i, bone in enumerate(bones) if bone[1] not in {b[1] for b in bones[:i]}]
        pairs = [bone for i, bone in enumerate(bones) if bone[1] in {b[1] for b in bones[:i]}]
        position, _ = solved(given["measured"], tree, pairs=pairs)
        assert np.abs(position - values[name]).max() < values["tol"], name


def not_finite(case: Case) -> None:
    with np.load(case.files[0]) as archive:
        xyz, t = archive["xyz"], archive["t"]
    outcome = attempt(
        lambda: fp.fit(Take("case", case.catalogue.joints, xyz, t)), lambda fit: fit.log
    )
    if outcome.kind == "ok":  # the record tells by counting, the fit by status
        outcome = type(outcome)("warn", outcome.text, outcome.result)
    case.accepts(outcome)
    fit = outcome.result
    for joint, frame in case.values["bad"]:
        assert fit.status[frame, fit.skeleton.joints.index(joint)] != JointStatus.OBSERVED
    observed = fit.status == JointStatus.OBSERVED
    assert observed.sum() == observed.size - len(case.values["bad"])
    assert worst_m(fit, case.truth()["xyz"], observed) < 1e-3


def poisoned(case: Case) -> None:
    with np.load(case.files[0]) as archive:
        xyz, t = archive["xyz"], archive["t"]
    fit = fp.fit(Take("case", case.catalogue.joints, xyz, t))
    bad = case.values["bad_frame"]
    is_flagged = fit.frame_status[bad] == FrameStatus.NO_DATA or np.all(
        fit.doubt[bad] != Doubt.NONE
    )
    assert is_flagged
    after = np.zeros(fit.status.shape, dtype=bool)
    after[bad + 1 :] = True
    assert worst_m(fit, case.truth()["xyz"], after) < case.values["after_max_abs_m"]


def far_start(case: Case) -> None:
    """The start is made from directions and lengths, so a far one cannot be given by hand.

    Where it can, on the graph of bones, it converges to the measured pose.
    """
    from fitpipe.kernels.graph_newton import fit_graph

    numbers = case.numbers()
    measured_m = np.array(numbers["measured"])[None]
    start = np.array(numbers["start"])[None]
    parents, lengths = numbers["parents"], numbers["lengths"]
    links = np.array([(p, j) for j, p in enumerate(parents) if p >= 0])
    length = np.array([lengths[j] for j, p in enumerate(parents) if p >= 0])
    fitted = fit_graph(
        measured_m,
        np.ones(measured_m.shape[:2]),
        links,
        length,
        start_position=start,
        max_iterations=500,
    )
    off = np.abs(fitted.position - measured_m).max()
    converged = fitted.outcome[0] in (FrameStatus.CERTIFIED, FrameStatus.STATIONARY)
    assert np.isfinite(fitted.position).all()
    assert not converged or off < case.values["tol_if_converged_m"]
    assert converged


def coincident(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    position, fit = solved(numbers["measured"], [tuple(bone) for bone in numbers["bones"]])
    assert np.isfinite(position).all()
    assert abs(np.linalg.norm(position[1] - position[0]) - values["distance"]) < values["tol"]
    assert abs(fit.objective[0] - values["cost"]) < values["tol"]


def overlong(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    position, fit = solved(numbers["measured"], [tuple(bone) for bone in numbers["bones"]])
    assert np.abs(position - values["positions"]).max() < values["tol"]
    assert abs(fit.objective[0] - values["cost"]) < 1e-6


def bit_for_bit(case: Case) -> None:
    path = next(case.catalogue.folder.glob("fit-report-honest/*.trc"))
    first, second = (fp.fit(fp.read_take(path)) for _ in range(2))
    for name in ("position", "status", "objective", "residual", "weight", "multiplier"):
        a, b = getattr(first, name), getattr(second, name)
        assert a.tobytes() == b.tobytes(), name
    assert first.bone_length.tobytes() == second.bone_length.tobytes()


FIT = {
    "one-frame": one_frame,
    "gap-first-frames": gaps_in_the_take,
    "gap-never-seen": gaps_in_the_take,
    "gap-long": long_gap,
    "gap-bursts": gaps_in_the_take,
    "gap-few-joints": gaps_in_the_take,
    "swap-legs-burst": legs_swapped,
    "spike": spike,
    "jitter-static": still,
    "rates-differ": two_rates,
    "offset": clock_ahead,
    "lengths-differ": lengths_differ,
    "reg-planar": planar,
    "reg-collinear": collinear,
    "reg-180": half_turns,
    "reg-outliers": wild_pairs,
    "reg-units": units_differ,
    "bone-outliers": wild_ankle,
    "bone-few": few_samples,
    "bone-zero": zero_bone,
    "bone-all-nan": unseen_ankle,
    "bone-varying": varying_bones,
    "fit-one-bone": one_bone,
    "fit-redundant": redundant,
    "fit-false-success": not_finite,
    "fit-poisoned": poisoned,
    "fit-far-start": far_start,
    "fit-coincident": coincident,
    "fit-overlong": overlong,
    "repeat": bit_for_bit,
}

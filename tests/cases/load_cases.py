"""Cases about reading files, their clocks, and labels."""

from __future__ import annotations

import numpy as np

import fitpipe as fp

from .catalogue import Case, attempt, check_truth, gaps, reading


def read_and_compare(case: Case) -> None:
    """Every file ends as accepted; what is read is the truth, gaps included."""
    for path in case.files:
        outcome = reading(path)
        case.accepts(outcome, path)
        if outcome.result is not None and case.entry["truth"]:
            check_truth(case, outcome.result, max_abs_m=case.values.get("max_abs_m", 1e-6))
            if "n_gap_samples" in case.values:
                assert gaps(outcome.result) == case.values["n_gap_samples"]
            if "rate_hz" in case.values:
                assert abs(outcome.result.rate_hz / case.values["rate_hz"] - 1) < 1e-9


def zero_triplets(case: Case) -> None:
    read_and_compare(case)
    joint, frame = case.values["kept_near_zero"]
    take = fp.read_take(case.files[0])
    assert take.is_observed[frame, take.index(joint)]


def labels2(case: Case) -> None:
    read_and_compare(case)
    take = fp.read_take(case.files[0])
    assert list(take.labels) == case.values["labels"]
    first = case.values["first_joint_column"]
    assert list(take.labels[first : first + 20]) == case.catalogue.joints


def long_takes(case: Case) -> None:
    for path in case.files:
        outcome = reading(path)
        case.accepts(outcome, path)
        take = outcome.result
        assert take.n_frames == case.values["n_frames"]
        assert abs(take.duration_s - case.values["duration_s"]) < 1e-6
        head_x = take.position_m[-1, take.index("Head"), 0]
        assert abs(head_x - case.values["last_head_x_m"]) < case.values["tolerance_m"]


def bad_rates(case: Case) -> None:
    for path in case.files:
        case.accepts(reading(path), path)
        take = fp.read_take(path, rate_hz=case.values["with_option_rate"])
        check_truth(case, take, max_abs_m=case.values["max_abs_m"])
    told = fp.read_take(case.file("rate_header_only.c3d"))
    assert told.rate_hz == np.float64(case.values["rate_header_only_hz"]) or (
        abs(told.rate_hz - case.values["rate_header_only_hz"]) < 1e-9
    )


def truncated(case: Case) -> None:
    read_and_compare(case)
    take = fp.read_take(case.files[0])
    assert take.n_frames == case.values["n_frames_if_loaded"]


def first_frame(case: Case) -> None:
    read_and_compare(case)
    a, b = (fp.read_take(path) for path in case.files)
    values = case.values
    assert (a.n_frames, b.n_frames) == (values["A_n_frames"], 200)
    assert abs(a.time_s[0] - values["A_first_time_s"]) < 1e-12
    assert abs(a.time_s[-1] - values["A_last_time_s"]) < 1e-12
    fit = fp.fit([a, b], config={"calibrate": {"registration": "none"}})
    assert abs(fit.calibration.transforms[1].time_offset_s - values["lag_s"]) < 1e-6
    assert np.nanmax(fit.disagreement) < values["max_abs_m"]


def fractional_rate(case: Case) -> None:
    outcome = reading(case.files[0])
    case.accepts(outcome)
    assert abs(outcome.result.rate_hz - case.values["rate_hz"]) < 1e-6
    assert abs(outcome.result.duration_s - case.values["duration_s"]) < case.values["tolerance_s"]


def nummarkers(case: Case) -> None:
    read_and_compare(case)
    assert list(fp.read_take(case.files[0]).labels) == case.values["names"]


def numframes(case: Case) -> None:
    read_and_compare(case)
    for path in case.files:
        assert fp.read_take(path).n_frames == case.values["frames_if_loaded"][path.stem]


def time_rounding(case: Case) -> None:
    read_and_compare(case)
    take = fp.read_take(case.files[0])
    assert (take.n_frames, take.is_uniform) == (case.values["n_frames"], True)
    fit = fp.fit(take)
    assert fit.n_frames == case.values["n_frames"]
    assert fit.time_s[0] == take.time_s[0] == 0


def frame_zero(case: Case) -> None:
    read_and_compare(case)
    take = fp.read_take(case.files[0])
    assert (take.time_s[0], take.n_frames) == (case.values["first_time_s"], case.values["n_frames"])


def optitrack(case: Case) -> None:
    outcome = reading(case.files[0])
    case.accepts(outcome)
    take = outcome.result
    assert take.n_points == case.values["n_joints"]
    assert gaps(take) == case.values["n_gap_samples"]
    assert abs(take.rate_hz - case.values["rate_hz"]) < 1e-9
    check_truth(case, take, max_abs_m=case.values["max_abs_m"], by_alias=True)
    assert fp.fit(take, markerset=case.by_alias()).is_fitted.all()


def kinect_zeros(case: Case) -> None:
    read_and_compare(case)
    take = fp.read_take(case.files[0])
    empty = ~take.is_observed.any(axis=1)
    assert empty.sum() == case.values["n_gap_frames"]
    fit = fp.fit(take)
    assert np.argmax(fit.is_fitted) == case.values["first_fitted_frame"]


def axes_up(case: Case) -> None:
    y_up, z_up = case.file("yup.trc"), case.file("zup.trc")
    truth = case.truth()["xyz"]
    for path, axis in ((y_up, "+y"), (z_up, "+z")):
        outcome = reading(path, up=axis)
        case.accepts(outcome, path)
        assert np.abs(outcome.result.position_m - truth).max() < case.values["max_abs_m"]
    turned = fp.read_take(z_up).position_m.reshape(-1, 3)
    R = np.linalg.lstsq(truth.reshape(-1, 3), turned, rcond=None)[0].T
    assert np.abs(R - np.array(case.values["R_yup_to_zup"])).max() < 1e-6
    assert abs(np.linalg.det(R) - case.values["det"]) < 1e-6
    wrong = reading(z_up, up="+y")
    assert wrong.kind == "warn"
    assert "head and feet say +z" in wrong.text


def prefix(case: Case) -> None:
    for path in case.files:
        take = fp.read_take(path)
        check_truth_after_mapping(case, take)


def check_truth_after_mapping(case: Case, take: fp.Take, **options: object) -> None:
    fit = fp.fit(take, markerset=case.by_alias(), **options)
    start = fit.position - case.truth()["xyz"]
    # the walk's bones are rigid: a fit of exact joints leaves them where they are
    assert np.abs(start).max() < max(2e-6, case.values["max_abs_m"])


def two_subjects(case: Case) -> None:
    take = fp.read_take(case.files[0])
    outcome = attempt(lambda: fp.fit(take, markerset=case.by_alias()))
    case.accepts(outcome)
    check_truth_after_mapping(case, take, subject=case.values["with_subject"])


def unlabelled(case: Case) -> None:
    outcome = reading(case.files[0])
    case.accepts(outcome)
    assert f"{case.values['n_ignored']} unlabelled points" in outcome.text
    assert outcome.result.n_points == 20
    check_truth_after_mapping(case, outcome.result)


def refused_by_mapping(case: Case) -> None:
    take = fp.read_take(case.files[0])
    outcome = attempt(lambda: fp.fit(take, markerset=case.by_alias()))
    case.accepts(outcome, case.files[0])


def time_backwards(case: Case) -> None:
    outcome = reading(case.files[0])
    case.accepts(outcome)
    assert np.all(np.diff(outcome.result.time_s) > 0)


def two_tones(case: Case) -> None:
    """Nothing is filtered, so both tones pass whole; the file's 100 Hz are used."""
    take = fp.read_take(case.files[0])
    assert abs(take.rate_hz - 100) < 1e-9
    x = take.position_m[:, take.index("HandRight"), 0]
    slow, fast = case.values["amplitudes_m"]
    t = take.time_s
    for amplitude, hz in ((slow, 2), (fast, 20)):
        wave = 2 * np.mean(x * np.sin(2 * np.pi * hz * t))
        assert abs(wave / amplitude - 1) < 0.02


def unicode_path(case: Case) -> None:
    read_and_compare(case)
    for path in case.files:
        take = fp.read_take(path)
        out = path.with_suffix(".h5")
        fp.fit(take).save(out)
        again = fp.load_fit(out)
        assert again.name == "walk 01"
        assert str(path) in str(again.provenance["inputs"][0])


LOAD = {
    "c3d-units": read_and_compare,
    "c3d-residual-gap": read_and_compare,
    "c3d-zero-triplets": zero_triplets,
    "c3d-labels2": labels2,
    "c3d-label-count": read_and_compare,
    "c3d-long": long_takes,
    "c3d-endian": read_and_compare,
    "c3d-analog-only": read_and_compare,
    "c3d-minimal": read_and_compare,
    "c3d-rate-bad": bad_rates,
    "c3d-truncated": truncated,
    "c3d-first-frame": first_frame,
    "c3d-fractional-rate": fractional_rate,
    "trc-nummarkers": nummarkers,
    "trc-name-row": read_and_compare,
    "trc-sublabels": read_and_compare,
    "trc-header-keys": read_and_compare,
    "trc-blank-cells": read_and_compare,
    "trc-trailing": read_and_compare,
    "trc-numframes": numframes,
    "trc-time-rounding": time_rounding,
    "trc-nan-words": read_and_compare,
    "trc-frame0": frame_zero,
    "csv-decimal-comma": read_and_compare,
    "csv-bom": read_and_compare,
    "optitrack-csv": optitrack,
    "qtm-tsv": read_and_compare,
    "empty-take": read_and_compare,
    "all-nan": read_and_compare,
    "kinect-zero-frames": kinect_zeros,
    "axes-up": axes_up,
    "label-prefix": prefix,
    "label-two-subjects": two_subjects,
    "label-unlabelled": unlabelled,
    "label-duplicate": refused_by_mapping,
    "label-missing": refused_by_mapping,
    "time-backwards": time_backwards,
    "rate-30-assumed": two_tones,
    "path-unicode": unicode_path,
    "h5-input-cut": read_and_compare,
}

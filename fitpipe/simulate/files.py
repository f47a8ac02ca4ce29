"""Simulated takes and their truth as text files: the layout of the demo takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.records import Skeleton, Take
from fitpipe.simulate.body import Motion
from fitpipe.simulate.takes import SimulatedTake


def simulated_files(name: str, simulated: SimulatedTake) -> dict[str, str]:
    """Text of every file of a take, by its path in the output folder.

    Parameters
    ----------
    name : str
        Of the take; files are ``NAME_SOURCE.csv`` and ``truth/NAME...``.
    simulated : SimulatedTake
    """
    return {
        **{
            f"{name}_{take.source}.csv": take_csv(take, time_digits=6, digits=5)
            for take in simulated.takes
        },
        f"truth/{name}.csv": truth_csv(simulated.motion, time_digits=6, digits=5),
        f"truth/{name}_sources.toml": sources_toml(simulated),
        f"truth/{name}_bones.toml": lengths_toml(simulated.motion.skeleton),
        f"truth/{name}_events.csv": events_csv(simulated),
    }


def take_csv(take: Take, *, time_digits: int, digits: int) -> str:
    """Wide table of a take: time, then x, y, z and confidence of every joint."""
    header = ["time_s"]
    for label in take.labels:
        header += [f"{label}_{column}" for column in ("x_m", "y_m", "z_m", "confidence")]
    sure = np.ones(take.is_observed.shape) if take.confidence is None else take.confidence
    rows = []
    for time_s, points, confidence in zip(take.time_s, take.position_m, sure, strict=True):
        row = [f"{time_s:.{time_digits}f}"]
        for point, value in zip(points, confidence, strict=True):
            row += [*_coordinates(point, digits), f"{value:g}"]
        rows.append(row)
    return _lines(header, rows)


def truth_csv(motion: Motion, *, time_digits: int, digits: int) -> str:
    """Wide table of the true joints."""
    header = ["time_s"]
    for joint in motion.skeleton.joints:
        header += [f"{joint}_{axis}_m" for axis in "xyz"]
    rows = [
        [f"{time_s:.{time_digits}f}", *(c for point in points for c in _coordinates(point, digits))]
        for time_s, points in zip(motion.time_s, motion.position_m, strict=True)
    ]
    return _lines(header, rows)


def sources_toml(simulated: SimulatedTake) -> str:
    """Transform and clock of every source."""
    reference = simulated.takes[0].source
    text = (
        f"# {reference} = R_ref_source @ source + t_ref_m\n"
        f"# source's clock = clock_offset_s + (1 + clock_drift_ppm / 1e6) * {reference}'s clock\n"
    )
    for take, transform, clock in zip(
        simulated.takes, simulated.transforms, simulated.clocks, strict=True
    ):
        text += (
            f"\n[{take.source}]\n{transform_toml(transform.R_ref_source, transform.t_ref_m)}"
            f"clock_offset_s = {clock.offset_s!r}\nclock_drift_ppm = {clock.drift_ppm!r}\n"
            f"rate_hz = {clock.rate_hz!r}\n"
        )
    return text


def transform_toml(R_ref_source: FloatArray, t_ref_m: FloatArray) -> str:
    """The two keys of a transform."""
    rows = ",\n".join(
        "    [" + ", ".join(f"{value:.9f}" for value in row) + "]" for row in R_ref_source.tolist()
    )
    t = ", ".join(f"{value:.9f}" for value in t_ref_m.tolist())
    return f"R_ref_source = [\n{rows},\n]\nt_ref_m = [{t}]\n"


def lengths_toml(skeleton: Skeleton, comment: str = "") -> str:
    """Table of bone lengths, as ``calibrate.bone_lengths`` reads it."""
    lengths = [] if skeleton.bone_length_m is None else skeleton.bone_length_m.tolist()
    rows = zip(skeleton.bone_names, lengths, strict=True)
    return comment + "[bone_length_m]\n" + "".join(f'"{b}" = {length:.9f}\n' for b, length in rows)


def events_csv(simulated: SimulatedTake) -> str:
    """What went wrong: one row per spell; frames count from 0, times are the source's own."""
    stamps = {take.source: take.time_s for take in simulated.takes}
    rows = [
        [
            event.source,
            event.kind,
            " ".join(event.joints),
            f"{event.first_frame}",
            f"{event.last_frame}",
            f"{stamps[event.source][event.first_frame]:.6f}",
            f"{stamps[event.source][event.last_frame]:.6f}",
        ]
        for event in simulated.events
    ]
    return _lines(
        ["source", "kind", "joints", "first_frame", "last_frame", "start_s", "end_s"], rows
    )


def _coordinates(point_m: FloatArray, digits: int) -> list[str]:
    """Three cells; blank where missing."""
    # adding zero turns -0.0 into 0.0
    return ["" if np.isnan(v) else f"{round(v, digits) + 0.0:.{digits}f}" for v in point_m]


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()

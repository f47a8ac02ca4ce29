"""The file format ``fitpipe.fit/1`` as data: what is written, read, shown and documented.

One table names every variable of the file. Within version 1 a variable may be added if files
without it can still be read; to drop one, or to give one another meaning, takes version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final

import numpy as np

from fitpipe.output.angle_entries import ANGLE_ENTRIES
from fitpipe.output.entry import Entry, Variable, group_of
from fitpipe.records import Doubt, Fit, FrameStatus, JointStatus

SCHEMA_NAME: Final = "fitpipe.fit"
SCHEMA_VERSION: Final = 1
SCHEMA: Final = f"{SCHEMA_NAME}/{SCHEMA_VERSION}"
CONVENTIONS: Final = "CF-1.11"


def _of_transforms(name: str, width: tuple[int, ...] = ()) -> Callable[[Fit], Any]:
    """One field of all source transforms, stacked along ``source``."""

    def value(fit: Fit) -> Any:
        rows = [getattr(transform, name) for transform in fit.calibration.transforms]
        return np.reshape(rows, (len(rows), *width))

    return value


def _of_log(name: str) -> Callable[[Fit], Any]:
    """One field of all findings."""
    return lambda fit: [getattr(finding, name) for finding in fit.log]


def _joint_pairs(name: str) -> Callable[[Fit], Any]:
    """Pairs of joints as JSON, by index, which is how the record keeps them."""
    return lambda fit: str([list(pair) for pair in getattr(fit.skeleton, name)])


class BoneKind(IntEnum):
    """What an entry along the dimension ``bone`` is."""

    BONE = 0
    RIGID_PAIR = 1


def _bone_kinds(fit: Fit) -> list[BoneKind]:
    skeleton = fit.skeleton
    return [BoneKind.BONE] * skeleton.n_bones + [BoneKind.RIGID_PAIR] * len(skeleton.rigid_pairs)


_T, _J, _B, _S = "time", "keypoint", "bone", "source"
_AXES = ["x", "y", "z"]

ENTRIES: Final[tuple[Entry, ...]] = (
    # dimension scales first: their order is the order of the netCDF dimensions
    Entry(
        "time", (_T,), "float64", "s", "time of the frame", attrgetter("time_s"),
        "On the clock of the reference source.",
    ),
    Entry("keypoint", (_J,), "text", "1", "name of the joint", attrgetter("skeleton.joints")),
    Entry("space", ("space",), "text", "1", "axis of the reference frame", lambda _: _AXES),
    Entry(
        "bone", (_B,), "text", "1", "joints of the bone or rigid pair",
        attrgetter("skeleton.bone_names"),
        "Parent-child for the bones, ordered by the child joint, then A~B for the rigid pairs.",
    ),
    Entry(
        "source", (_S,), "text", "1", "name of the sensor or marker system",
        attrgetter("sources"), "The reference source first: positions are in its frame.",
    ),
    Entry(
        "position", (_T, _J, "space"), "float64", "m", "position of the joint",
        attrgetter("position"), "In the reference source's frame. NaN where status is absent.",
    ),
    Entry(
        "status", (_T, _J), "uint8", "1", "where the joint's position comes from",
        attrgetter("status"),
        "absent: no position. observed: at least one source saw the joint in this frame. "
        "carried: no source saw it, bones between observed joints hold it. "
        "interpolated: no observation of it was used in this frame, the motion around carries it.",
        JointStatus,
    ),
    Entry(
        "frame_status", (_T,), "uint8", "1", "how the fit of the frame ended",
        attrgetter("frame_status"),
        "no_data: no joint was observed. certified: converged, proven to be the global optimum. "
        "stationary: converged, a better optimum elsewhere is not ruled out. stalled: no step "
        "improved the objective. iteration_limit: stopped before the step was small enough. "
        "compromise: the lengths contradict each other; their squared errors are least.",
        FrameStatus,
    ),
    Entry(
        "weight", (_T, _S, _J), "float64", "1", "weight of the source's observation in objective",
        attrgetter("weight"), "0 where there is no observation or it was not used.",
    ),
    Entry(
        "doubt", (_T, _S, _J), "uint8", "1", "why the source's observation counts less",
        attrgetter("doubt"),
        "none: it counts as its confidence says, or there is none. jump: it jumped off its own "
        "track and was taken as missing. bones: the bones at it were off their usual length, its "
        "weight was reduced. flipped: the source took the back for the front, weight 0.",
        Doubt,
    ),
    Entry(
        "noise", (_S, _J), "float64", "m", "standard deviation of the source's noise on one axis",
        attrgetter("noise"), "Measured on the take. NaN where there are too few samples.",
    ),
    Entry(
        "observation", (_T, _S, _J, "space"), "float32", "m", "what the source saw",
        attrgetter("observation"),
        "On the reference source's clock and in its frame. NaN where it saw nothing and where its "
        "sample jumped off its track (doubt). Left out by the first fitpipe.",
    ),
    Entry(
        "residual", (_T, _S, _J), "float64", "m",
        "distance from the source's observation to the fitted joint", attrgetter("residual"),
        "The observation is carried into the reference frame first. NaN where there is none.",
    ),
    Entry(
        "disagreement", (_T, _J), "float64", "m",
        "largest distance between two sources' observations of the joint",
        attrgetter("disagreement"), "NaN where fewer than two sources saw it.",
    ),
    Entry(
        "objective", (_T,), "float64", "m2", "weighted sum of squared distances at the fit",
        attrgetter("objective"), "NaN where the frame has no data.",
    ),
    Entry(
        "objective_start", (_T,), "float64", "m2",
        "weighted sum of squared distances at the start", attrgetter("objective_start"),
        "Of the skeleton with exact bones that points along the observed directions.",
    ),
    Entry("iterations", (_T,), "int64", "1", "iterations of the solver", attrgetter("iterations")),
    Entry(
        "worst_bone_error", (_T,), "float64", "m",
        "largest deviation of a bone or rigid pair from its length",
        attrgetter("worst_bone_error"), "NaN where the frame has no data.",
    ),
    Entry(
        "multiplier", (_T, _B), "float64", "m", "Lagrange multiplier of the bone's length",
        attrgetter("multiplier"),
        "How hard the data pull on the bone. NaN where an end of the bone is absent, and in frames "
        "that joint limits hold.",
    ),
    Entry(
        "bone_kind", (_B,), "uint8", "1", "what keeps the two joints apart", _bone_kinds,
        "bone: a bone of the tree of joints. rigid_pair: they keep their distance without a bone.",
        BoneKind,
    ),
    Entry(
        "bone_length", (_B,), "float64", "m", "length of the bone", attrgetter("bone_length"),
        "The same in every frame. NaN for a bone no source ever saw whole.",
    ),
    Entry(
        "bone_length_low", (_B,), "float64", "m", "lower end of the 95 % interval of the length",
        attrgetter("calibration.bone_lengths.low_m"), "Equal to the length where it was given.",
    ),
    Entry(
        "bone_length_high", (_B,), "float64", "m", "upper end of the 95 % interval of the length",
        attrgetter("calibration.bone_lengths.high_m"), "Equal to the length where it was given.",
    ),
    Entry(
        "bone_length_samples", (_B,), "int64", "1", "samples the length was measured on",
        attrgetter("calibration.bone_lengths.n_samples"), "0 where the length was given.",
    ),
    Entry(
        "parent", (_J,), "int64", "1", "index of the parent joint",
        attrgetter("skeleton.parents"), "Counted from 0 along keypoint; -1 for a root.",
    ),
    Entry("skeleton/name", (), "text", "1", "name of the skeleton", attrgetter("skeleton.name")),
    Entry(
        "skeleton/rest_direction", (_J, "space"), "float64", "1",
        "unit vector from the parent to the joint in a standing person",
        attrgetter("skeleton.rest_direction"), "+y up, facing +z, the person's left at +x.",
    ),
    Entry(
        "skeleton/bone_length", (_B,), "float64", "m", "length of the bone in the skeleton",
        attrgetter("skeleton.bone_length_m"), "Left out if the skeleton came without lengths.",
    ),
    Entry(
        "skeleton/mirror", (), "json", "1", "joints that are left and right of each other",
        _joint_pairs("mirror"), "Pairs of indices along keypoint, counted from 0.",
    ),
    Entry(
        "skeleton/rigid_pairs", (), "json", "1", "joints that keep their distance without a bone",
        _joint_pairs("rigid_pairs"), "Pairs of indices along keypoint, counted from 0.",
    ),
    Entry(
        "calibration/source_space", ("source_space",), "text", "1",
        "axis of the source's own frame", lambda _: _AXES,
    ),
    Entry(
        "calibration/R_ref_source", (_S, "space", "source_space"), "float64", "1",
        "rotation from the source's frame into the reference frame",
        _of_transforms("R_ref_source", (3, 3)),
        "reference = R_ref_source @ source + t_ref, for column vectors; det = +1.",
    ),
    Entry(
        "calibration/t_ref", (_S, "space"), "float64", "m",
        "translation from the source's frame into the reference frame",
        _of_transforms("t_ref_m", (3,)),
    ),
    Entry(
        "calibration/rms", (_S,), "float64", "m",
        "root mean square distance left after registration", _of_transforms("rms_m"),
        "0 for the reference source.",
    ),
    Entry(
        "calibration/n_points", (_S,), "int64", "1", "joint samples the registration rests on",
        _of_transforms("n_points"),
    ),
    Entry(
        "calibration/scale", (_S,), "float64", "1", "best-fit scale of the source to the reference",
        _of_transforms("scale"), "Evidence only, never applied; 1 if both measure alike.",
    ),
    Entry(
        "calibration/inlier_share", (_S,), "float64", "1",
        "share of those samples that agree with the registration", _of_transforms("inlier_share"),
        "The others had no say in it.",
    ),
    Entry(
        "calibration/time_offset", (_S,), "float64", "s",
        "how far the source's clock was ahead of the reference's", _of_transforms("time_offset_s"),
        "At time[0]; already taken out. Source's time = time + time_offset + clock_drift * "
        "(time - time[0]).",
    ),
    Entry(
        "calibration/time_offset_sd", (_S,), "float64", "s", "standard deviation of time_offset",
        _of_transforms("time_offset_sd_s"), "0 where it was given, NaN where motion did not tell.",
    ),
    Entry(
        "calibration/clock_drift", (_S,), "float64", "1",
        "seconds the source's clock gains in one second of the reference's",
        _of_transforms("clock_drift"), "Already taken out.",
    ),
    Entry(
        "calibration/length_origin", (), "text", "1", "where the bone lengths come from",
        attrgetter("calibration.bone_lengths.origin"), "estimated (from the take) or given.",
    ),
    Entry(
        "log/finding", ("finding",), "int64", "1", "number of the finding",
        lambda fit: range(len(fit.log)),
    ),
    Entry("log/what", ("finding",), "text", "1", "what was found", _of_log("what")),
    Entry("log/done", ("finding",), "text", "1", "what was done about it", _of_log("done")),
    Entry(
        "log/severity", ("finding",), "text", "1", "note or warning", _of_log("severity"),
        "A warning may change the numbers in a way the user would not expect.",
    ),
    Entry(
        "log/otherwise", ("finding",), "text", "1", "how to have it done differently",
        _of_log("otherwise"),
    ),
    *ANGLE_ENTRIES,
)  # fmt: skip

ABOUT: Final = (
    "HDF5 that is also valid netCDF-4. Every variable carries `units`, `long_name` and, where it "
    "helps, `comment`; text is UTF-8; NaN means there is no value. Behind the HDF5 data stands a "
    "line `fitpipe seal sha256:` with the SHA-256 of all bytes before it, which vanishes when "
    "another tool writes into the file."
)

ROOT_ATTRIBUTES: Final[Mapping[str, str]] = {
    "schema": f"`{SCHEMA}`: name and version of this format.",
    "title": "One line about the file.",
    "take": "Name of the take.",
    "Conventions": f"`{CONVENTIONS}`: metadata conventions for climate and forecast.",
    "creator": "Program and version that wrote the file.",
    "checksum": "`sha256:` and the SHA-256 over every number and text that makes up the fit.",
}

GROUPS: Final[Mapping[str, str]] = {
    "": "The fit itself.",
    "skeleton": "What else is known of the skeleton.",
    "calibration": "How the sources were brought together, and where the lengths come from.",
    "angles": "How every segment is turned, unless that was not asked for: body frames that "
    "several bones fix together, then one segment for every bone. In the zero pose the frames of "
    "all segments are parallel to the reference frame.",
    "log": "What readers repaired and what the stages noticed, one row per finding.",
    "provenance": "What it takes to make the fit again: one text per entry, as it is or as JSON "
    "(attribute `format`). The entries depend on how the fit was made.",
}


OPTIONAL_GROUPS: Final = ("angles",)


def fit_variables(fit: Fit) -> tuple[Variable, ...]:
    """The variables of the file's root group, with the values of ``fit``, in file order."""
    return tuple(v for v in schema_variables(fit) if not group_of(v.name))


def schema_variables(fit: Fit) -> tuple[Variable, ...]:
    """The variables of every group but provenance, with the values of ``fit``, in file order."""
    variables = (entry.variable(fit) for entry in ENTRIES)
    return tuple(variable for variable in variables if variable is not None)


def schema_markdown() -> str:
    """The format as Markdown: a table of the root attributes, then one table per group."""
    lines = [f"## Schema `{SCHEMA}`", "", ABOUT, "", "| Attribute | Meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in ROOT_ATTRIBUTES.items()]
    for group, about in GROUPS.items():
        title = f"Group `{group}`" if group else "Root group"
        lines += ["", f"### {title}", "", about]
        entries = [entry for entry in ENTRIES if group_of(entry.name) == group]
        if entries:
            lines += [
                "",
                "| Variable | Dimensions | Type | Unit | Meaning |",
                "|---|---|---|---|---|",
            ]
            lines += [_markdown_row(entry) for entry in entries]
    return "\n".join(lines) + "\n"


def _markdown_row(entry: Entry) -> str:
    meaning = f"{entry.long_name[0].upper()}{entry.long_name[1:]}. {entry.comment}".strip()
    if entry.flags is not None:
        meaning += " Values: " + ", ".join(f"{f:d} {f.name.lower()}" for f in entry.flags) + "."
    name = entry.name.rpartition("/")[2]
    dims = ", ".join(entry.dims) or "none"
    return f"| `{name}` | {dims} | {entry.kind} | {entry.units} | {meaning} |"

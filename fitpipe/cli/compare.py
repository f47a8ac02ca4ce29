"""``fitpipe compare``: a fit against a reference, or one fit against another."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitpipe.cli.options import Body, RateHz, Units, Up

if TYPE_CHECKING:
    from fitpipe.report import Comparison


def compare(
    result: Annotated[Path, typer.Argument(help="A fit, or a take of any readable format.")],
    reference: Annotated[Path, typer.Argument(help="What it is measured against, the same.")],
    skeleton: Annotated[
        str | None, typer.Option(help="Skeleton preset or TOML file. Default: the fit's.")
    ] = None,
    markerset: Annotated[
        str | None, typer.Option(help="Marker set of the reference, if it is a take.")
    ] = None,
    result_markerset: Annotated[
        str | None, typer.Option(help="Marker set of the result, if it is a take.")
    ] = None,
    max_gap_s: Annotated[
        float, typer.Option(help="Longest gap of the result that is bridged to common instants.")
    ] = 0.1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all figures to this JSON file.")
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write all figures to this CSV file, one a row.")
    ] = None,
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
) -> None:
    """Say how far a result is from a reference, joint by joint, and how steady both are."""
    from fitpipe.comparison import compare as measure
    from fitpipe.output import check_writable, refuse_same, write_atomically

    for path in (json_file, csv_file):
        if path is not None:
            check_writable(path.parent)
            refuse_same(path, [result, reference], "one of the files to be compared")
    found = measure(
        result,
        reference,
        skeleton=skeleton,
        markerset=markerset,
        result_markerset=result_markerset,
        max_gap_s=max_gap_s,
        body=body,
        units=units,
        up=up,
        rate_hz=rate_hz,
    )
    print("\n".join(_lines(found)))
    if json_file is not None:
        write_atomically(json_file, (json.dumps(found.to_dict(), indent=1) + "\n").encode())
    if csv_file is not None:
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["quantity", "part", "statistic", "value"])
        rows.writerows([*names, "" if v != v else repr(v)] for *names, v in found.to_rows())
        write_atomically(csv_file, text.getvalue().encode())


def _lines(found: Comparison) -> Iterator[str]:
    from fitpipe.cli.tables import mm, table

    yield (
        f"{found.result} against {found.reference}: {found.n_frames} frames, "
        f"{len(found.joint)} joints, {found.coverage:.1%} of the reference's samples given\n"
    )
    statistics = ("mean_m", "median_m", "p90_m", "rms_m")
    rows = []
    for name, as_is, aligned in (
        ("all joints", found.error, found.aligned),
        *((name, found.joint[name], found.joint_aligned[name]) for name in found.joint),
    ):
        cells = [mm(getattr(summary, s)) for summary in (as_is, aligned) for s in statistics]
        rows.append([name, *cells])
    names = ["mean", "median", "p90", "rms"]
    yield table(["error", *names, *(f"{name}, aligned" for name in names)], rows)
    yield (
        f"\naligned: after one rigid transform, {found.rotation_deg:.2f} degrees and "
        f"{mm(found.translation_m)}\n"
    )
    axes = [
        [axis, mm(value.bias_m), mm(value.rms_m), mm(turned.rms_m)]
        for (axis, value), turned in zip(
            found.axis.items(), found.axis_aligned.values(), strict=True
        )
    ]
    yield table(["axis", "bias", "rms", "rms, aligned"], axes)
    tracks = [
        [
            name,
            mm(track.rms_bone_spread_m, 3),
            f"{track.acceleration_m_s2:.3g} m/s2",
            f"{track.given:.1%}",
        ]
        for name, track in (("result", found.of_result), ("reference", found.of_reference))
    ]
    yield "\n" + table(["", "bone spread", "rms acceleration", "samples given"], tracks)
    yield f"rms difference of the accelerations: {found.acceleration_error_m_s2:.3g} m/s2"
    if found.of_result.bone:
        bones = [
            [name, mm(spread.mean_m), mm(spread.sd_m), mm(other.mean_m), mm(other.sd_m)]
            for (name, spread), other in zip(
                found.of_result.bone.items(), found.of_reference.bone.values(), strict=True
            )
        ]
        headings = ["bone", "length", "sd", "length, reference", "sd, reference"]
        yield "\n" + table(headings, bones)

"""``fitpipe inspect``: what is in a file, everything odd, and what it would map to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitpipe.cli.options import Body, KeepZeros, RateHz, Units, Up

if TYPE_CHECKING:
    from fitpipe.errors import FitpipeError
    from fitpipe.io.inspect import FileReport
    from fitpipe.mapping import Proposal
    from fitpipe.records import Finding

_MOST_GAPS = 12


def inspect(
    files: Annotated[list[Path], typer.Argument(help="Files of any readable format.")],
    body: Body = None,
    units: Units = None,
    up: Up = None,
    rate_hz: RateHz = None,
    keep_zeros: KeepZeros = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    propose: Annotated[
        Path | None,
        typer.Option(help="Write a drafted marker set to this TOML file, to be reviewed."),
    ] = None,
) -> None:
    """Say what is in files: labels, rate, units, axes, gaps, everything odd, and marker set."""
    from fitpipe.errors import ConfigError, FitpipeError
    from fitpipe.io.inspect import inspect_file
    from fitpipe.mapping import propose_markersets

    if propose is not None and propose.suffix != ".toml":
        raise ConfigError(f"--propose {propose}: expected the name of a .toml file")
    options: dict[str, Any] = {
        "body": body, "units": units, "up": up, "rate_hz": rate_hz, "keep_zeros": keep_zeros,
    }  # fmt: skip
    failed = False
    documents: list[dict[str, Any]] = []
    for path in files:
        try:
            reports = inspect_file(path, **options)
        except FitpipeError as error:
            failed = True
            documents.append(_refusal(path, error))
            if not as_json:
                print(f"error: {error}\n", file=sys.stderr)
            continue
        for report in reports:
            proposals = propose_markersets(report.labels)
            odd = [*report.findings, *_mapping_findings(report, proposals)]
            documents.append(_document(report, proposals, odd))
            if not as_json:
                print("\n".join(_lines(report, proposals, odd)) + "\n")
        if propose is not None:
            _write_draft(reports[0], propose)
    if as_json:
        _print_json(documents)
    if failed:
        sys.exit(2)


def _mapping_findings(report: FileReport, proposals: list[Proposal]) -> list[Finding]:
    """What mapping by the best marker set would tell: strays, prefixes, absent joints."""
    from fitpipe.errors import MappingError
    from fitpipe.mapping import map_take
    from fitpipe.records import Finding, Skeleton

    best = next((proposal for proposal in proposals if not proposal.missing), None)
    if best is None:
        return []
    try:
        mapped = map_take(report.take, best.markerset, Skeleton.preset("kinect20"))
    except MappingError as error:
        said = "; ".join((error.problem, *error.faults))
        return [Finding(f"marker set {best.markerset}: {said}", "", "warning", error.hint or "")]
    return list(mapped.repairs[len(report.take.repairs) :])


def _write_draft(report: FileReport, target: Path) -> None:
    from fitpipe.mapping import draft_markerset
    from fitpipe.output import write_atomically

    draft = draft_markerset(report.take)
    write_atomically(target, draft.toml(target.stem, Path(report.path).name).encode())
    doubts = sum(bool(draft.remarks.get(joint)) for joint in draft.joints)
    print(
        f"{target}: {len(draft.joints)} of 20 joints from {draft.basis}, {doubts} to check, "
        f"{len(draft.strays)} labels not used; after review: fitpipe fit ... --markerset {target}",
        file=sys.stderr,
    )


def _refusal(path: Path, error: FitpipeError) -> dict[str, Any]:
    return {
        "path": str(path),
        "error": str(error),
        "findings": [
            {"severity": "error", "what": fault, "done": "not read", "otherwise": error.hint or ""}
            for fault in error.faults or (error.problem,)
        ],
    }


def _document(report: FileReport, proposals: list[Proposal], odd: list[Finding]) -> dict[str, Any]:
    """The report as plain data."""
    plain = {
        name: getattr(report, name)
        for name in (
            "path", "format", "source", "body", "n_frames", "rate_hz", "duration_s", "is_uniform",
            "rate_claimed_hz", "unit", "up_claimed", "up_inferred", "gap_share", "size_m",
        )
    }  # fmt: skip
    return {
        **plain,
        "points": [asdict(point) for point in report.points],
        "metadata": dict(report.metadata),
        "findings": [asdict(finding) for finding in odd],
        "markersets": [
            {
                "markerset": p.markerset,
                "joints": p.n_mapped,
                "of": p.n_joints,
                "missing": list(p.missing),
            }
            for p in proposals
        ],
    }


def _print_json(documents: list[dict[str, Any]]) -> None:
    import json
    import math

    def finite(value: Any) -> Any:
        """JSON has no NaN."""
        if isinstance(value, dict):
            return {key: finite(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [finite(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(finite(documents), indent=1, ensure_ascii=False))


def _lines(report: FileReport, proposals: list[Proposal], odd: list[Finding]) -> Iterator[str]:
    """The report as text, one fact a line."""
    who = f", source {report.source}" + (f", body {report.body}" if report.body else "")
    yield f"{report.path} ({report.format}{who})"
    even = "even" if report.is_uniform else "UNEVEN ticks; the rate is that of the median tick"
    yield (
        f"  time      {report.n_frames} frames, {report.rate_hz:.6g} Hz, "
        f"{report.duration_s:.3f} s, {even}"
    )
    claimed = report.rate_claimed_hz
    if claimed is not None and abs(claimed - report.rate_hz) > 1e-3 * claimed:
        yield f"            the file claims {claimed:.6g} Hz"
    yield f"  unit      {report.unit}"
    size = " x ".join(f"{extent:.2f}" for extent in report.size_m)
    yield f"  size      {size} m (x y z, over all samples)"
    yield (
        f"  up        claimed {report.up_claimed or 'nothing'}, "
        f"inferred {report.up_inferred or 'nothing'}"
    )
    yield f"  points    {len(report.points)}: {', '.join(report.labels)}"
    yield f"  gaps      {report.gap_share:.2%} of all samples"
    gappy = sorted(
        (point for point in report.points if point.gap_share), key=lambda point: -point.gap_share
    )
    for point in gappy[:_MOST_GAPS]:
        yield (
            f"            {point.label}: {point.gap_share:.1%}, longest {point.longest_gap} frames"
        )
    if len(gappy) > _MOST_GAPS:
        yield f"            and {len(gappy) - _MOST_GAPS} more points with gaps"
    for name, value in report.metadata:
        yield f"  {name:<9} {value}"
    if not proposals:
        yield "  maps to   no marker set that comes with fitpipe; draft one with --propose"
    for place, proposal in enumerate(proposals[:3]):
        yield f"  {'maps to' if place == 0 else '      or'}   {proposal}"
    yield f"  odd       {_counted(odd)}"
    for finding in sorted(odd, key=lambda finding: finding.severity != "warning"):
        yield f"  {finding.severity:<9} {finding.what}"
        if finding.done:
            yield f"            done: {finding.done}"
        if finding.otherwise:
            yield f"            otherwise: {finding.otherwise}"


def _counted(odd: list[Finding]) -> str:
    n_warnings = sum(finding.severity == "warning" for finding in odd)
    if not odd:
        return "nothing"
    return f"{n_warnings} warnings, {len(odd) - n_warnings} notes"

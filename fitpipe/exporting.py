"""Exports a fit to the formats of other programs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from fitpipe.angles import skeleton_angles
from fitpipe.errors import OutputError, suggest
from fitpipe.io.axes import up_from_labels
from fitpipe.output import load_fit, recordings, refuse_same, write_atomically
from fitpipe.output.export import FORMATS, Content, ExportFormat
from fitpipe.records import Finding, Fit, SkeletonAngles
from fitpipe.units import parse_axis, parse_length_unit, rotation_to_y_up


def export(
    fit: Fit | str | Path,
    path: str | Path,
    *,
    to: str | None = None,
    up: str | None = None,
    units: str | None = None,
) -> tuple[Finding, ...]:
    """Write a fit in the format of another program.

    The file appears whole or not at all. What each format keeps and loses is in docs/exports.md.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the HDF5 file of one.
    path : path-like
        The file to write, with the ending of its format; missing folders are made.
    to : str, optional
        Name of the format (``"trc"``); by default the ending of ``path`` tells.
    up : str, optional
        Axis that points up in the fit (``"+z"``); the file is turned so that +Y is up. By default
        the axes stay those of the fit.
    units : str, optional
        Length unit of the file, for formats that have a choice (TRC, C3D, BVH).

    Returns
    -------
    tuple of Finding
        First what the format cannot hold, then what is special about this fit.

    Raises
    ------
    OutputError
        The format, unit or axis is not known, the name ends otherwise, the path is that of the fit
        or of one of its inputs, or the file cannot be written.
    MissingExtraError
        The format needs an optional package.
    """
    path = Path(path)
    file_format = find_format(path, to)
    unit = _unit(file_format, units)
    if isinstance(fit, str | Path):
        refuse_same(path, [Path(fit)], "the fit that is to be exported")
        fit = load_fit(fit)
    _refuse_inputs(path, fit)
    findings = [Finding(f"not kept in {file_format.name}", file_format.loses, "note")]
    if up is not None:
        fit = _turned(fit, up)
    else:
        findings += _tilted(fit, file_format)

    def angles() -> SkeletonAngles:
        return fit.angles or skeleton_angles(fit.position, fit.skeleton, fit.bone_length)

    content = Content(fit, path.name, unit, angles, "+y" if up is not None else "")
    data, told = file_format.write(content)
    write_atomically(path, data)
    return (*findings, *told)


def find_format(path: Path | None, to: str | None = None) -> ExportFormat:
    """The format by its name, else by the ending of the path.

    Raises
    ------
    OutputError
        Neither is known, or the two contradict each other.
    """
    if to is not None and to not in FORMATS:
        raise OutputError(f"no format {to!r} to export to", hint=suggest(to, FORMATS))
    ending = "" if path is None else path.suffix.lower()
    known = next(
        (
            known
            for known in FORMATS.values()
            if to == known.name or (not to and ending == known.suffix)
        ),
        None,
    )
    if known is None:
        endings = ", ".join(known.suffix for known in FORMATS.values())
        raise OutputError(
            f"the ending {ending!r} tells no format to export to",
            path=path,
            hint=f"known are {endings}",
        )
    if path is not None and ending != known.suffix:
        raise OutputError(
            f"the name ends in {ending!r}, a file of format {to} in {known.suffix!r}",
            path=path,
            hint=f"call it {path.with_suffix(known.suffix).name}",
        )
    return known


def _unit(file_format: ExportFormat, given: str | None) -> str:
    if given is None:
        return file_format.units[0]
    unit = parse_length_unit(given)
    if unit not in file_format.units:
        raise OutputError(
            f"format {file_format.name} cannot be in {given!r}",
            hint=f"it can be in {', '.join(file_format.units)}",
        )
    return unit


def _refuse_inputs(path: Path, fit: Fit) -> None:
    """Never write over a recording that the fit was made from, under whatever path."""
    if not path.is_file():
        return
    hashes = {row.get("sha256") for row in recordings(fit.provenance)} - {"", None}
    if not hashes:
        return
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() in hashes:
            raise OutputError(
                "is one of the recordings that the fit was made from",
                path=path,
                hint="choose another name",
            )


def _turned(fit: Fit, up: str) -> Fit:
    axis = parse_axis(up)
    if axis is None:
        raise OutputError(f"up axis {up!r} is not known", hint="give one of +x, -x, +y, -y, +z, -z")
    return replace(fit, position=fit.position @ rotation_to_y_up(axis).T, angles=None)


def _tilted(fit: Fit, file_format: ExportFormat) -> list[Finding]:
    """Says where head and feet do not agree with the axis that programs take as up."""
    up = up_from_labels(fit.skeleton.joints, fit.position)
    if not file_format.expects_y_up or up in ("", "+y"):
        return []
    return [
        Finding(
            f"head and feet say {up} is up, programs take +y as up in {file_format.name} files",
            "axes kept as they are",
            otherwise=f"up={up} (--up {up}) turns them",
        )
    ]

"""What an export format is: how it is written, what it keeps and what it cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fitpipe.arrays import IntArray
from fitpipe.records import Finding, Fit, JointStatus, SkeletonAngles

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into one file.

    Parameters
    ----------
    fit : Fit
        Turned, if it was asked for.
    file_name : str
        For formats that name the file in its own header.
    unit : str
        Length unit of the file, a key of ``units.METRES_PER``.
    angles : callable
        Measures how the bones of the fit are turned, for formats that hold turns.
    up : str
        Axis known to point up (``"+y"``); empty if nothing was said about it.
    """

    fit: Fit
    file_name: str
    unit: str
    angles: Callable[[], SkeletonAngles]
    up: str = ""


Written = tuple[bytes, list[Finding]]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format to export to.

    Parameters
    ----------
    name : str
        As given to ``--to``.
    suffix : str
        Ending of its files, with the dot.
    keeps, loses : str
        What of a fit is in the file, and what is not.
    units : tuple of str
        Length units it may be written in, the usual one first.
    write : callable
        Gives the bytes of the file, and findings about this fit: what the file holds in another
        way than the fit does.
    expects_y_up : bool
        Whether programs that read it take +Y as up.
    """

    name: str
    suffix: str
    keeps: str
    loses: str
    units: tuple[str, ...]
    write: Callable[[Content], Written]
    expects_y_up: bool = False


def plain_names(
    names: Sequence[str], *, forbidden: str = "", longest: int = 1000, what: str = "joint"
) -> tuple[list[str], list[Finding]]:
    """Names without control characters and whatever else a format cannot hold; still unique.

    Parameters
    ----------
    names : sequence of str
    forbidden : str
        More characters that become ``_``.
    longest : int
        Bytes of a name, beyond which it is cut.
    what : str
        What the names are of.
    """
    table = {ord(letter): "_" for letter in forbidden}
    plain: list[str] = []
    for name in names:
        base = _CONTROL.sub("_", name).translate(table).strip() or "_"
        new, number = _cut(base, longest), 2
        while new in plain:
            ending = f"_{number}"
            new, number = _cut(base, longest - len(ending)) + ending, number + 1
        plain.append(new)
    changed = [f"{old!r} as {new!r}" for old, new in zip(names, plain, strict=True) if old != new]
    if not changed:
        return plain, []
    return plain, [Finding(f"{what} names the format cannot hold", f"written {_some(changed)}")]


def _cut(name: str, longest: int) -> str:
    return name.encode()[:longest].decode(errors="ignore")


def absences(fit: Fit, done: str) -> list[Finding]:
    """Says how many joint samples are absent, and how the format shows it."""
    absent = np.asarray(fit.status == JointStatus.ABSENT)
    if not absent.any():
        return []
    names = np.array(fit.skeleton.joints)
    always = absent.all(axis=0)
    findings = []
    if always.any():
        findings.append(
            Finding(f"joints without any position: {_some(list(names[always]))}", done, "note")
        )
    n_absent = int(absent[:, ~always].sum())
    if n_absent:
        who = _some(list(names[absent.any(axis=0) & ~always]))
        what = f"{count(n_absent, 'joint sample')} absent ({who})"
        findings.append(Finding(what, done, "note"))
    return findings


def count(n: int, noun: str) -> str:
    """``"1 frame"``, ``"2 frames"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def frame_ranges(frames: IntArray, most: int = 8) -> str:
    """``"3-7, 12"``: frames, counted from 0, as ranges; the first few of them."""
    edges = np.flatnonzero(np.diff(frames) > 1)
    first = np.concatenate([frames[:1], frames[edges + 1]])
    last = np.concatenate([frames[edges], frames[-1:]])
    return _some([f"{a}" if a == b else f"{a}-{b}" for a, b in zip(first, last, strict=True)], most)


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"

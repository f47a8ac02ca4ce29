"""Transforms and bone lengths as the settings ask for them: measured, given or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fitpipe.calibrate.fixed import read_transforms
from fitpipe.calibrate.lengths import estimate_lengths
from fitpipe.calibrate.registration import register, registered_as_given
from fitpipe.calibrate.subject import lengths_from_names, read_lengths
from fitpipe.config import CalibrateConfig
from fitpipe.errors import CalibrationError
from fitpipe.records import BoneLengths, Finding, Skeleton, SourceTransform, Take


def find_transforms(
    takes: Sequence[Take], skeleton: Skeleton, settings: CalibrateConfig
) -> tuple[tuple[SourceTransform, ...], list[Finding]]:
    """Every source into the frame of the first.

    Parameters
    ----------
    takes : sequence of Take
        With the skeleton's joints as labels, on one clock.
    skeleton : Skeleton
    settings : CalibrateConfig

    Raises
    ------
    FitpipeError
        As `register` or `read_transforms`.
    """
    if settings.registration == "estimate":
        return register(takes, mirror=skeleton.mirror)
    if settings.registration == "none":
        return tuple(SourceTransform.identity(take.source) for take in takes), []
    sources = [take.source for take in takes]
    given, findings = read_transforms(Path(settings.registration), sources)
    transforms, remarks = registered_as_given(takes, given)
    return transforms, findings + remarks


def find_lengths(
    takes: Sequence[Take],
    skeleton: Skeleton,
    bone_length_m: npt.ArrayLike | Mapping[str, float] | None,
    settings: CalibrateConfig,
) -> tuple[BoneLengths, list[Finding]]:
    """The bone lengths: those given, else the skeleton's own, else as the settings say.

    Parameters
    ----------
    takes : sequence of Take
        With the skeleton's joints as labels, each on its own clock.
    skeleton : Skeleton
    bone_length_m : array-like of shape (link,) or mapping of bone name to length, metres, optional
    settings : CalibrateConfig

    Raises
    ------
    CalibrationError
        Lengths that do not fit the skeleton.
    """
    findings: list[Finding] = []
    if isinstance(bone_length_m, Mapping):
        lengths = BoneLengths.given(lengths_from_names(bone_length_m, skeleton))
    elif bone_length_m is not None:
        lengths = BoneLengths.given(np.asarray(bone_length_m, dtype=np.float64))
    elif skeleton.bone_length_m is not None:
        lengths = BoneLengths.given(skeleton.bone_length_m)
    elif settings.bone_lengths == "estimate":
        lengths, findings = estimate_lengths(takes, skeleton, symmetric=settings.symmetric)
    else:
        lengths = read_lengths(Path(settings.bone_lengths), skeleton)
    if lengths.length_m.shape != (skeleton.n_links,):
        raise CalibrationError(
            f"bone_length_m has shape {lengths.length_m.shape}, expected ({skeleton.n_links},): "
            f"one length per bone and rigid pair of {skeleton.name!r}, "
            "in the order of Skeleton.bone_names"
        )
    return lengths, findings

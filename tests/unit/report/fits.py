"""Fits made of planted numbers: no solver, so that every statistic can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitpipe.records import (
    BoneLengths,
    Calibration,
    Finding,
    Fit,
    FrameStatus,
    JointStatus,
    Skeleton,
    SourceTransform,
)

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\u2028'\"`${1}{{7*7}}&lt;\\",
)


def planted(
    n_time: int = 60,
    *,
    joints: Sequence[str] = ("Hip", "Knee", "Ankle"),
    sources: Sequence[str] = ("a", "b"),
    name: str = "walk",
    seed: int = 0,
    log: Sequence[Finding] = (),
) -> Fit:
    """A chain of joints 0.4 m apart that moves along x; each source sees it with 10 mm of noise."""
    rng = np.random.default_rng(seed)
    n_joints, n_sources = len(joints), len(sources)
    time_s = 2.0 + np.arange(n_time) / 30
    position = np.zeros((n_time, n_joints, 3))
    position[..., 0] = 0.5 * np.sin(time_s)[:, None]
    position[..., 1] = 1.0 - 0.4 * np.arange(n_joints)
    observation = position[:, None] + rng.normal(0, 0.01, (n_time, n_sources, n_joints, 3))
    return remade(
        Fit(
            name=name,
            skeleton=Skeleton(
                "chain",
                tuple(joints),
                tuple(range(-1, n_joints - 1)),
                bone_length_m=np.full(n_joints - 1, 0.4),
            ),
            sources=tuple(sources),
            time_s=time_s,
            position=position,
            status=np.full((n_time, n_joints), JointStatus.OBSERVED, np.uint8),
            frame_status=np.full(n_time, FrameStatus.CERTIFIED, np.uint8),
            objective=np.ones(n_time),
            objective_start=np.ones(n_time),
            iterations=np.full(n_time, 3),
            worst_bone_error=np.full(n_time, 1e-15),
            multiplier=np.zeros((n_time, n_joints - 1)),
            weight=np.ones((n_time, n_sources, n_joints)),
            doubt=np.zeros((n_time, n_sources, n_joints), np.uint8),
            noise=np.full((n_sources, n_joints), 0.01),
            residual=np.zeros((n_time, n_sources, n_joints)),
            disagreement=np.zeros((n_time, n_joints)),
            calibration=Calibration(
                tuple(SourceTransform.identity(source) for source in sources),
                BoneLengths(
                    np.full(n_joints - 1, 0.4),
                    np.full(n_joints - 1, 0.39),
                    np.full(n_joints - 1, 0.42),
                    np.full(n_joints - 1, 100),
                    "estimated",
                ),
            ),
            provenance={"config": "[solve]\n", "inputs": [{"source": "a", "path": "a.csv"}]},
            log=tuple(log),
            observation=observation,
        )
    )


def remade(fit: Fit, **changes) -> Fit:
    """The fit with some arrays changed, and residual, disagreement and objective made to agree."""
    fields = {**{name: getattr(fit, name) for name in Fit.__dataclass_fields__}, **changes}
    observation = np.asarray(fields["observation"], np.float64)
    off = np.linalg.norm(observation - fields["position"][:, None], axis=-1)
    if "residual" not in changes:
        fields["residual"] = off
    weight = np.where(np.isnan(off), 0.0, fields["weight"])
    fields["weight"] = weight
    if "objective" not in changes:
        fields["objective"] = np.nansum(weight * fields["residual"] ** 2, axis=(1, 2))
    if len(fields["sources"]) == 2 and "disagreement" not in changes:
        fields["disagreement"] = np.linalg.norm(observation[:, 0] - observation[:, 1], axis=-1)
    return Fit(**fields)

"""Fits with planted values: every number of every array is another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from fitpipe.records import (
    BoneLengths,
    Calibration,
    Doubt,
    Finding,
    Fit,
    FrameStatus,
    JointStatus,
    LimitStatus,
    Skeleton,
    SkeletonAngles,
    SourceTransform,
    TwistStatus,
)

SOURCES = ("left", "rechts ü")
N_JOINTS, N_LINKS = 6, 5  # four bones and a rigid pair


def plant(n_time: int) -> Fit:
    """A fit of two people (two roots), two sources, with absent joints and an empty frame."""

    def values(*shape: int, start: float) -> np.ndarray:
        # thirds, so that no value is a round binary number
        return start + np.arange(np.prod(shape, dtype=int)).reshape(shape) / 3

    length = np.array([0.1, 0.2 + 1e-17, np.nan, 1 / 3, 0.7])
    skeleton = Skeleton(
        "pair",
        joints=("Hip", "Knie ß", "Head", "Hip2", "Knee2", "Head2"),
        parents=(-1, 0, 0, -1, 3, 3),
        bone_length_m=length,
        rest_direction=values(N_JOINTS, 3, start=-1.0),
        mirror=((0, 3), (1, 4)),
        rigid_pairs=((2, 5),),
    )
    status = np.full((n_time, N_JOINTS), JointStatus.OBSERVED, np.uint8)
    status[:, 1] = JointStatus.CARRIED
    status[0] = JointStatus.ABSENT
    status[-1, 5] = JointStatus.ABSENT
    position = values(n_time, N_JOINTS, 3, start=0.5)
    position[status == JointStatus.ABSENT] = np.nan
    frame_status = (np.arange(n_time) % len(FrameStatus)).astype(np.uint8)
    objective = values(n_time, start=1e-6)
    objective[0] = np.nan
    residual = values(n_time, len(SOURCES), N_JOINTS, start=0.01)
    residual[1, 0, 2] = np.nan
    turn = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]])
    return Fit(
        name="walk ä",
        skeleton=skeleton,
        sources=SOURCES,
        time_s=np.arange(n_time) / 30,
        position=position,
        status=status,
        frame_status=frame_status,
        objective=objective,
        objective_start=values(n_time, start=2.0),
        iterations=np.arange(n_time) * 7 + 1,
        worst_bone_error=values(n_time, start=1e-12),
        multiplier=values(n_time, N_LINKS, start=-3.0),
        weight=values(n_time, len(SOURCES), N_JOINTS, start=0.25),
        doubt=np.arange(n_time * len(SOURCES) * N_JOINTS).reshape(residual.shape) % len(Doubt),
        noise=values(len(SOURCES), N_JOINTS, start=0.003),
        residual=residual,
        disagreement=values(n_time, N_JOINTS, start=0.02),
        calibration=Calibration(
            (
                SourceTransform.identity(SOURCES[0]),
                SourceTransform(
                    SOURCES[1],
                    turn,
                    np.array([1.0, 2.0, 3.0]),
                    0.012,
                    345,
                    1.001,
                    0.9,
                    -0.25,
                    0.002,
                    1e-5,
                ),
            ),
            BoneLengths(length, length - 0.01, length + 0.02, np.arange(N_LINKS) + 9, "estimated"),
        ),
        provenance={
            "config": '[solve]\nformulation = "per_bone"  # ä\n',
            "inputs": [{"path": "a.csv", "sha256": "0f" * 32}, {"path": "ü.csv", "sha256": None}],
            "versions": {"numpy": "2", "nested": {"deep": [1, 2.5, True]}},
            "seed": 3,
            "empty": "",
        },
        log=(
            Finding("30 samples are infinite", "taken as missing"),
            Finding("the rate is 29.97 Hz", severity="note", otherwise="set rate_hz"),
        ),
        observation=values(n_time, len(SOURCES), N_JOINTS, 3, start=-7.0),
        angles=plant_angles(skeleton, n_time),
    )


def plant_angles(skeleton: Skeleton, n_time: int) -> SkeletonAngles:
    """Angles of a body and four bones, with an absent segment."""
    n_segments = 5

    def values(*shape: int, start: float) -> np.ndarray:
        return start + np.arange(np.prod(shape, dtype=int)).reshape(shape) / 3

    world = values(n_time, n_segments, 4, start=0.7)
    world /= np.linalg.norm(world, axis=-1, keepdims=True)
    euler = values(n_time, n_segments, 3, start=-4.0)
    world[2, 1] = euler[2, 1] = np.nan
    limit = np.tile([-np.inf, np.inf], (n_segments, 3, 1))
    limit[3, 1] = [-0.1, 2 / 3]
    counted = np.arange(n_time * n_segments).reshape(n_time, n_segments)
    return SkeletonAngles(
        skeleton=skeleton,
        preset="own ü",
        segments=("trunk ß", "Knie ß", "Head", "Knee2", "Head2"),
        segment_label=("trunk", "left knee", "neck", "right knee", "other neck"),
        segment_parent=(-1, 0, 0, 2, -1),
        sequence=(("+x", "-y", "+z"), *[("-z", "+x", "-y")] * 4),
        angle_names=(("flexion", "bend", "turn ä"), *[("a", "b", "c")] * 4),
        basis=values(n_segments, 3, 3, start=-1.0),
        rest_direction=values(4, 3, start=-2.0),
        bone_length_m=np.array([0.1, 0.2 + 1e-17, np.nan, 1 / 3]),
        anchor=(0, 3, 4),
        anchor_position_m=values(n_time, 3, 3, start=9.0),
        world_wxyz=world,
        euler_rad=euler,
        is_gimbal=counted % 3 == 0,
        twist_status=counted % len(TwistStatus),
        limit_rad=limit,
        limit_status=counted % len(LimitStatus),
    )


def assert_same(found: Any, expected: Any, where: str = "fit") -> None:
    """Records alike in every field: types, values bit for bit, NaN where NaN."""
    if dataclasses.is_dataclass(expected):
        assert type(found) is type(expected), where
        for field in dataclasses.fields(expected):
            name = field.name
            assert_same(getattr(found, name), getattr(expected, name), f"{where}.{name}")
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, where
        np.testing.assert_array_equal(found, expected, err_msg=where)
    elif isinstance(expected, Mapping):
        assert dict(found) == dict(expected), where
    elif isinstance(expected, tuple) and expected and dataclasses.is_dataclass(expected[0]):
        assert len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    else:
        assert type(found) is type(expected), where
        assert found == expected, where


@pytest.fixture
def small_fit() -> Fit:
    """Seven frames: every dataset is stored plain."""
    return plant(7)


@pytest.fixture
def long_fit() -> Fit:
    """Enough frames for compressed datasets of several chunks."""
    return plant(4000)


@pytest.fixture
def same() -> Callable[..., None]:
    """Comparison of two records, field by field."""
    return assert_same

"""Poses on which other tools were reported to fail, with the values that are right."""

from __future__ import annotations

import time

import numpy as np
import pytest

from fitpipe import angles
from fitpipe.angles import Chain, IkWarning, Joint, solve_ik

from .chains import body

SOLVERS = angles.SOLVERS
ITERATIVE = [name for name in SOLVERS if name != "two_bone"]
LENGTHS = (0.28, 0.25, 0.09)


def arm(kind: str) -> Chain:
    if kind == "planar":
        return Chain.planar(LENGTHS)
    return Chain.from_points([[x, 0, 0] for x in np.cumsum([0, *LENGTHS])])


@pytest.mark.parametrize("kind", ["planar", "ball"])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_out_of_reach_ends_straight_towards_the_target(solver, kind):
    result = solve_ik(arm(kind), [1.0, 1.0, 0.0], solver=solver)
    np.testing.assert_allclose(result.position, [0.4384062043, 0.4384062043, 0], atol=1e-5)
    assert result.error == pytest.approx(0.7942135624, abs=1e-8)
    assert result.status == "closest"


@pytest.mark.parametrize("kind", ["planar", "ball"])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_target_leaving_the_reach_does_not_shake_the_tip(solver, kind):
    target = np.linspace(0.55, 0.80, 251)[:, None] * np.array([1, 1, 0]) / np.sqrt(2)
    # each from the answer before it, as a plain loop would
    chain, q, tips = arm(kind), None, []
    for one in target:
        result = solve_ik(chain, one, solver=solver, q0=q)
        q = result.q
        tips.append(result.position)
    assert np.linalg.norm(np.diff(tips, axis=0), axis=1).max() < 2e-3
    followed = solve_ik(chain, target, solver=solver, follow=True)
    assert np.linalg.norm(np.diff(followed.position, axis=0), axis=1).max() < 2e-3


@pytest.mark.parametrize("kind", ["planar", "ball"])
@pytest.mark.parametrize("target", [20.0, 15.0, 0.0, -25.0])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_target_in_line_with_the_chain_is_reached(solver, target, kind):
    chain = Chain.planar([10, 10, 10])
    if kind == "ball":
        chain = Chain.from_points([[x, 0, 0] for x in (0, 10, 20, 30)])
    result = solve_ik(chain, [target, 0, 0], solver=solver, tolerance_m=0.01)
    assert result.status == "reached"
    assert result.error <= 0.01
    placed = chain.forward(result.q)
    points = np.vstack([placed.joint_m, placed.tip_m])
    np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 10, atol=1e-9)


@pytest.mark.parametrize("kind", ["planar", "ball"])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_tolerance_of_zero_ends(solver, kind):
    chain = arm(kind)
    target = [0.2, 0.3, 0.0] if kind == "planar" else [0.2, 0.3, 0.1]
    solve_ik(chain, target, solver=solver)  # compiled
    began = time.perf_counter()
    result = solve_ik(chain, target, solver=solver, tolerance_m=0.0)
    assert time.perf_counter() - began < 1.0  # the bound of the report; it takes milliseconds
    assert result.error < 1e-6
    assert result.status in ("stalled", "closest") or result.error < 1e-15


def test_the_damped_step_at_a_stretched_arm_is_bounded():
    chain = Chain.planar([1.0, 1.0])
    expected = {
        (0.0, 0): [0.0, 0.0],
        (0.0, 1): [0.03992015968063873, 0.019960079840319365],
        (1e-6, 0): [1.9760479041512406e-06, -4.011976047823246e-06],
        (1e-6, 1): [0.03992015968183591, 0.019960079837918955],
    }
    for (bend, row), step in expected.items():
        J = angles.jacobian(chain, [0.0, bend])
        error = 0.1 * np.eye(2)[row]
        np.testing.assert_allclose(angles.dls_step(J, error, damping=0.1), step, atol=1e-9)
        plain = np.linalg.norm(angles.pinv_step(J, error, max_step_rad=np.inf))
        cut = angles.pinv_step(J, error, max_step_rad=0.5)
        assert np.abs(cut).max() <= 0.5
        if (bend, row) == (1e-6, 0):
            assert plain == pytest.approx(223606.7977980233, rel=1e-6)
            assert np.abs(cut).max() == 0.5


def test_no_damped_step_is_longer_than_its_bound():
    rng = np.random.default_rng(4)
    for _ in range(200):
        J = rng.normal(size=(3, 5)) * np.array([1.0, 1e-3, 1e-9])[:, None]
        error = rng.normal(size=3)
        step = angles.dls_step(J, error, damping=0.1)
        assert np.linalg.norm(step) <= np.linalg.norm(error) / 0.2 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("distance", "knee", "left"),
    [
        (0.82, np.pi, 0.0),
        (0.82 + 1e-12, np.pi, 0.0),
        (0.82 - 1e-12, np.pi, 0.0),
        (1.0, np.pi, 0.18),
        (0.5, 1.3107318540805035, 0.0),
        (0.02, 0.0, 0.0),
        (0.01, 0.0, 0.01),
        (0.0, 0.0, 0.02),
    ],
)
def test_two_bones_are_finite_at_all_distances(distance, knee, left):
    target = distance * np.array([0.6, -0.8, 0.0])
    found = angles.two_bone(target, (0.42, 0.40))
    assert found.inner_angle == pytest.approx(knee, abs=1e-5)
    assert found.error == pytest.approx(left, abs=1e-9)
    for chain in (
        Chain.planar([0.42, 0.40]),
        Chain.from_points([[0, 0, 0], [0.42, 0, 0], [0.82, 0, 0]]),
    ):
        result = solve_ik(chain, target, solver="two_bone")
        assert result.error == pytest.approx(left, abs=1e-9)
        assert result.status == ("reached" if left == 0 else "closest")
        if chain.is_planar:
            assert np.pi - abs(result.q[1]) == pytest.approx(knee, abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_outside_the_limits_is_moved_onto_them(solver):
    chain = Chain.planar([0.42, 0.40], limits_rad=[(-1.5, 1.5), (0.0, 2.5)])
    target = [0.5, -0.3, 0.0]
    result = solve_ik(chain, target, solver=solver, q0=[0.2, -1e-4])
    assert result.status == "reached"
    with pytest.warns(IkWarning, match=r"limits.*joint2 = -0\.5 not in \[0, 2\.5\]"):
        result = solve_ik(chain, target, solver=solver, q0=[0.2, -0.5])
    assert result.status == "reached"


@pytest.mark.parametrize("solver", ["pinv", "dls", "newton", "ccd"])
def test_a_body_that_turns_round_twice_has_continuous_yaw(solver):
    trunk = [
        *(Joint(f"slide{k}", kind="prismatic", axis=axis) for k, axis in enumerate(np.eye(3))),
        Joint("yaw", axis=(0, 1, 0)),
        Joint("pitch", axis=(1, 0, 0), lower=-1.5, upper=1.5),
        Joint("roll", axis=(0, 0, 1)),
    ]
    marks = [
        angles.Effector("roll", offset, name)
        for name, offset in {
            "left hip": (0.09, 0, 0),
            "right hip": (-0.09, 0, 0),
            "neck": (0, 0.5, 0.05),
        }.items()
    ]
    chain = Chain(trunk, marks)
    t = np.linspace(0, 1, 200)
    truth = np.zeros((200, 6))
    truth[:, 2] = t
    truth[:, 3] = 4 * np.pi * t
    truth[:, 4] = 0.1 * np.sin(20 * t)
    result = solve_ik(chain, chain.forward(truth).tip_m, solver=solver, q0=truth[0], follow=True)
    assert np.all(result.is_reached)
    assert np.abs(np.diff(result.q[:, 3])).max() < 0.1
    assert result.q[-1, 3] - result.q[0, 3] == pytest.approx(4 * np.pi, abs=1e-3)


def test_a_body_follows_a_walk_to_a_micrometre():
    chain = body()
    planted = np.cumsum(np.random.default_rng(0).normal(0, 0.01, (60, chain.dof)), axis=0)
    result = solve_ik(chain, chain.forward(planted).tip_m, q0=planted[0], follow=True)
    assert result.error.max() < 1e-6

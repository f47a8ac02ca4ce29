"""What must hold for any arm, any pose and any placing of the base."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fitpipe import angles
from fitpipe.angles import Chain, Effector, Joint, solve_ik

SOLVERS = ("pinv", "dls", "newton", "ccd", "fabrik")


@st.composite
def arms(draw, least=2, most=6):
    """Serial arms of hinges about any axes, with joint values for a target."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    joints = [
        Joint(axis=tuple(rng.normal(size=3)), offset_m=tuple(rng.normal(0, 0.3, 3) * (i > 0)))
        for i in range(n)
    ]
    chain = Chain(joints, [Effector(f"joint{n}", tuple(rng.normal(0, 0.3, 3)))])
    return chain, rng.uniform(-np.pi, np.pi, n), rng


@settings(max_examples=40, deadline=None)
@given(arms())
def test_the_jacobian_of_any_arm_is_the_slope_of_forward(drawn):
    chain, q, _ = drawn
    J = angles.jacobian(chain, q, orientation=True)
    slope = angles.numerical_jacobian(chain, q, orientation=True)
    np.testing.assert_allclose(J, slope, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(arms(least=5), st.sampled_from(SOLVERS))
def test_forward_of_the_solution_is_the_position_and_never_worse_than_the_start(drawn, solver):
    chain, q, _ = drawn
    target = chain.forward(q).tip_m[0]
    result = solve_ik(chain, target, solver=solver)
    np.testing.assert_allclose(chain.forward(result.q).tip_m[0], result.position, atol=1e-12)
    assert abs(np.linalg.norm(result.position - target) - result.error) < 1e-12
    assert result.error <= np.linalg.norm(chain.forward(chain.neutral).tip_m[0] - target) + 1e-12
    if solver in ("dls", "newton"):
        assert result.status == "reached"


@settings(max_examples=25, deadline=None)
@given(arms(least=3), st.sampled_from(SOLVERS))
def test_moving_base_and_target_together_moves_only_the_position(drawn, solver):
    chain, q, rng = drawn
    R = Rotation.random(random_state=rng).as_matrix()
    base = rng.normal(size=3)
    moved = Chain(chain.joints, chain.effectors, base_m=base, base_rotation=R)
    target = chain.forward(q).tip_m[0]
    # few steps: rounding grows along the way, and where it does not converge, more
    here = solve_ik(chain, target, solver=solver, max_iterations=5, restarts=0)
    there = solve_ik(moved, base + R @ target, solver=solver, max_iterations=5, restarts=0)
    np.testing.assert_allclose(there.q, here.q, atol=1e-5)
    np.testing.assert_allclose(there.position, base + R @ here.position, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(arms(least=3), st.sampled_from(SOLVERS), st.floats(0.1, 2.0))
def test_limits_hold_whatever_is_asked(drawn, solver, span):
    chain, _, rng = drawn
    joints = [
        Joint(axis=joint.axis, offset_m=joint.offset_m, lower=-span, upper=span / 2)
        for joint in chain.joints
    ]
    limited = Chain(joints, chain.effectors)
    result = solve_ik(limited, 2 * rng.normal(size=3), solver=solver, restarts=1)
    assert np.all(result.q >= limited.lower)
    assert np.all(result.q <= limited.upper)
    assert np.isfinite(result.error)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.05, 3.0),
    st.floats(0.05, 3.0),
    st.lists(st.floats(-4, 4), min_size=3, max_size=3),
    st.lists(st.floats(-4, 4), min_size=3, max_size=3),
)
def test_two_bones_end_as_near_as_their_lengths_allow(first, second, target, pole):
    found = angles.two_bone(target, (first, second), pole_m=pole)
    assert abs(np.linalg.norm(found.joint_m) - first) < 1e-9
    assert abs(np.linalg.norm(found.tip_m - found.joint_m) - second) < 1e-7
    distance = np.linalg.norm(target)
    least = max(0.0, distance - first - second, abs(first - second) - distance)
    assert abs(found.error - least) < 1e-7
    assert abs(np.linalg.norm(found.tip_m - target) - found.error) < 1e-7

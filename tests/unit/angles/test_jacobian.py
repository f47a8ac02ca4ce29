from __future__ import annotations

import numpy as np
import pytest

from fitpipe import angles
from fitpipe.angles import Chain
from fitpipe.errors import SolveError

from .chains import arm7, body, crane, leg, some_q, tree

CHAINS = {
    "planar 2": lambda: Chain.planar([2.0, 1.5]),
    "planar 3": lambda: Chain.planar([1.0, 0.8, 0.5]),
    "points": lambda: Chain.from_points([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]),
    "arm": arm7,
    "crane": crane,
    "leg": leg,
    "tree": tree,
    "body": body,
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("orientation", [False, True])
def test_the_jacobian_is_the_slope_of_forward(name, orientation):
    chain = CHAINS[name]()
    q = some_q(chain, 5)
    J = angles.jacobian(chain, q, orientation=orientation)
    slope = angles.numerical_jacobian(chain, q, orientation=orientation)
    per_tip = (3 if orientation else 2) if chain.is_planar else (6 if orientation else 3)
    assert J.shape == (5, per_tip * len(chain.effectors), chain.dof)
    np.testing.assert_allclose(J, slope, atol=2e-8)


@pytest.mark.parametrize("name", CHAINS)
def test_gradient_and_hessian_are_the_slopes_of_the_objective(name):
    chain = CHAINS[name]()
    q, wanted = some_q(chain, 2, spread=0.5)
    target = chain.forward(wanted).tip_m
    target = target[0] if len(target) == 1 else target
    step = 1e-5

    def both(at):
        F, gradient, _ = angles.objective_derivatives(chain, at, target)
        return F, gradient

    _, gradient, hessian = angles.objective_derivatives(chain, q, target)
    plus, minus = ([both(q + s * e) for e in step * np.eye(chain.dof)] for s in (1, -1))
    slope = [(a[0] - b[0]) / (2 * step) for a, b in zip(plus, minus, strict=True)]
    bend = [(a[1] - b[1]) / (2 * step) for a, b in zip(plus, minus, strict=True)]
    np.testing.assert_allclose(gradient, slope, atol=1e-7)
    np.testing.assert_allclose(hessian, bend, atol=1e-7)


def test_the_planar_arm_has_the_determinant_of_its_formula():
    chain = Chain.planar([2.0, 1.5])
    theta2 = np.linspace(-np.pi, np.pi, 25)
    q = np.column_stack([np.full_like(theta2, 0.4), theta2])
    J = angles.jacobian(chain, q)
    np.testing.assert_allclose(angles.determinant(J), 3.0 * np.sin(theta2), atol=1e-12)
    np.testing.assert_allclose(angles.manipulability(J), np.abs(angles.determinant(J)), atol=1e-12)
    quarter, straight, folded = angles.determinant(
        angles.jacobian(chain, [[0, np.pi / 2], [0, 0], [0, np.pi]])
    )
    assert quarter == pytest.approx(3.0, abs=1e-12)
    assert abs(straight) < 1e-12
    assert abs(folded) < 1e-12


def test_columns_are_square_to_the_levers():
    J = angles.jacobian(Chain.planar([2.0, 1.5]), [0.0, np.pi / 2])
    np.testing.assert_allclose(J, [[-1.5, -1.5], [2.0, 0.0]], atol=1e-12)


def test_condition_and_distance_tell_a_singular_pose():
    chain = Chain.planar([2.0, 1.5])
    near, at = angles.jacobian(chain, [[0.3, 1e-3], [0.3, 0.0]])
    assert 1e3 < angles.condition_number(near) < 1e5
    assert angles.condition_number(at) > 1e12
    assert angles.singularity_distance(near) == pytest.approx(3e-3 / np.hypot(3.5, 1.5), rel=1e-3)
    assert angles.singularity_distance(at) < 1e-12


def test_manipulability_of_more_rows_than_joints_is_zero():
    J = angles.jacobian(Chain.planar([2.0, 1.5]), [0.3, 0.5], orientation=True)
    assert angles.manipulability(J) == 0.0
    with pytest.raises(SolveError, match=r"3 rows and 2 columns.*manipulability"):
        angles.determinant(J)


def test_a_wrong_number_of_joint_values_is_told():
    with pytest.raises(SolveError, match=r"q has shape \(3,\), expected \(\.\.\., 2\).*joint1"):
        angles.jacobian(Chain.planar([2.0, 1.5]), [1, 2, 3])

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.kernels.graph_ldl import factor, is_definite, solve
from fitpipe.kernels.graph_plan import find_neighbours, make_plan

from .graph_examples import assemble_dense, jacobian, random_graph, spread, tree_pairs
from .tree_examples import KINECT20, random_tree


def packed(plan, dense):
    """The matrix as the kernel wants it; blocks below the diagonal have the later joint's rows."""
    n = len(plan.order)
    blocks = dense.reshape(n, 3, n, 3).transpose(0, 2, 1, 3)
    diagonal = np.zeros((n, 9))
    diagonal[:, :6] = blocks[np.arange(n), np.arange(n)][:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    diagonal[:, 8] = np.abs(diagonal[:, [0, 3, 5]]).sum(axis=1)
    column = np.repeat(plan.order, np.diff(plan.column))
    return diagonal, np.ascontiguousarray(blocks[plan.row, column])


def random_spd(rng, plan):
    """A random positive definite matrix with the pattern of the plan's pairs."""
    n_joints, n_pairs = len(plan.order), len(plan.pair)
    block = rng.normal(size=(n_pairs, 3, 3))
    diagonal = np.array([0.1 * np.eye(3) for _ in range(n_joints)])
    for (a, b), p in zip(plan.pair, block, strict=True):
        diagonal[a] += np.linalg.norm(p, 2) * np.eye(3)
        diagonal[b] += np.linalg.norm(p, 2) * np.eye(3)
    return assemble_dense(plan, block, diagonal)


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_does_not_fill_in(seed):
    parent = random_tree(np.random.default_rng(seed), 60)
    plan = make_plan(60, tree_pairs(parent))
    assert plan.n_fill == 0
    assert len(plan.row) == 59
    assert len(plan.update) == 0
    assert make_plan(20, tree_pairs(KINECT20)).n_fill == 0


def test_a_ring_fills_in_one_block_for_every_joint_beyond_three():
    ring = np.array([[i, (i + 1) % 10] for i in range(10)])
    assert make_plan(10, ring).n_fill == 7


def test_a_pair_listed_twice_either_way_round_has_one_block():
    plan = make_plan(3, np.array([[0, 1], [1, 0], [1, 2]]))
    assert plan.pair_slot[0] == plan.pair_slot[1] != plan.pair_slot[2]
    assert plan.n_fill == 0
    near = find_neighbours(3, np.array([[0, 1], [1, 0], [1, 2]]))
    assert near.first.tolist() == [0, 1, 3, 4]
    assert near.joint.tolist() == [1, 0, 2, 1]


def test_fill_in_of_a_long_body_is_linear_in_its_joints():
    rng = np.random.default_rng(0)
    for n_joints in (64, 512):
        plan = make_plan(n_joints, spread(n_joints, rng, n_joints // 2))
        assert len(plan.row) + len(plan.update) < 4 * n_joints


@pytest.mark.parametrize("seed", range(8))
def test_solutions_equal_the_dense_ones_on_positive_definite_matrices(seed):
    rng = np.random.default_rng(seed)
    n_joints = int(rng.integers(1, 40))
    pairs = random_graph(rng, n_joints, int(rng.integers(0, 2 * n_joints)) if n_joints > 1 else 0)
    plan = make_plan(n_joints, pairs)
    dense = random_spd(rng, plan)
    right = rng.normal(size=(n_joints, 3))
    diagonal, block = packed(plan, dense)
    assert factor(plan, diagonal, block)
    found = right.copy()
    solve(plan, diagonal, block, found)
    expected = np.linalg.solve(dense, right.ravel())
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_bordered_system_is_solved_through_its_schur_complement(seed):
    """[[W, Λᵀ], [Λ, −δ]] with Λ of a graph whose pairs depend on each other (listed twice)."""
    rng = np.random.default_rng(seed)
    n_joints, delta = 12, 0.05
    pairs = random_graph(rng, n_joints, 6)
    pairs = np.concatenate([pairs, pairs[:4]])
    L = jacobian(rng.normal(size=3 * n_joints), pairs)
    W = np.diag(np.repeat(rng.uniform(0.5, 4, n_joints), 3))
    b_p, b_r = rng.normal(size=3 * n_joints), rng.normal(size=len(pairs))
    bordered = np.block([[W, L.T], [L, -delta * np.eye(len(pairs))]])
    expected = np.linalg.solve(bordered, np.concatenate([b_p, b_r]))

    plan = make_plan(n_joints, pairs)
    diagonal, block = packed(plan, W + L.T @ L / delta)
    assert factor(plan, diagonal, block)
    d = (b_p + L.T @ b_r / delta).reshape(-1, 3)
    solve(plan, diagonal, block, d)
    multiplier = (L @ d.ravel() - b_r) / delta
    np.testing.assert_allclose(d.ravel(), expected[: 3 * n_joints], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(multiplier, expected[3 * n_joints :], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_an_indefinite_matrix_is_refused_exactly_where_an_eigenvalue_is_negative(seed):
    rng = np.random.default_rng(seed)
    plan = make_plan(10, random_graph(rng, 10, 5))
    dense = random_spd(rng, plan)
    lowest = np.linalg.eigvalsh(dense)[0]
    for shift, expected in ((0.99, True), (1.01, False)):
        shifted = dense - shift * lowest * np.eye(30)
        assert factor(plan, *packed(plan, shifted)) is expected


@pytest.mark.parametrize("seed", range(20))
def test_definiteness_of_a_matrix_of_scalars_agrees_with_its_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    n_joints = 15
    plan = make_plan(n_joints, random_graph(rng, n_joints, 8))
    kappa = rng.normal(size=len(plan.pair))
    K = np.diag(rng.uniform(1, 4, n_joints))
    for (a, b), k in zip(plan.pair, kappa, strict=True):
        e = np.zeros(n_joints)
        e[a], e[b] = 1.0, -1.0
        K += k * np.outer(e, e)
    lowest = np.linalg.eigvalsh(K)[0]
    column = np.repeat(plan.order, np.diff(plan.column))
    for shift, expected in ((1e-9, True), (-1e-9, False)):
        shifted = K - (lowest - shift) * np.eye(n_joints)
        block = np.ascontiguousarray(shifted[plan.row, column])
        assert is_definite(plan, np.diag(shifted).copy(), block) is expected

"""The banded systems over time against dense linear algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fitpipe.kernels import banded

N_TIME, N_JOINTS = 30, 4


@pytest.fixture(params=[1, 2, 3], ids=lambda q: f"order {q}")
def system(request):
    """A random system with a gap and uneven ticks, and every joint's matrix in full."""
    rng = np.random.default_rng(request.param)
    time_s = np.cumsum(rng.uniform(0.5, 1.5, N_TIME)) / 30
    rows = banded.difference_rows(time_s, request.param)
    is_held = np.ones((N_TIME, N_JOINTS), np.bool_)
    is_held[8:15, 1] = False
    is_held[0, 2] = False
    diagonal = rng.uniform(1, 3, (N_TIME, N_JOINTS))
    penalty = 10.0 ** rng.uniform(-6, -2, N_JOINTS)
    dense = np.zeros((N_JOINTS, N_TIME, N_TIME))
    for j in range(N_JOINTS):
        dense[j] = np.diag(diagonal[:, j])
        for r, row in enumerate(rows):
            d = np.zeros(N_TIME)
            d[r : r + len(row)] = row
            if is_held[r : r + len(row), j].all():
                dense[j] += penalty[j] * np.outer(d, d)
    return rows, is_held, diagonal, penalty, dense


def test_a_factored_system_is_solved_as_a_dense_one(system):
    rows, is_held, diagonal, penalty, dense = system
    right = np.random.default_rng(0).normal(size=(N_TIME, 3, N_JOINTS))
    band = np.empty((N_TIME, rows.shape[1], N_JOINTS))
    banded.assemble(rows, is_held, diagonal, penalty, band)
    banded.factor(band)
    x = right.copy()
    banded.solve(band, x)
    for j in range(N_JOINTS):
        np.testing.assert_allclose(
            x[..., j], np.linalg.solve(dense[j], right[..., j]), rtol=1e-6, atol=1e-9
        )


def test_multiplying_needs_no_matrix(system):
    rows, is_held, diagonal, penalty, dense = system
    x = np.random.default_rng(0).normal(size=(N_TIME, 3, N_JOINTS))
    out = np.empty_like(x)
    banded.multiply(rows, is_held, diagonal, penalty, x, out)
    for j in range(N_JOINTS):
        np.testing.assert_allclose(out[..., j], dense[j] @ x[..., j], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_penalty_is_the_integral_of_the_squared_derivative(order):
    """Of a polynomial of that degree the derivative is constant, so the sum is exact."""
    time_s = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.05, 50))
    rows = banded.difference_rows(time_s, order)
    x = 0.7 * time_s**order
    penalty = sum((row @ x[r : r + order + 1]) ** 2 for r, row in enumerate(rows))
    spans = (time_s[order:] - time_s[:-order]) / order  # their sum is the time but for the ends
    assert penalty == pytest.approx((0.7 * math.factorial(order)) ** 2 * spans.sum(), rel=1e-6)
    for degree in range(order):
        for r, row in enumerate(rows):
            assert abs(row @ time_s[r : r + order + 1] ** degree) < 1e-7 * np.abs(row).sum()


def test_too_few_frames_have_no_differences():
    assert banded.difference_rows(np.arange(3.0), 3).shape == (0, 4)
    assert banded.difference_rows(np.arange(1.0), 3).shape == (0, 4)

"""Small dense algebra of the inverse-kinematics steps, free of allocation."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel

MAX_SWEEPS = 30
ORTHOGONAL = 1e-14


@kernel()
def split_rows(W, U, sigma):
    """Singular values of `W` (row, joint) by one-sided Jacobi rotations of its rows.

    On return W holds sigma_k v_k' in row k and column k of `U` the left vector, so that the
    matrix given was U @ W. Small singular values come out to full relative accuracy.
    """
    m, n = W.shape
    for k in range(m):
        for r in range(m):
            U[r, k] = 1.0 if r == k else 0.0
    for _ in range(MAX_SWEEPS):
        turned = False
        for a in range(m - 1):
            for b in range(a + 1, m):
                aa = 0.0
                bb = 0.0
                ab = 0.0
                for j in range(n):
                    aa += W[a, j] * W[a, j]
                    bb += W[b, j] * W[b, j]
                    ab += W[a, j] * W[b, j]
                if abs(ab) <= ORTHOGONAL * math.sqrt(aa * bb) or ab == 0.0:
                    continue
                turned = True
                zeta = (bb - aa) / (2.0 * ab)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = c * t
                for j in range(n):
                    wa = W[a, j]
                    W[a, j] = c * wa - s * W[b, j]
                    W[b, j] = s * wa + c * W[b, j]
                for k in range(m):
                    ua = U[k, a]
                    U[k, a] = c * ua - s * U[k, b]
                    U[k, b] = s * ua + c * U[k, b]
        if not turned:
            break
    for k in range(m):
        square = 0.0
        for j in range(n):
            square += W[k, j] * W[k, j]
        sigma[k] = math.sqrt(square)


@kernel()
def step_from_rows(W, U, sigma, left, damping2, floor2, step):
    """Sum over k of v_k sigma_k (u_k . left) / max(sigma_k^2 + damping2, floor2) into `step`.

    With a damping this is J' (J J' + damping2 I)^-1 left; with a floor, the pseudo-inverse in
    which small singular values count as the floor. One that vanishes adds nothing.
    """
    for j in range(step.size):
        step[j] = 0.0
    for k in range(sigma.size):
        if sigma[k] == 0.0:
            continue
        along = 0.0
        for r in range(left.size):
            along += U[r, k] * left[r]
        along /= max(sigma[k] ** 2 + damping2, floor2)
        for j in range(step.size):
            step[j] += along * W[k, j]


@kernel()
def solve_positive(H, shift, gradient, free, L, step):
    """(H + shift I) step = -gradient on the free joints by Cholesky; False if not positive."""
    n = H.shape[0]
    for i in range(n):
        if not free[i]:
            continue
        for j in range(i + 1):
            if not free[j]:
                continue
            total = H[i, j]
            if i == j:
                total += shift
            for k in range(j):
                if free[k]:
                    total -= L[i, k] * L[j, k]
            if i == j:
                if total <= 1e-12 * (abs(H[i, i]) + shift):
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    for i in range(n):
        step[i] = 0.0
        if free[i]:
            total = -gradient[i]
            for k in range(i):
                if free[k]:
                    total -= L[i, k] * step[k]
            step[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        if free[i]:
            total = step[i]
            for k in range(i + 1, n):
                if free[k]:
                    total -= L[k, i] * step[k]
            step[i] = total / L[i, i]
    return True

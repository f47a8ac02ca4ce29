"""Sparse LDLᵀ over the plan of a graph: with 3 × 3 blocks for a step, with scalars for K(λ).

The bordered system of a Newton step (formulation.md section 2, with curvature in W),

    [ W   Λᵀ ] [ d  ]   [ b_p ]        Λ_k = (… −u_kᵀ … u_kᵀ …),    δ = 1/ρ > 0,
    [ Λ  −δI ] [ Δλ ] = [ b_λ ]

is eliminated rows of λ first. Their pivots are −δ, so nothing can be singular there however
dependent the constraints are (a bone listed twice, three joints on a line), and what is left is

    (W + ρ ΛᵀΛ) d = b_p + ρ Λᵀ b_λ ,     Δλ = ρ (Λ d − b_λ) ,

one 3 × 3 block a joint and one a pair, which the plan eliminates joint by joint. The signs of its
pivots complete the inertia: all positive means that W is positive definite on the null space of Λ
up to ρ (Gould 1985, doi:10.1007/BF01585660), which makes d a descent direction.

Quasi-definite matrices have an LDLᵀ in any order: Vanderbei (1995), doi:10.1137/0805005.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from fitpipe.kernels._jit import kernel

# A pivot below this share of its joint's diagonal before elimination is rounding.
PIVOT_SHARE = 1e-15

# Rows of `diagonal`, shape (joint, 9). Before factorisation the symmetric block xx xy xz yy yz zz;
# after it the unit lower triangle and the inverse pivots. The last three hold work.
XX, XY, XZ, YY, YZ, ZZ = range(6)
L10, L20, L21, P0, P1, P2 = range(6)


@kernel()
def factor(plan, diagonal, block):
    """Factorise in place; False where a pivot is not positive.

    `block` (slot, 3, 3) holds the rows of the later joint; it becomes Y = A L⁻ᵀ. As Y and the
    pivots, not products with inverses, enter the updates, the elimination is as stable as
    Cholesky's even where a block is nearly singular (a carried knee that swivels freely).
    """
    at = 0
    for p in range(plan.order.shape[0]):
        own = diagonal[plan.order[p]]
        floor = PIVOT_SHARE * own[8]
        if not own[XX] > floor:
            return False
        p0 = 1.0 / own[XX]
        l10 = own[XY] * p0
        l20 = own[XZ] * p0
        yy = own[YY] - l10 * own[XY]
        yz = own[YZ] - l10 * own[XZ]
        zz = own[ZZ] - l20 * own[XZ]
        if not yy > floor:
            return False
        p1 = 1.0 / yy
        l21 = yz * p1
        zz -= l21 * yz
        if not zz > floor:
            return False
        p2 = 1.0 / zz
        own[L10] = l10
        own[L20] = l20
        own[L21] = l21
        own[P0] = p0
        own[P1] = p1
        own[P2] = p2
        low, high = plan.column[p], plan.column[p + 1]
        for s in range(low, high):
            y = block[s]
            for i in range(3):
                y[i, 1] -= l10 * y[i, 0]
                y[i, 2] -= l20 * y[i, 0] + l21 * y[i, 1]
            for t in range(low, s):
                other = block[t]
                into = block[plan.update[at]]
                at += 1
                for i in range(3):
                    w0 = y[i, 0] * p0
                    w1 = y[i, 1] * p1
                    w2 = y[i, 2] * p2
                    for j in range(3):
                        into[i, j] -= w0 * other[j, 0] + w1 * other[j, 1] + w2 * other[j, 2]
            below = diagonal[plan.row[s]]
            k = 0
            for i in range(3):
                w0 = y[i, 0] * p0
                w1 = y[i, 1] * p1
                w2 = y[i, 2] * p2
                for j in range(i, 3):
                    below[k] -= w0 * y[j, 0] + w1 * y[j, 1] + w2 * y[j, 2]
                    k += 1
    return True


@kernel()
def solve(plan, diagonal, block, vector):
    """Solve with the factors of `factor`; `vector` (joint, 3) becomes the solution."""
    n_joints = plan.order.shape[0]
    for p in range(n_joints):
        j = plan.order[p]
        own = diagonal[j]
        v = vector[j]
        v[1] -= own[L10] * v[0]
        v[2] -= own[L20] * v[0] + own[L21] * v[1]
        for s in range(plan.column[p], plan.column[p + 1]):
            y, into = block[s], vector[plan.row[s]]
            w0 = own[P0] * v[0]
            w1 = own[P1] * v[1]
            w2 = own[P2] * v[2]
            for i in range(3):
                into[i] -= y[i, 0] * w0 + y[i, 1] * w1 + y[i, 2] * w2
    for p in range(n_joints - 1, -1, -1):
        j = plan.order[p]
        own = diagonal[j]
        v = vector[j]
        for s in range(plan.column[p], plan.column[p + 1]):
            y, x = block[s], vector[plan.row[s]]
            for i in range(3):
                v[i] -= y[0, i] * x[0] + y[1, i] * x[1] + y[2, i] * x[2]
        v[2] *= own[P2]
        v[1] = v[1] * own[P1] - own[L21] * v[2]
        v[0] = v[0] * own[P0] - own[L10] * v[1] - own[L20] * v[2]


@kernel()
def is_definite(plan, diagonal, block):
    """Whether a matrix of scalars is positive definite; `diagonal` (joint,), `block` (slot,).

    Both are overwritten: by the pivots, and by what eliminating the joints before left of a block.
    """
    at = 0
    for p in range(plan.order.shape[0]):
        pivot = diagonal[plan.order[p]]
        if not pivot > 0.0:
            return False
        low, high = plan.column[p], plan.column[p + 1]
        for s in range(low, high):
            ratio = block[s] / pivot
            for t in range(low, s):
                block[plan.update[at]] -= ratio * block[t]
                at += 1
            diagonal[plan.row[s]] -= ratio * block[s]
    return True

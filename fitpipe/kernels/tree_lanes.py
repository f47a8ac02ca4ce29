"""Joint steps of the tree Newton method, sixteen frames side by side.

Every workspace is flat: a joint owns ``BLOCK`` numbers, ``slot * LANES + lane`` inside its block.
``LANES`` is a compile-time constant, every function is one loop over lanes, and no lane reads
another lane, so LLVM makes vector code and a frame gets the same bits in whichever lane it sits.

Notation: a joint i with parent p has bone direction n, length L, x_i = x_p + L n; A (6), b (3) are
the second- and first-order part of the subtree's quadratic model in the displacement of i; G is the
raw gradient summed over the subtree; kappa = -n.G/L is the curvature of the unit sphere and at a
stationary point equals the multiplier of 1/2 (|x_i - x_p|^2 - L^2).
A bone of length 0 is rigid in that lane: the message passes unchanged (absent joints use this too).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

import math

from fitpipe.kernels._jit import kernel, prefer_widest_vectors

LANES = 16

# Slots of a joint's block, each LANES numbers long; triples are x, y, z.
N = 0  # direction of the bone from the parent
X = 3  # position
M = 6  # target
H = 9  # stiffness
L = 10  # bone length
R = 11  # 1 / bone length, 0 where the length is 0
W = 12  # (3x2) A T M^-1, the parent's influence on the bone
Z = 18  # (2) M^-1 T' b
KAPPA = 20
A = 21  # (6) xx xy xz yy yz zz, message to the parent
B = 27  # message to the parent
G = 30  # message to the parent
BLOCK = 33 * LANES
# Messages live on the way up, these on the way down, in the same memory.
D = A  # Newton displacement
OLD = B  # what the last step replaced: direction, for a root the position

# Slots of the lanes' own block.
TAU = 0  # step factor
J = 1  # objective of the latest positions
DECREASE = 2  # g' H^-1 g of the modified Hessian H: minus the slope along the step
STEP2 = 3  # squared length of the step before it is carried down the tree
WARY = 4  # steps still to be taken without negative curvature
OBJECTIVE = 5  # of the accepted positions; infinite before the first
CLOSE2 = 6  # squared step that counts as arrived
ROUND = 7  # Newton steps tried
REJECTED = 8  # 1 where the latest step is to be undone
CODE = 9  # GOING, IDLE, or how the frame ended
OBJECTIVE_START = 10  # of the first positions
NOTHING = 11  # objective below which every joint is on its target
CENTRE = 12  # subtracted from the targets, x, y, z
ROUGH = 15  # squared decrease that rounding of the positions hides, over J0
LANE_BLOCK = 16 * LANES

GOING = 0.0
IDLE = 1.0
ARRIVED = 2.0
STUCK = 3.0
LIMIT = 4.0

# A curvature below this share of its joint's stiffness counts as none (a carried elbow's swivel).
CURVATURE_FLOOR = 1e-6
# A bone may turn by about the inverse of this in a step, radians.
TURN = 1.0
# A leaf nearer to its joint than this share of the bone keeps the Gauss-Newton model.
LEAF_FLOOR = 1e-3
TINY = 1e-300


@kernel()
def clear_sums(lane):
    for at in range(LANES):
        lane[DECREASE * LANES + at] = 0.0
        lane[STEP2 * LANES + at] = 0.0


@kernel()
def add_message(into, message):
    """Add a further child's message to the first child's."""
    prefer_widest_vectors()
    for at in range(12 * LANES):
        into[A * LANES + at] += message[A * LANES + at]


@kernel()
def up_leaf(own, lane):
    """Message of an end joint whose bone already points at its target (see `down_leaf`)."""
    prefer_widest_vectors()
    for at in range(LANES):
        n0 = own[N * LANES + at]
        n1 = own[(N + 1) * LANES + at]
        n2 = own[(N + 2) * LANES + at]
        h = own[H * LANES + at]
        r = own[R * LANES + at]
        g0 = h * (own[X * LANES + at] - own[M * LANES + at])
        g1 = h * (own[(X + 1) * LANES + at] - own[(M + 1) * LANES + at])
        g2 = h * (own[(X + 2) * LANES + at] - own[(M + 2) * LANES + at])
        kappa = -(n0 * g0 + n1 * g1 + n2 * g2) * r
        stiffness = h + (kappa if lane[WARY * LANES + at] == 0.0 else max(kappa, 0.0))
        stiffness = stiffness if stiffness > LEAF_FLOOR * h else h
        c = h * h / (stiffness + TINY)
        c = c if r > 0.0 else 0.0
        a = h - c
        own[A * LANES + at] = a + c * n0 * n0
        own[(A + 1) * LANES + at] = c * n0 * n1
        own[(A + 2) * LANES + at] = c * n0 * n2
        own[(A + 3) * LANES + at] = a + c * n1 * n1
        own[(A + 4) * LANES + at] = c * n1 * n2
        own[(A + 5) * LANES + at] = a + c * n2 * n2
        own[B * LANES + at] = g0
        own[(B + 1) * LANES + at] = g1
        own[(B + 2) * LANES + at] = g2
        own[G * LANES + at] = g0
        own[(G + 1) * LANES + at] = g1
        own[(G + 2) * LANES + at] = g2
        own[KAPPA * LANES + at] = kappa


@kernel()
def up_inner(own, child, lane):
    """Eliminate the bone above a joint that has children; `child` holds their summed message."""
    prefer_widest_vectors()
    for at in range(LANES):
        n0 = own[N * LANES + at]
        n1 = own[(N + 1) * LANES + at]
        n2 = own[(N + 2) * LANES + at]
        h = own[H * LANES + at]
        r = own[R * LANES + at]
        g0 = h * (own[X * LANES + at] - own[M * LANES + at])
        g1 = h * (own[(X + 1) * LANES + at] - own[(M + 1) * LANES + at])
        g2 = h * (own[(X + 2) * LANES + at] - own[(M + 2) * LANES + at])
        a00 = child[A * LANES + at] + h
        a01 = child[(A + 1) * LANES + at]
        a02 = child[(A + 2) * LANES + at]
        a11 = child[(A + 3) * LANES + at] + h
        a12 = child[(A + 4) * LANES + at]
        a22 = child[(A + 5) * LANES + at] + h
        b0 = child[B * LANES + at] + g0
        b1 = child[(B + 1) * LANES + at] + g1
        b2 = child[(B + 2) * LANES + at] + g2
        g0 += child[G * LANES + at]
        g1 += child[(G + 1) * LANES + at]
        g2 += child[(G + 2) * LANES + at]
        kappa = -(n0 * g0 + n1 * g1 + n2 * g2) * r

        # Tangent basis (Duff et al. 2017), zero where the bone is rigid.
        live = 1.0 if r > 0.0 else 0.0
        sign = math.copysign(1.0, n2)
        u = -live / (sign + n2)
        v = n0 * n1 * u
        s0 = live + sign * n0 * n0 * u
        s1 = sign * v
        s2 = -live * sign * n0
        t0 = v
        t1 = live * sign + n1 * n1 * u
        t2 = -live * n1
        p0 = a00 * s0 + a01 * s1 + a02 * s2
        p1 = a01 * s0 + a11 * s1 + a12 * s2
        p2 = a02 * s0 + a12 * s1 + a22 * s2
        q0 = a00 * t0 + a01 * t1 + a02 * t2
        q1 = a01 * t0 + a11 * t1 + a12 * t2
        q2 = a02 * t0 + a12 * t1 + a22 * t2
        m00 = s0 * p0 + s1 * p1 + s2 * p2
        m01 = s0 * q0 + s1 * q1 + s2 * q2
        m11 = t0 * q0 + t1 * q1 + t2 * q2

        r0 = s0 * b0 + s1 * b1 + s2 * b2
        r1 = t0 * b0 + t1 * b1 + t2 * b2

        # Exact curvature while the block stays safely positive definite; else max(kappa, 0); where
        # even that is not enough, the lowest eigenvalue is lifted to the floor, or mirrored.
        scale = abs(a00) + abs(a11) + abs(a22) + TINY
        half = 0.5 * (m00 - m11)
        lowest = 0.5 * (m00 + m11) - math.sqrt(half * half + m01 * m01)
        floor = CURVATURE_FLOOR * scale + TURN * (abs(r0) + abs(r1)) * r - lowest
        cautious = max(kappa, 0.0)
        exact = kappa if lane[WARY * LANES + at] == 0.0 else cautious
        cautious = cautious if cautious > floor else floor + max(0.0, -2.0 * (lowest + cautious))
        k = exact if exact > floor else cautious
        k = k if r > 0.0 else 1.0

        c00 = m00 + k
        c11 = m11 + k
        inverse = 1.0 / (c00 * c11 - m01 * m01)
        i00 = c11 * inverse
        i01 = -m01 * inverse
        i11 = c00 * inverse
        w0 = p0 * i00 + q0 * i01
        w1 = p1 * i00 + q1 * i01
        w2 = p2 * i00 + q2 * i01
        w3 = p0 * i01 + q0 * i11
        w4 = p1 * i01 + q1 * i11
        w5 = p2 * i01 + q2 * i11
        z0 = i00 * r0 + i01 * r1
        z1 = i01 * r0 + i11 * r1
        own[W * LANES + at] = w0
        own[(W + 1) * LANES + at] = w1
        own[(W + 2) * LANES + at] = w2
        own[(W + 3) * LANES + at] = w3
        own[(W + 4) * LANES + at] = w4
        own[(W + 5) * LANES + at] = w5
        own[Z * LANES + at] = z0
        own[(Z + 1) * LANES + at] = z1
        own[A * LANES + at] = a00 - w0 * p0 - w3 * q0
        own[(A + 1) * LANES + at] = a01 - w0 * p1 - w3 * q1
        own[(A + 2) * LANES + at] = a02 - w0 * p2 - w3 * q2
        own[(A + 3) * LANES + at] = a11 - w1 * p1 - w4 * q1
        own[(A + 4) * LANES + at] = a12 - w1 * p2 - w4 * q2
        own[(A + 5) * LANES + at] = a22 - w2 * p2 - w5 * q2
        own[B * LANES + at] = b0 - w0 * r0 - w3 * r1
        own[(B + 1) * LANES + at] = b1 - w1 * r0 - w4 * r1
        own[(B + 2) * LANES + at] = b2 - w2 * r0 - w5 * r1
        own[G * LANES + at] = g0
        own[(G + 1) * LANES + at] = g1
        own[(G + 2) * LANES + at] = g2
        own[KAPPA * LANES + at] = kappa
        lane[DECREASE * LANES + at] += r0 * z0 + r1 * z1
        lane[STEP2 * LANES + at] += z0 * z0 + z1 * z1


@kernel()
def up_root(own, child, lane):
    """Displacement of a root: LDL' with pivots kept positive (their absolute value, floored)."""
    prefer_widest_vectors()
    for at in range(LANES):
        h = own[H * LANES + at]
        a00 = child[A * LANES + at] + h
        a01 = child[(A + 1) * LANES + at]
        a02 = child[(A + 2) * LANES + at]
        a11 = child[(A + 3) * LANES + at] + h
        a12 = child[(A + 4) * LANES + at]
        a22 = child[(A + 5) * LANES + at] + h
        e0 = own[X * LANES + at] - own[M * LANES + at]
        e1 = own[(X + 1) * LANES + at] - own[(M + 1) * LANES + at]
        e2 = own[(X + 2) * LANES + at] - own[(M + 2) * LANES + at]
        b0 = child[B * LANES + at] + h * e0
        b1 = child[(B + 1) * LANES + at] + h * e1
        b2 = child[(B + 2) * LANES + at] + h * e2
        floor = CURVATURE_FLOOR * (abs(a00) + abs(a11) + abs(a22)) + TINY
        i0 = 1.0 / max(abs(a00), floor)
        l1 = a01 * i0
        l2 = a02 * i0
        c11 = a11 - l1 * a01
        c12 = a12 - l1 * a02
        i1 = 1.0 / max(abs(c11), floor)
        l3 = c12 * i1
        i2 = 1.0 / max(abs(a22 - l2 * a02 - l3 * c12), floor)
        y1 = b1 - l1 * b0
        y2 = b2 - l2 * b0 - l3 * y1
        d2 = -y2 * i2
        d1 = -y1 * i1 - l3 * d2
        d0 = -b0 * i0 - l1 * d1 - l2 * d2
        own[D * LANES + at] = d0
        own[(D + 1) * LANES + at] = d1
        own[(D + 2) * LANES + at] = d2
        lane[DECREASE * LANES + at] += b0 * b0 * i0 + y1 * y1 * i1 + y2 * y2 * i2
        lane[STEP2 * LANES + at] += d0 * d0 + d1 * d1 + d2 * d2


@kernel()
def down_root(own, lane):
    prefer_widest_vectors()
    for at in range(LANES):
        tau = lane[TAU * LANES + at]
        h = own[H * LANES + at]
        o0 = own[X * LANES + at]
        o1 = own[(X + 1) * LANES + at]
        o2 = own[(X + 2) * LANES + at]
        # tau = 0 is a frame's first round: D is then another frame's and may be anything.
        x0 = o0 + (tau * own[D * LANES + at] if tau > 0.0 else 0.0)
        x1 = o1 + (tau * own[(D + 1) * LANES + at] if tau > 0.0 else 0.0)
        x2 = o2 + (tau * own[(D + 2) * LANES + at] if tau > 0.0 else 0.0)
        e0 = x0 - own[M * LANES + at]
        e1 = x1 - own[(M + 1) * LANES + at]
        e2 = x2 - own[(M + 2) * LANES + at]
        own[OLD * LANES + at] = o0
        own[(OLD + 1) * LANES + at] = o1
        own[(OLD + 2) * LANES + at] = o2
        own[X * LANES + at] = x0
        own[(X + 1) * LANES + at] = x1
        own[(X + 2) * LANES + at] = x2
        lane[J * LANES + at] += 0.5 * h * (e0 * e0 + e1 * e1 + e2 * e2)


@kernel()
def down_inner(own, up, lane):
    """Turn the bone by tau times its Newton step and place the joint; `up` is its parent."""
    prefer_widest_vectors()
    for at in range(LANES):
        n0 = own[N * LANES + at]
        n1 = own[(N + 1) * LANES + at]
        n2 = own[(N + 2) * LANES + at]
        h = own[H * LANES + at]
        length = own[L * LANES + at]
        r = own[R * LANES + at]
        d0 = up[D * LANES + at]
        d1 = up[(D + 1) * LANES + at]
        d2 = up[(D + 2) * LANES + at]
        z0 = -own[Z * LANES + at] - own[W * LANES + at] * d0
        z0 = z0 - own[(W + 1) * LANES + at] * d1 - own[(W + 2) * LANES + at] * d2
        z1 = -own[(Z + 1) * LANES + at] - own[(W + 3) * LANES + at] * d0
        z1 = z1 - own[(W + 4) * LANES + at] * d1 - own[(W + 5) * LANES + at] * d2
        live = 1.0 if r > 0.0 else 0.0
        sign = math.copysign(1.0, n2)
        u = -live / (sign + n2)
        v = n0 * n1 * u
        w0 = (live + sign * n0 * n0 * u) * z0 + v * z1
        w1 = sign * v * z0 + (live * sign + n1 * n1 * u) * z1
        w2 = -live * (sign * n0 * z0 + n1 * z1)
        own[D * LANES + at] = d0 + w0
        own[(D + 1) * LANES + at] = d1 + w1
        own[(D + 2) * LANES + at] = d2 + w2
        # Cayley retraction: stays on the unit sphere without a square root, agrees with the
        # exponential map to second order.
        turn = lane[TAU * LANES + at] * r
        w0 = w0 * turn if turn > 0.0 else 0.0
        w1 = w1 * turn if turn > 0.0 else 0.0
        w2 = w2 * turn if turn > 0.0 else 0.0
        q = 0.25 * (w0 * w0 + w1 * w1 + w2 * w2)
        c = 1.0 / (1.0 + q)
        keep = (1.0 - q) * c
        own[OLD * LANES + at] = n0
        own[(OLD + 1) * LANES + at] = n1
        own[(OLD + 2) * LANES + at] = n2
        n0 = keep * n0 + c * w0
        n1 = keep * n1 + c * w1
        n2 = keep * n2 + c * w2
        x0 = up[X * LANES + at] + length * n0
        x1 = up[(X + 1) * LANES + at] + length * n1
        x2 = up[(X + 2) * LANES + at] + length * n2
        e0 = x0 - own[M * LANES + at]
        e1 = x1 - own[(M + 1) * LANES + at]
        e2 = x2 - own[(M + 2) * LANES + at]
        own[N * LANES + at] = n0
        own[(N + 1) * LANES + at] = n1
        own[(N + 2) * LANES + at] = n2
        own[X * LANES + at] = x0
        own[(X + 1) * LANES + at] = x1
        own[(X + 2) * LANES + at] = x2
        lane[J * LANES + at] += 0.5 * h * (e0 * e0 + e1 * e1 + e2 * e2)


@kernel()
def down_leaf(own, up, lane):
    """Point an end bone straight at its target: its best direction for any place of its parent."""
    prefer_widest_vectors()
    for at in range(LANES):
        h = own[H * LANES + at]
        length = own[L * LANES + at]
        o0 = own[N * LANES + at]
        o1 = own[(N + 1) * LANES + at]
        o2 = own[(N + 2) * LANES + at]
        p0 = up[X * LANES + at]
        p1 = up[(X + 1) * LANES + at]
        p2 = up[(X + 2) * LANES + at]
        m0 = own[M * LANES + at]
        m1 = own[(M + 1) * LANES + at]
        m2 = own[(M + 2) * LANES + at]
        q0 = m0 - p0
        q1 = m1 - p1
        q2 = m2 - p2
        distance2 = q0 * q0 + q1 * q1 + q2 * q2
        apart = distance2 > 1e-20 * length * length
        inverse = 1.0 / math.sqrt(distance2 if apart else 1.0)
        n0 = q0 * inverse if apart else o0
        n1 = q1 * inverse if apart else o1
        n2 = q2 * inverse if apart else o2
        x0 = p0 + length * n0
        x1 = p1 + length * n1
        x2 = p2 + length * n2
        e0 = x0 - m0
        e1 = x1 - m1
        e2 = x2 - m2
        own[OLD * LANES + at] = o0
        own[(OLD + 1) * LANES + at] = o1
        own[(OLD + 2) * LANES + at] = o2
        own[N * LANES + at] = n0
        own[(N + 1) * LANES + at] = n1
        own[(N + 2) * LANES + at] = n2
        own[X * LANES + at] = x0
        own[(X + 1) * LANES + at] = x1
        own[(X + 2) * LANES + at] = x2
        lane[J * LANES + at] += 0.5 * h * (e0 * e0 + e1 * e1 + e2 * e2)

"""Cases about inverse kinematics."""

from __future__ import annotations

import time

import numpy as np
import pytest

import fitpipe as fp
from fitpipe import angles
from fitpipe.angles import Chain, IkWarning, Joint, solve_ik

from .catalogue import Case

ITERATIVE = [name for name in angles.SOLVERS if name != "two_bone"]


def line(lengths: list[float]) -> Chain:
    return Chain.from_points([[x, 0, 0] for x in np.cumsum([0, *lengths])])


def unreachable(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    chain = line(numbers["lengths"])
    for solver in ITERATIVE:
        found = solve_ik(chain, numbers["target"], solver=solver)
        assert np.abs(found.position - values["tip"]).max() < values["tip_tol_m"]
        assert found.error == pytest.approx(values["error_m"], abs=1e-6)
        assert found.status == "closest"
        sweep = solve_ik(chain, numbers["sweep_targets"], solver=solver, follow=True)
        step = np.linalg.norm(np.diff(sweep.position, axis=0), axis=1)
        assert step.max() <= values["tip_step_max_m"]


def in_line(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    for solver in ITERATIVE:
        for target in numbers["targets"]:
            chain = Chain.from_points(numbers["joints"])
            found = solve_ik(chain, target, solver=solver, tolerance_m=numbers["tolerance"])
            assert found.error <= values["tip_error_max"]
            placed = chain.forward(found.q)
            bones = np.diff(np.vstack([placed.joint_m, placed.tip_m]), axis=0)
            assert np.abs(np.linalg.norm(bones, axis=1) - 10).max() < values["length_tol"]


def zero_tolerance(case: Case) -> None:
    numbers = case.numbers()
    chain = line(numbers["lengths"])
    for solver in ITERATIVE:
        solve_ik(chain, numbers["target"], solver=solver)  # compiled
        began = time.perf_counter()
        found = solve_ik(chain, numbers["target"], solver=solver, tolerance_m=numbers["tolerance"])
        # the bound of the case; it takes milliseconds
        assert time.perf_counter() - began < case.values["max_seconds"]
        assert found.status in ("stalled", "closest", "reached")
        assert found.error < 1e-6


def two_bones(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    for row in values["rows"]:
        target = row["distance"] * np.array(numbers["direction"])
        found = angles.two_bone(target, numbers["lengths"])
        assert found.inner_angle == pytest.approx(row["knee_angle"], abs=1e-5)
        assert found.error == pytest.approx(row["tip_error"], abs=1e-9)
        assert row["reachable"] == (found.error < 1e-9)


def singular(case: Case) -> None:
    numbers, values = case.numbers(), case.values
    chain = Chain.planar(numbers["lengths"])
    for run, expected in zip(numbers["runs"], values["dls_steps"], strict=True):
        J = angles.jacobian(chain, run["q"])[:2]
        error = np.array(run["error"])
        step = angles.dls_step(J, error, damping=numbers["lambda"])
        assert np.abs(step - expected).max() < values["tol"]
        assert np.linalg.norm(step) <= values["dls_step_bound"]
        limit = values["pinv_step_bound"]
        assert np.linalg.norm(angles.pinv_step(J, error, max_step_rad=limit)) <= limit * 2**0.5


def start_outside(case: Case) -> None:
    numbers = case.numbers()
    chain = Chain.planar(numbers["lengths"], limits_rad=numbers["limits"])
    near, far = numbers["starts"]
    for solver in angles.SOLVERS:
        assert solve_ik(chain, numbers["target"], solver=solver, q0=near).is_reached
        with pytest.warns(IkWarning, match=r"limits.*-0\.5 not in \[0, 2\.5\]"):
            assert solve_ik(chain, numbers["target"], solver=solver, q0=far).is_reached


def turning(case: Case) -> None:
    fit = fp.fit(fp.read_take(case.files[0]))
    hips = [fit.skeleton.joints.index(name) for name in ("HipLeft", "HipRight", "ShoulderCenter")]
    target = fit.position[:, hips]
    middle = target[0].mean(axis=0)
    trunk = [
        *(Joint(f"slide{k}", kind="prismatic", axis=axis) for k, axis in enumerate(np.eye(3))),
        Joint("yaw", axis=(0, 1, 0)),
        Joint("pitch", axis=(1, 0, 0), lower=-1.5, upper=1.5),
        Joint("roll", axis=(0, 0, 1)),
    ]
    marks = [
        angles.Effector("roll", offset, name)
        for name, offset in zip(("left", "right", "neck"), target[0] - middle, strict=True)
    ]
    start = np.array([*middle, 0, 0, 0])
    found = solve_ik(Chain(trunk, marks), target, q0=start, follow=True)
    yaw = found.q[:, 3]
    assert np.abs(np.diff(yaw)).max() < case.values["yaw_step_max_rad"]
    total = yaw[-1] - yaw[0]
    assert abs(total - case.values["yaw_total_rad"]) < case.values["yaw_total_tol_rad"]


IK = {
    "ik-unreachable": unreachable,
    "ik-fabrik-line": in_line,
    "ik-cap": zero_tolerance,
    "ik-twobone": two_bones,
    "ik-singular": singular,
    "ik-start-limits": start_outside,
    "ik-wrap": turning,
}

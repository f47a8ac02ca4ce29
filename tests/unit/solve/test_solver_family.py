"""Every problem with every formulation, curvature and search: it converges or says why not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fitpipe.config import SolveConfig
from fitpipe.kernels.tree_newton import DEFAULT_REST, fit_tree
from fitpipe.records import FrameStatus
from fitpipe.solve.formulations import FORMULATIONS
from fitpipe.solve.frames_loop import fit_loop, make_search
from fitpipe.solve.loop import advance, begin

from ..kernels.tree_examples import KINECT20, hard_sets, kinect_frames
from .family_examples import frames_of

N_FRAMES = 3
REST = np.tile(DEFAULT_REST, (20, 1))


def problems():
    """Name -> (target, stiffness, length, parent)."""
    table = {
        name: (target, stiffness, length, KINECT20)
        for name, (target, stiffness, length) in hard_sets(N_FRAMES).items()
    }
    target, h = kinect_frames(N_FRAMES), np.full((N_FRAMES, 20), 4.0)
    length = table["folded limbs"][2]
    one = np.where(np.arange(20) == 7, h, 0.0)
    two = np.where(np.isin(np.arange(20), [7, 15]), h, 0.0)
    forest = KINECT20.copy()
    forest[[4, 12]] = -1
    late = np.where(np.arange(N_FRAMES)[:, None] > 0, h, 0.0)
    flat = target * [1, 1, 0]
    return table | {
        "ordinary noise": (target, h, length, KINECT20),
        "exact data": (kinect_frames(N_FRAMES, noise_m=0.0), h, length, KINECT20),
        "one joint seen": (target, one, length, KINECT20),
        "a hand and a foot seen": (target, two, length, KINECT20),
        "nothing in the first frame": (target, late, length, KINECT20),
        "three trees": (target, h, length, forest),
        "all in one plane": (flat, h, length, KINECT20),
        "weights from 1e-3 to 1e3": (target, h * 10.0 ** np.linspace(-3, 3, 20), length, KINECT20),
    }  # fmt: skip


PROBLEMS = problems()
SOLVERS = {
    f"{formulation}, {curvature}, {search}{', reverse' if reverse else ''}": SolveConfig(
        formulation=formulation,
        curvature=curvature,
        line_search=search,
        reverse=reverse,
        stop_step_m=1e-4 if reverse else 1e-7,
        max_iterations=12 if formulation == "per_axis" else 40,
    )
    for formulation, curvature, search, reverse in itertools.product(
        FORMULATIONS, ("exact", "none"), ("halving", "golden"), (False, True)
    )
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_converges_or_says_why_not(name, solver):
    target, stiffness, length, parent = PROBLEMS[name]
    settings = SOLVERS[solver]
    with np.errstate(all="raise", under="ignore"):
        fit = fit_loop(target, stiffness, length, parent, rest=REST, settings=settings)
    kernel = fit_tree(target, stiffness, length, parent, rest=REST)

    np.testing.assert_array_equal(fit.active, kernel.active)
    np.testing.assert_array_equal(np.isnan(fit.position).any(axis=-1), ~fit.active)
    np.testing.assert_array_equal(np.isnan(fit.multiplier), np.isnan(kernel.multiplier))
    has_data = fit.active.any(axis=1)
    np.testing.assert_array_equal(fit.outcome == FrameStatus.NO_DATA, ~has_data)
    for array in (fit.objective, fit.objective_start, fit.worst_bone_error):
        np.testing.assert_array_equal(np.isnan(array), ~has_data)
    if (length[1:] > 0).all():  # else the loop starts from joined joints
        start = kernel.objective_start
        np.testing.assert_allclose(fit.objective_start, start, rtol=1e-9, atol=1e-12)

    is_limit = fit.outcome == FrameStatus.ITERATION_LIMIT
    assert (fit.iterations[is_limit] == settings.max_iterations).all()
    assert (fit.iterations <= settings.max_iterations).all()
    proven = fit.outcome == FrameStatus.CERTIFIED
    converged = proven | (fit.outcome == FrameStatus.STATIONARY)
    assert (fit.worst_bone_error[converged] <= settings.stop_step_m).all()
    # bones that give way by the tolerance win their multiplier times it, and nothing more
    give = 2 * settings.stop_step_m * np.nansum(np.abs(fit.multiplier), axis=1) + 1e-12
    assert (np.abs(fit.objective - kernel.objective) <= give)[proven].all()
    if name == "exact data" and "per_axis" not in solver:
        assert converged.all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_default_reading_converges_in_the_loop_too(name):
    target, stiffness, length, parent = PROBLEMS[name]
    fit = fit_loop(
        target, stiffness, length, parent, rest=REST, settings=SolveConfig(line_search="golden")
    )
    has_data = fit.active.any(axis=1)
    assert np.isin(fit.outcome[has_data], [FrameStatus.CERTIFIED, FrameStatus.STATIONARY]).all()


@pytest.mark.parametrize(
    "solver", [name for name, settings in SOLVERS.items() if not settings.reverse]
)
@pytest.mark.parametrize("name", ["ordinary noise", "20% outliers of 0.5 m", "40% missing"])
def test_without_reversing_the_merit_never_rises(name, solver):
    settings = SOLVERS[solver]
    frames, rigid = frames_of(*PROBLEMS[name])
    formulation = FORMULATIONS[settings.formulation](settings.curvature)
    state = begin(formulation, frames, rigid)
    fell = np.zeros(len(rigid), np.bool_)
    for _ in range(12):
        new = advance(formulation, make_search(settings), frames, state, settings.stop_step_m)
        before, after = state.now.merit(new.weight), new.now.merit(new.weight)
        assert (after <= before * (1 + 1e-13)).all()
        assert (new.best.merit(new.weight) <= after).all()
        assert (new.weight >= np.abs(new.now.multiplier).max(axis=1)).all()
        fell |= after < before
        state = new
    assert fell.all()

"""Where formulations must agree, where they cannot, and what the source's own search comes to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.config import SolveConfig
from fitpipe.kernels.tree_newton import DEFAULT_REST, fit_tree
from fitpipe.records import FrameStatus, Skeleton
from fitpipe.solve import Problem, fit_frames
from fitpipe.solve.formulations import Aggregate, PerAxis, PerBone
from fitpipe.solve.frames_loop import fit_loop, make_search
from fitpipe.solve.geometry import violation
from fitpipe.solve.line_search import Backtracking
from fitpipe.solve.loop import advance, begin, minimise

from ..kernels.tree_examples import (
    KINECT20,
    KINECT20_LENGTH_M,
    hard_sets,
    kinect_frames,
    place,
    random_tree,
    slsqp,
    unit,
)
from .family_examples import frames_of

SOURCE = {
    "formulation": "aggregate",
    "curvature": "none",
    "line_search": "halving",
    "reverse": True,
    "stop_step_m": 1e-4,
}
MM = 1e-3


def fitted(target, stiffness=None, *, length=KINECT20_LENGTH_M, parent=KINECT20, **settings):
    stiffness = np.full(target.shape[:2], 4.0) if stiffness is None else stiffness
    rest = np.tile(DEFAULT_REST, (len(parent), 1))
    config = SolveConfig(**settings)
    return fit_loop(target, stiffness, length, parent, rest=rest, settings=config)


def kernel(target):
    return fit_tree(target, np.full(target.shape[:2], 4.0), KINECT20_LENGTH_M, KINECT20)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("search", ["halving", "golden"])
def test_the_loop_and_the_kernel_find_the_same_optimum(search, missing):
    target = kinect_frames(200)
    seen = np.random.default_rng(3).random(target.shape[:2]) >= missing
    stiffness = np.where(seen, 4.0, 0.0)
    loop = fitted(target, stiffness, line_search=search)
    tree = fit_tree(target, stiffness, KINECT20_LENGTH_M, KINECT20)
    both = (loop.outcome == FrameStatus.CERTIFIED) & (tree.outcome == FrameStatus.CERTIFIED)
    assert both.mean() > 0.95
    # frames with few joints can be fitted exactly; what is left there is rounding
    np.testing.assert_allclose(loop.objective[both], tree.objective[both], rtol=1e-7, atol=1e-15)
    np.testing.assert_allclose(
        loop.multiplier[both], tree.multiplier[both], rtol=1e-5, atol=1e-6, equal_nan=True
    )


@pytest.mark.parametrize("formulation", ["per_bone", "aggregate"])
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_slsqp_on_random_trees(seed, formulation):
    rng = np.random.default_rng(seed)
    n_joints = int(rng.integers(2, 10))
    parent = random_tree(rng, n_joints)
    length = np.where(parent >= 0, rng.uniform(0.1, 0.5, n_joints), 0.0)
    pose = place(unit(rng.normal(size=(1, n_joints, 3))), length, parent)
    target = pose + 0.03 * rng.normal(size=pose.shape)
    stiffness = rng.uniform(0.5, 4, (1, n_joints))
    fit = fitted(
        target,
        stiffness,
        length=length,
        parent=parent,
        formulation=formulation,
        line_search="golden",
    )
    assert fit.outcome[0] == FrameStatus.CERTIFIED
    best = slsqp(target[0], stiffness[0], length, parent, fit.position[0])
    give = np.nansum(np.abs(fit.multiplier)) * fit.worst_bone_error[0]
    assert abs(fit.objective[0] - best) <= 1e-7 * best + give


def test_the_default_settings_run_in_the_kernel_and_others_in_the_loop():
    target = kinect_frames(30)
    skeleton = Skeleton(
        "kinect", tuple(map(str, range(20))), tuple(KINECT20), bone_length_m=KINECT20_LENGTH_M[1:]
    )
    problem = Problem(skeleton, target, np.full((30, 20), 4.0), np.zeros(30))
    rest = skeleton.rest_direction
    default = fit_frames(problem, SolveConfig())
    tree = fit_tree(target, problem.stiffness, KINECT20_LENGTH_M, KINECT20, rest=rest)
    np.testing.assert_allclose(default.position, tree.position, atol=1e-12)
    golden = fit_frames(problem, SolveConfig(line_search="golden"))
    assert not np.array_equal(golden.position, default.position)
    np.testing.assert_allclose(golden.position, default.position, atol=1e-7)
    aggregate = fit_frames(problem, SolveConfig(**SOURCE))
    worst = np.linalg.norm(aggregate.position - default.position, axis=-1).max(axis=1)
    assert (worst > 1 * MM).all()


def test_the_source_stops_at_millimetres_where_multipliers_per_bone_are_exact():
    """formulation.md item 3: 3.1 mm median there, on another sample of the same noise."""
    target = kinect_frames(150)
    source = fitted(target, **SOURCE)
    assert 1 * MM < np.median(source.worst_bone_error) < 8 * MM
    assert (source.outcome == FrameStatus.STALLED).all()
    per_bone = fitted(target, **SOURCE | {"formulation": "per_bone"})
    assert np.median(per_bone.worst_bone_error) < 1e-3 * MM
    assert (per_bone.outcome == FrameStatus.CERTIFIED).all()
    # bones that give way let the skeleton come nearer to the targets: no sign of a better fit
    assert (source.objective < per_bone.objective).all()


def test_whole_steps_of_the_source_never_arrive():
    frames, rigid = frames_of(
        kinect_frames(50), np.full((50, 20), 4.0), KINECT20_LENGTH_M, KINECT20
    )
    formulation = Aggregate("none")
    x = formulation.start(frames, rigid)
    for _ in range(100):
        x = x + formulation.step(frames, x, np.zeros((50, 1, 1))).direction[:, 0]
        assert (violation(frames, x) > 0.5 * MM).all()


def test_with_its_curvature_the_aggregate_converges_halving_the_error_at_best():
    target = kinect_frames(50)
    frames, rigid = frames_of(target, np.full((50, 20), 4.0), KINECT20_LENGTH_M, KINECT20)
    formulation, search = Aggregate("exact"), Backtracking(0.5)
    state = begin(formulation, frames, rigid)
    errors = [np.sqrt(state.now.constraint[:, 0])]
    for _ in range(25):
        state = advance(formulation, search, frames, state, 1e-12)
        errors.append(np.sqrt(state.now.constraint[:, 0]))
    ratio = np.array(errors[11:]) / np.array(errors[10:-1])
    assert ratio.min() > 0.49
    assert np.median(ratio) < 0.75
    fit = fitted(target, formulation="aggregate")
    assert (fit.outcome == FrameStatus.CERTIFIED).all()
    np.testing.assert_allclose(fit.position, kernel(target).position, atol=1e-6)


@pytest.mark.parametrize("curvature", ["none", "exact"])
@pytest.mark.parametrize("formulation", [Aggregate, PerAxis])
def test_a_feasible_start_stalls_where_it_is(formulation, curvature):
    class FromExactBones(formulation):
        def start(self, frames, rigid):  # noqa: ARG002 - the protocol's
            return rigid

    frames, rigid = frames_of(kinect_frames(5), np.full((5, 20), 4.0), KINECT20_LENGTH_M, KINECT20)
    found = minimise(
        FromExactBones(curvature),
        Backtracking(0.5),
        frames,
        rigid,
        tolerance_m=1e-7,
        max_iterations=50,
    )
    np.testing.assert_array_equal(found.status, FrameStatus.STALLED)
    np.testing.assert_array_equal(found.position, rigid)
    np.testing.assert_array_equal(found.iterations, 1)


def turned(target, **settings):
    """How far the fit of turned targets lies from the turned fit, metres, per frame."""
    R = Rotation.from_rotvec([0.4, -0.9, 0.6]).as_matrix()
    plain, other = fitted(target, **settings), fitted(target @ R.T, **settings)
    return np.linalg.norm(other.position - plain.position @ R.T, axis=-1).max(axis=1)


def test_only_the_coordinates_by_themselves_depend_on_the_axes():
    target = kinect_frames(40)
    loop = {"line_search": "golden"}
    assert turned(target, **loop).max() < 1e-7
    assert turned(target, formulation="aggregate").max() < 1e-6
    assert turned(target, formulation="per_axis").min() > 0.5 * MM
    assert turned(target, **SOURCE | {"formulation": "per_axis"}).min() > 0.5 * MM


def test_coordinates_by_themselves_make_bones_exact_but_stall_above_the_optimum():
    target = kinect_frames(40)
    fit = fitted(target, formulation="per_axis")
    assert (fit.outcome == FrameStatus.STALLED).all()
    assert fit.worst_bone_error.max() < 1e-7
    assert (fit.objective > 1.001 * kernel(target).objective).all()


def test_the_best_point_is_returned_where_the_last_is_worse():
    """The reversing search follows a Lagrangian, so the merit may rise from step to step."""
    target, stiffness, length = hard_sets(20)["40% missing"]
    settings = SolveConfig(curvature="none", reverse=True, stop_step_m=1e-4, max_iterations=12)
    frames, rigid = frames_of(target, stiffness, length, KINECT20)
    formulation, search = PerBone("none"), make_search(settings)
    state = begin(formulation, frames, rigid)
    for _ in range(settings.max_iterations):
        state = advance(formulation, search, frames, state, settings.stop_step_m)
    fit = fitted(target, stiffness, **settings.model_dump())
    open_ = fit.outcome == FrameStatus.ITERATION_LIMIT
    assert (state.best.merit(state.weight) < state.now.merit(state.weight))[open_].any()
    np.testing.assert_allclose(fit.objective[open_], state.best.objective[open_], rtol=1e-12)


def test_a_frame_does_not_depend_on_its_neighbours():
    target = kinect_frames(600)
    some = np.array([0, 17, 511, 512, 599])
    for settings in ({"line_search": "golden"}, {**SOURCE, "max_iterations": 10}):
        whole, alone = fitted(target, **settings), fitted(target[some], **settings)
        np.testing.assert_array_equal(whole.position[some], alone.position)
        np.testing.assert_array_equal(whole.iterations[some], alone.iterations)


def test_a_fit_tells_how_far_its_bones_give_way():
    skeleton = Skeleton("kinect", tuple(f"J{i}" for i in range(20)), tuple(KINECT20))
    take = fp.Take("a", skeleton.joints, kinect_frames(20), np.arange(20) / 30)
    lengths = KINECT20_LENGTH_M[1:]
    fit = fp.fit(take, skeleton=skeleton, bone_length_m=lengths, config={"solve": SOURCE})
    parent, child = np.array(skeleton.bones).T
    apart = np.linalg.norm(fit.position[:, child] - fit.position[:, parent], axis=-1)
    np.testing.assert_allclose(
        fit.worst_bone_error, np.abs(apart - lengths).max(axis=1), rtol=1e-12
    )
    assert (fit.worst_bone_error > 0.5 * MM).all()
    assert not fit.is_converged.any()
    assert np.isfinite(fit.position).all()
